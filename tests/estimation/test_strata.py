"""A pool that grew: unbiased over every course of a campaign, by enumeration; intervals that hold the truth."""

from dataclasses import replace
from itertools import combinations, permutations, product

import numpy as np
import pytest

from people import NO_LOG, NONE, Population, drawn_round, held, three_in_ten_skipped
from unskew.errors import InputError, NoRandomLabel
from unskew.estimation.design import Design, Expected, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.planning import Widths
from unskew.estimation.sentences import sources
from unskew.estimation.strata import Part, Strata
from unskew.sampling.draws import doubt, spread, stand_for

WRONG = np.array([0.5, 0.4, 0.2, 0.1, 0.05, 0.3, 0.45])
X = np.array([3.0, -1.0, 4.0, 1.0, 25.0, 90.0, -5.0])  # the rows that come later are quite different


def courses(parts, sizes, choose, lost=(0, 0)):
    """Every course of a campaign with its chance, where rows come to the pool after some rounds.

    `lost` are the numbers of chosen and of drawn rows that each round loses, whichever they are.
    """
    found = [(1.0, (), ())]
    for k, (c, a) in enumerate(sizes):
        there, longer = range(sum(part.rows for part in parts if part.since <= k)), []
        for chance, rounds, asked in found:
            chosen = choose([i for i in there if i not in asked], asked)[:c]
            rest = [i for i in there if i not in asked and i not in chosen]
            w = doubt(WRONG[rest])
            for order in permutations(range(len(rest)), a):
                left, p = w.sum(), []
                for i in order:
                    p.append(w[i] / left)
                    left -= w[i]
                rows, each = np.array([rest[i] for i in order], dtype=int), stand_for(np.array(p))
                kept = list(product(combinations(range(c), c - lost[0]), combinations(range(a), a - lost[1])))
                for these, those in ((list(one), list(other)) for one, other in kept):
                    picked = Picked(
                        np.array(chosen, dtype=int)[these], rows[those], each[those], *lost, spread(WRONG[rest], w)
                    )
                    one = chance * float(np.prod(p)) / len(kept)
                    longer.append((one, (*rounds, picked), (*asked, *chosen, *rows.tolist())))
        found = longer
    return [(chance, rounds) for chance, rounds, _ in found]


def adaptive(left, asked):
    """Row 0 leads to its neighbour 1, everything else to the largest left: a choice that depends on the draws."""
    return [1, *reversed([i for i in left if i != 1])] if 0 in asked and 1 in left else left[::-1]


def grown(parts, rounds):
    n = sum(part.rows for part in parts)
    return Design(*NO_LOG, n, rounds, strata=Strata.at(parts, np.arange(n)))


GROWN = [
    ([Part(4), Part(3, 1)], [(1, 1), (1, 2)], (0, 0)),
    ([Part(4), Part(3, 1)], [(0, 1), (1, 1), (0, 1)], (0, 0)),
    ([Part(4), Part(2, 1), Part(1, 2)], [(0, 1), (1, 1), (1, 1)], (0, 0)),
    ([Part(4), Part(3, 0)], [(1, 1), (0, 2)], (0, 0)),  # before the first round
    ([Part(4), Part(3, 1)], [(0, 2), (0, 2)], (0, 1)),  # half of the drawn rows are lost
    ([Part(4), Part(3, 1)], [(2, 1), (2, 1)], (1, 0)),  # half of the chosen rows are lost
]


@pytest.mark.parametrize(("parts", "sizes", "lost"), GROWN)
def test_every_stratum_is_unbiased_over_every_course(parts, sizes, lost):
    """So the whole is, whatever the error rate of the new rows. Shares of rounds do not depend on draws here."""
    means, whole, total = np.zeros(len(parts)), 0.0, 0.0
    for chance, rounds in courses(parts, sizes, adaptive, lost):
        design = grown(parts, tuple(r._replace(spread=1.0) for r in rounds))
        assert design.measures_pool
        w = design.pool_weights(0.2)
        of = design.strata.of
        means += chance * np.bincount(of, w * X, minlength=len(parts))
        whole, total = whole + chance * float(w @ X), total + chance
    assert total == pytest.approx(1.0)
    assert means == pytest.approx(np.bincount(of, X) / len(X))
    assert whole == pytest.approx(X.mean())


