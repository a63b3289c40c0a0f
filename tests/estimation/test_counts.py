"""A pool held as a sample, whose rows stand for others, gives the estimates of the whole pool."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from people import NONE, drawn_round, three_in_ten_skipped
from unskew.errors import InputError
from unskew.estimation import sample as samples
from unskew.estimation.costs import Costs
from unskew.estimation.counts import variance_of_total
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.measures import MEASURES
from unskew.estimation.planning import Widths, worth_of_draws
from unskew.estimation.population import PopulationEstimate
from unskew.estimation.stream_design import StreamDesign

LOG, HELD = 150, 400
NAMES = [*MEASURES, "cost"]
COSTS = Costs(false_negative=3.0)


def judged(*, log: bool, lost: bool = False, seed: int = 0) -> Everyone:
    """A log and a pool of which three rounds are answered; the model is nearly right about its rows."""
    rng = np.random.default_rng(seed)
    m = LOG if log else 0
    margin = rng.normal(0.0, 2.0, m + HELD)
    y = np.where(rng.random(m + HELD) < expit(0.8 * margin + 0.2), 1.0, -1.0)
    q0 = np.where(margin[:m] > 0.0, 0.6, 0.3)
    wrong, left, rounds = expit(-np.abs(margin[m:])), np.arange(HELD), []
    for _ in range(3):
        rounds.append(drawn_round(rng, left, left[np.argsort(-wrong[left])[:10]], 15, wrong))
        left = np.setdiff1d(left, np.concatenate(rounds[-1][:2]))
    if lost:
        rounds = three_in_ten_skipped(rounds, rng)
    design = Design(rng.random(m) < q0, q0, HELD, tuple(rounds))
    return Everyone(design, margin, np.where(design.labelled, y, 0.0), costs=COSTS)


def counted(everyone: Everyone, counts: NDArray[np.float64]) -> Everyone:
    """The same rows, each of which stands for as many."""
    n = round(counts.sum())
    return replace(everyone, design=replace(everyone.design, n=n, counts=counts))


def both(*, log: bool, lost: bool = False) -> tuple[Everyone, Everyone, NDArray[np.int64]]:
    """A pool in which rows without a label occur one to five times: held once each, and whole; and where they are."""
    once = judged(log=log, lost=lost)
    design, m = once.design, once.design.m
    counts = np.random.default_rng(1).integers(1, 6, HELD).astype(np.float64)
    counts[design.labelled[m:]] = 1.0
    held = counted(once, counts)
    times = np.concatenate([np.ones(m), counts]).astype(np.int64)
    rows = np.repeat(np.arange(m + HELD), times)
    first = np.searchsorted(rows[m:] - m, np.arange(HELD))
    rounds = tuple(r._replace(chosen=first[r.chosen], drawn=first[r.drawn]) for r in design.rounds)
    whole = Design(design.z, design.q0, held.design.n, rounds)
    return held, Everyone(whole, once.margin[rows], once.y[rows], costs=COSTS), rows


def same(one: PopulationEstimate, other: PopulationEstimate, within: float) -> None:
    for ours, theirs in zip(astuple(one), astuple(other), strict=True):
        if ours is None or isinstance(ours, (str, bool)):
            assert ours == theirs
        else:
            assert ours == pytest.approx(theirs, rel=within, abs=within)


@pytest.fixture
def rows_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The held rows are no sample here: each stands for copies of itself, so nothing is added to the variance."""
    monkeypatch.setattr(samples, "variance_of_total", lambda x, counts: 0.0)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_rows_that_stand_for_themselves_change_nothing(log: bool, grouped: bool) -> None:
    plain = judged(log=log)
    held, group = counted(plain, np.ones(HELD)), plain.margin > -2.0 if grouped else None
    for name in NAMES:
        same(held.estimate(name, where=group), plain.estimate(name, where=group), 1e-12)
    assert held.costs_for(0.8) == plain.costs_for(0.8)
    ours, theirs = Widths(held, 0.5), Widths(plain, 0.5)
    assert [ours.half_width(k) for k in (0, 50, 300)] == pytest.approx([theirs.half_width(k) for k in (0, 50, 300)])
    assert (ours.left, ours.labels_for(0.05)) == (theirs.left, theirs.labels_for(0.05))