def test_with_the_spread_that_rounds_recorded_each_round_is_unbiased_for_the_rows_it_could_ask_for():
    parts = [Part(4), Part(3, 1)]
    means = np.zeros((2, 2))
    for chance, rounds in courses(parts, [(1, 1), (1, 2)], adaptive):
        design = grown(parts, rounds)
        assert design.round_shares(0.2, 0).sum() == pytest.approx(1.0)
        assert design.round_shares(0.2, 1).tolist() == [0.0, 1.0]
        for k, r in enumerate(rounds):
            before = np.concatenate([np.concatenate(each[:2]) for each in rounds[:k]] + [r.chosen]).astype(int)
            added = np.zeros(len(X))
            added[before] += 1.0
            added[r.drawn] += design.stand_for(k)
            means[k] += chance * np.bincount(design.strata.of, added * X, minlength=2)
    assert means[1] == pytest.approx(np.bincount(design.strata.of, X))
    assert means[0] == pytest.approx([X[:4].sum(), 0.0])  # the first round knows nothing of rows that came later


def test_the_old_way_would_be_biased():
    """One stratum, as if all rows had always been there: what the strata are for."""
    parts, mean = [Part(4), Part(3, 1)], 0.0
    for chance, rounds in courses(parts, [(1, 1), (1, 2)], adaptive):
        mean += chance * float(Design(*NO_LOG, 7, rounds).pool_weights(0.2) @ X)
    assert abs(mean - X.mean()) > 1.0


@pytest.mark.parametrize("sizes", [[(1, 1), (1, 2)], [(0, 2), (0, 2)]])
def test_the_variance_of_the_draw_is_the_one_that_is_claimed(sizes):
    """Residuals of a right model are independent with mean 0. Over every draw."""
    actual = claimed = 0.0
    parts, doubts = [Part(4), Part(3, 1)], WRONG * (1 - WRONG)
    for chance, rounds in courses(parts, sizes, adaptive):
        design = grown(parts, rounds)
        actual += chance * float((design.pool_weights(0.2) - 1 / 7) ** 2 @ doubts)
        claimed += chance * design.of_draws(Expected(doubts, np.zeros(7)), 0.2).variance
    assert claimed == pytest.approx(actual, rel=0.06)


def test_chosen_rows_of_another_pool_do_not_stand_for_those_that_are_not_answered_yet():
    """They count as if they had not been chosen, until one is answered."""
    parts = [Part(4), Part(3, 1)]
    for _, rounds in courses(parts, [(1, 1), (1, 2)], adaptive):
        first, second = (r._replace(spread=1.0) for r in rounds)
        design = grown(parts, (first, second._replace(chosen=NONE, chosen_lost=1)))
        assert design.rest.tolist() == [3, 4]
        assert design.stand_for(1) == pytest.approx(second.stand_for * 5 / 4)
        w = design.pool_weights(0.2) * 7
        assert w[first.chosen].tolist() == [1.0]  # itself alone


def test_drawn_rows_of_a_time_without_answers_count_as_if_they_had_not_been_drawn():
    parts = [Part(10), Part(5, 1), Part(5, 2)]
    rounds = (
        Picked(NONE, np.array([0, 1]), np.array([5.0, 5.0]), spread=1.0),
        Picked(NONE, NONE, np.zeros(0), 0, 2, 1.0),  # both are open
        Picked(NONE, np.array([2, 15]), np.array([8.0, 8.0]), spread=1.0),
    )
    design = grown(parts, rounds)
    assert design.measures_pool and design.rest.tolist() == [10, 13, 16]
    assert design.stand_for(2).tolist() == pytest.approx([8.0 * 18 / 16] * 2)