@pytest.mark.usefixtures("rows_are_all")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_copies_held_once_give_the_estimates_of_the_whole_pool(name: str, log: bool, grouped: bool, lost: bool) -> None:
    held, whole, rows = both(log=log, lost=lost)
    group = held.margin > -2.0
    for threshold in (None, 0.6):
        ours = held.estimate(name, threshold=threshold, where=group if grouped else None)
        theirs = whole.estimate(name, threshold=threshold, where=group[rows] if grouped else None)
        same(ours, theirs, 1e-9)
        assert (ours.low, ours.high) != (0.0, 1.0)


@pytest.mark.usefixtures("rows_are_all")
def test_copies_held_once_give_the_difference_from_another_model() -> None:
    held, whole, rows = both(log=True)
    other = held.margin + np.random.default_rng(2).normal(size=len(held.margin))
    for name in NAMES:
        same(held.estimate(name, against=other), whole.estimate(name, against=other[rows]), 1e-9)


@pytest.mark.usefixtures("rows_are_all")
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("log", [False, True])
def test_copies_held_once_give_the_plans_and_the_threshold_of_the_whole_pool(log: bool, lost: bool) -> None:
    held, whole, _ = both(log=log, lost=lost)
    for recall in (0.3, 0.8, 0.99):
        assert held.costs_for(recall).threshold == pytest.approx(whole.costs_for(recall).threshold, rel=1e-9)
    for drawn in (0.4, 1.0):
        ours, theirs = Widths(held, drawn), Widths(whole, drawn)
        assert ours.left == theirs.left and ours.draws(100) == theirs.draws(100)
        labels = (0, 1, 40, 200, ours.left)
        assert [ours.half_width(k) for k in labels] == pytest.approx([theirs.half_width(k) for k in labels], rel=1e-9)
        assert [ours.labels_for(w) for w in (0.06, 0.04)] == [theirs.labels_for(w) for w in (0.06, 0.04)]
    alone, expected = held.labelled_alone().estimate(), whole.labelled_alone().estimate()
    same(alone, expected, 1e-12)


def test_what_draws_are_worth_where_more_rows_than_slices_stand_for_others() -> None:
    rng = np.random.default_rng(3)
    wrong, counts = rng.random(3000) / 2.0, rng.integers(1, 9, 3000)
    ours, theirs = worth_of_draws(wrong, 20_000, counts.astype(float)), worth_of_draws(np.repeat(wrong, counts), 20_000)
    assert np.allclose(ours, theirs, rtol=1e-9, atol=0.0)
    none = worth_of_draws(np.zeros(5), 10, np.full(5, 2.0))
    assert np.array_equal(none, worth_of_draws(np.zeros(10), 10))


class Large:
    """A pool of 200,000 rows with 120 chosen and 180 drawn labels, and samples that stand for its rows."""

    n, sampled = 200_000, 5_000

    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.margin = rng.normal(-1.0, 2.0, self.n)
        y = np.where(rng.random(self.n) < expit(self.margin), 1.0, -1.0)
        wrong = expit(-np.abs(self.margin))
        self.round = drawn_round(rng, np.arange(self.n), np.argsort(-wrong)[:120], 180, wrong)
        self.asked = np.concatenate(self.round[:2])
        self.y = np.zeros(self.n)
        self.y[self.asked] = y[self.asked]
        self.others = np.setdiff1d(np.arange(self.n), self.asked)
        self.whole = Everyone(Design(NONE, np.zeros(0), self.n, (self.round,)), self.margin, self.y)

    def held(self, seed: int) -> Everyone:
        """The rows that were asked for, and an even sample of the others."""
        some = np.random.default_rng(seed).choice(self.others, self.sampled, replace=False)
        rows, a = np.concatenate([self.asked, some]), len(self.asked)
        counts = np.repeat([1.0, (self.n - a) / self.sampled], [a, self.sampled])
        k = len(self.round.chosen)
        picked = self.round._replace(chosen=np.arange(k), drawn=np.arange(k, a))
        design = Design(NONE, np.zeros(0), self.n, (picked,), counts=counts)
        return Everyone(design, self.margin[rows], self.y[rows])


@pytest.fixture(scope="module")
def large() -> Large:
    return Large()