def test_new_rows_are_not_measured_until_one_label_is_drawn_since():
    parts, first = [Part(4), Part(3, 1)], Picked(NONE, np.array([0]), np.array([4.0]), spread=1.0)
    open_ = Picked(np.array([5]), NONE, np.zeros(0), 0, 1, 1.0)
    later = Picked(NONE, np.array([6]), np.array([6.0]), spread=1.0)
    for rounds, measured in (((first,), False), ((first, open_), False), ((first, later), True)):
        design = grown(parts, rounds)
        assert (design.measures_pool, design.unmeasured) == (measured, 0 if measured else 3)
        assert np.isinf(design.anticipated(WRONG, 0.2)) != measured
    everyone = Everyone(grown(parts, (first, open_)), np.linspace(-1, 1, 7), np.ones(7))
    with pytest.raises(NoRandomLabel, match="none was drawn since the pool was extended, so nothing is known of 3 new"):
        everyone.estimate()
    complete = grown(parts, tuple(Picked(rows, NONE, np.zeros(0)) for rows in (np.arange(4), np.arange(4, 7))))
    assert complete.measures_pool and complete.pool_weights(0.2).tolist() == [1 / 7] * 7


def test_strata_without_a_round_between_are_as_one():
    """Two halves that were there from the beginning: the same shares, weights and variance as one pool."""
    design = Population().campaign(np.random.default_rng(3), lose=three_in_ten_skipped).design
    halves = replace(design, strata=Strata.at([Part(200), Part(400)], np.arange(600)))
    x = np.random.default_rng(4).random(600)
    assert halves.pool_weights(0.1) == pytest.approx(design.pool_weights(0.1), rel=1e-12)
    assert halves.of_draws(Expected(x, x), 0.1) == pytest.approx(design.of_draws(Expected(x, x), 0.1), rel=1e-12)
    assert halves.anticipated(x, 0.1) == pytest.approx(design.anticipated(x, 0.1), rel=1e-12)


class Growing:
    """Two populations: in the second, the classifier errs far more often. It joins the pool after two rounds."""

    OLD, NEW = 500, 250

    def __init__(self):
        self.first, self.second = Population(), Population(noise=0.3)

    @property
    def truth(self):
        errors = [people.truth("error") for people in (self.first, self.second)]
        return (self.OLD * errors[0] + self.NEW * errors[1]) / (self.OLD + self.NEW)

    def campaign(self, rng, lose=None, later=3, m=150):
        people, sizes = (self.first, self.second), (self.OLD, self.NEW)
        log = rng.choice(20_000, m, replace=False)
        at = [rng.choice(20_000, size, replace=False) for size in sizes]
        margin = np.concatenate([one.margin[i] for one, i in zip(people, at, strict=True)])
        y = np.concatenate([one.y[i] for one, i in zip(people, at, strict=True)])
        wrong, so_far, asked = np.maximum(1 / (1 + np.exp(np.abs(margin))), 0.08), [], NONE
        for k in range(2 + later):
            left = np.setdiff1d(np.arange(self.OLD if k < 2 else self.OLD + self.NEW), asked)
            chosen = left[np.argsort(np.abs(margin[left]), kind="stable")[:12]]
            so_far.append(drawn_round(rng, left, chosen, 30, wrong))
            asked = np.concatenate([asked, *so_far[-1][:2]])
        rounds = tuple(lose(so_far, rng) if lose else so_far)
        strata = Strata.at([Part(self.OLD), Part(self.NEW, 2)], np.arange(len(y)))
        z, q0 = rng.random(m) < self.first.q0[log], self.first.q0[log]
        design = Design(z, q0, len(y), rounds, strata=strata)
        every = np.concatenate([self.first.y[log], y])
        return Everyone(design, np.concatenate([self.first.margin[log], margin]), np.where(design.labelled, every, 0.0))