@pytest.mark.parametrize(("name", "near"), [("error", 0.006), ("recall", 0.015), ("auc", 0.01), ("log_loss", 0.012)])
def test_a_sample_of_a_large_pool_stands_for_it(large: Large, name: str, near: float) -> None:
    """At 5,000 rows the standard error of what the sample adds is a third of `near` or less."""
    ours, theirs = large.held(0).estimate(name), large.whole.estimate(name)
    assert ours.value == pytest.approx(theirs.value, abs=near)
    assert ours.high - ours.low == pytest.approx(theirs.high - theirs.low, rel=0.05)
    assert ours.labels == theirs.labels and ours.flagged == pytest.approx(theirs.flagged, abs=0.02)
    assert ours.effective_sample_size == pytest.approx(theirs.effective_sample_size, rel=0.05)


def test_plans_on_a_sample_are_those_of_the_large_pool(large: Large) -> None:
    ours, theirs = Widths(large.held(1), 0.5), Widths(large.whole, 0.5)
    assert ours.left == theirs.left == large.n - 300
    assert [ours.half_width(k) for k in (0, 500)] == pytest.approx([theirs.half_width(k) for k in (0, 500)], rel=0.02)
    assert large.held(1).costs_for(0.9).threshold == pytest.approx(large.whole.costs_for(0.9).threshold, rel=0.1)


@pytest.mark.parametrize("name", ["error", "recall", "auc"])
def test_the_variance_that_a_sample_adds_is_the_one_that_is_claimed(
    large: Large, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over many samples of the same pool with the same labels: the estimate moves by what the interval allows for."""
    held = [large.held(seed) for seed in range(300)]
    found = [one.estimate(name) for one in held]
    values, moved = [one.value for one in found], np.var([one.value for one in found])
    assert np.mean(values) == pytest.approx(large.whole.estimate(name).value, abs=4.0 * np.sqrt(moved / 300))
    monkeypatch.setattr(samples, "variance_of_total", lambda x, counts: 0.0)
    without = [one.estimate(name) for one in held]
    claimed = np.mean([one.standard_error**2 - two.standard_error**2 for one, two in zip(found, without, strict=True)])
    assert claimed == pytest.approx(moved, rel=0.25)


def test_rows_held_with_unequal_chances_say_how_uncertain_a_total_is() -> None:
    """Each row is there with a chance of its own, and the counts are scaled to the number of rows."""
    rng = np.random.default_rng(5)
    x, chance = rng.normal(3.0, 1.0, 4000), rng.choice([0.05, 0.5, 1.0], 4000)
    totals, claimed = [], []
    for _ in range(400):
        there = rng.random(4000) < chance
        u = 1.0 / chance[there]
        u = 1.0 + (u - 1.0) * (4000 - len(u)) / (u - 1.0).sum()
        totals.append(float(u @ x[there]))
        claimed.append(variance_of_total(x[there], u))
    assert np.mean(claimed) == pytest.approx(np.var(totals), rel=0.25)


def test_a_pool_of_which_every_row_is_labelled_is_counted() -> None:
    rounds = (Picked(np.arange(30), NONE, np.zeros(0)),)
    design = Design(NONE, np.zeros(0), 30, rounds, counts=np.ones(30))
    assert design.complete and design.pool_weights(0.2).tolist() == [1 / 30] * 30
    more = Design(NONE, np.zeros(0), 40, rounds, counts=np.append(np.ones(30), [5.0, 5.0]))
    assert not more.complete and more.held == 32 and len(more.pool_weights(0.2)) == 32


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ([1.0, 1.0, 0.5, 7.5], "counts must be at least 1; got 0.5 at row 2"),
        ([1.0, 1.0, np.nan, 7.0], "counts must be at least 1; got nan at row 2"),
        ([1.0, 1.0, 4.0, 5.0], "counts must add up to the 10 rows of the pool; got 11.0"),
        ([1.0, 2.0, 3.0, 4.0], "a labelled row stands for itself alone; got 2.0 in counts at row 1"),
        ([[1.0, 1.0, 4.0, 4.0]], r"counts must have one value per held row of the pool; got shape \(1, 4\)"),
        ([10.0], "positions must be in 0 to 0; got 0 to 1"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts: list[float], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Design(NONE, np.zeros(0), 10, (Picked(np.array([0]), np.array([1]), np.array([9.0])),), counts=counts)


def test_a_stream_holds_its_rows() -> None:
    with pytest.raises(InputError, match="a stream holds each of its 4 rows; got counts"):
        StreamDesign([True], [0.5], 4, asked=[True, False], p=[1.0, 0.1], counts=[1.0, 3.0])