@pytest.mark.parametrize("lose", [None, three_in_ten_skipped])
@pytest.mark.parametrize("runs", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_after_a_shifted_batch(lose, runs):
    people, rng = Growing(), np.random.default_rng(31)
    found = [people.campaign(rng, lose).estimate() for _ in range(runs)]
    values = np.array([e.value for e in found])
    assert abs(people.truth - people.first.truth("error")) > 0.05  # the log and the first rounds say something else
    assert values.mean() == pytest.approx(people.truth, abs=4 * values.std() / np.sqrt(runs))
    assert 0.92 <= held(found, people.truth) <= 0.995
    assert all(e.log_share == 0.0 and e.extended and e.rests_on == "the drawn labels" for e in found)


def test_the_log_counts_only_while_no_label_is_drawn_and_the_reader_is_told():
    people = Growing()
    everyone = people.campaign(np.random.default_rng(7))
    assert everyone.log == "earlier" and replace(everyone, log="estimated").log == "estimated"
    said = sources(everyone.estimate())
    assert "may not speak for the rows that came to the pool later, so the number rests on the drawn labels" in said
    design = everyone.design
    before = replace(everyone, design=replace(design, rounds=design.rounds[:2]))  # nothing is drawn since
    found = before.estimate()
    assert (found.log_share, found.draw) == (1.0, None)
    assert found.rests_on == "the log, which may not speak for rows that came later"
    assert "Be careful" in sources(found) and "rows that came to the pool later" in sources(found)
    assert Widths(before, 0.5).now is None  # the first drawn label replaces it
    alone = replace(before, design=replace(before.design, z=np.zeros(design.m, dtype=bool)))
    with pytest.raises(NoRandomLabel, match="since the pool was extended"):
        alone.estimate()


def test_widths_fall_with_more_labels_after_the_pool_grew():
    widths = Widths(Growing().campaign(np.random.default_rng(9)), 0.5)
    now = widths.now
    assert widths.half_width(0) == pytest.approx((now.high - now.low) / 2, rel=0.1)
    assert widths.half_width(400) < widths.half_width(100) < widths.half_width(0)


def test_a_sample_of_a_pool_that_grew_stands_for_all_of_it():
    """Labelled rows stand for themselves; n_k is the number of all rows, whatever the sample has of each stratum."""
    first, later = (Picked(NONE, np.array([i]), np.array([u]), spread=1.0) for i, u in ((4, 100.0), (5, 149.0)))
    strata = Strata((Part(100), Part(50, 1)), np.array([0, 0, 0, 1, 0, 1]))
    counts = np.array([37.0, 37.0, 37.0, 37.0, 1.0, 1.0])
    design = Design(*NO_LOG, 150, (first, later), counts=counts, strata=strata)
    assert design.rest.tolist() == [100, 149] and design.measures_pool
    w = design.pool_weights(0.2) * 150
    shares = design.round_shares(0.2)
    assert w[4] == pytest.approx(100.0 * shares[0] + shares[1]) and w[5] == pytest.approx(149.0)


def test_strata_are_checked():
    with pytest.raises(InputError, match=r"since must begin with 0 and never fall; got \[0, 2, 1\]"):
        Strata.at([Part(2), Part(2, 2), Part(2, 1)], np.arange(6))
    with pytest.raises(InputError, match="strata must be those of the 6 rows of the pool, of which 6 are held; got 5"):
        Design(*NO_LOG, 6, strata=Strata.at([Part(2), Part(3, 0)], np.arange(5)))
    early = Picked(np.array([3]), NONE, np.zeros(0))
    with pytest.raises(InputError, match="row 3 was asked for in round 0, before it was in the pool"):
        Design(*NO_LOG, 4, (early,), strata=Strata.at([Part(3), Part(1, 1)], np.arange(4)))
