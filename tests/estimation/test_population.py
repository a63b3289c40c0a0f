"""Estimates for the population: unbiased over every course of a campaign, with intervals that hold the truth."""

from itertools import combinations, product

import numpy as np
import pytest

from unskew.errors import EmptyMeasure, InputError, NoRandomLabel
from unskew.estimation.design import Design, Picked
from unskew.estimation.population import _log_part, _pool_part, population

NONE = np.zeros(0, dtype=np.int64)


def pool_outcomes(n, sizes, choose):
    """Every course of a campaign with its probability; `choose` picks rows after seeing what was drawn before."""
    courses = [(1.0, ())]
    for a in sizes:
        longer = []
        for chance, rounds in courses:
            labelled = [i for r in rounds for part in r[:2] for i in part]
            chosen = choose([i for i in range(n) if i not in labelled], labelled)
            rest = [i for i in range(n) if i not in labelled and i not in chosen]
            draws = list(combinations(rest, a))
            longer += [
                (chance / len(draws), (*rounds, Picked(np.array(chosen, dtype=int), np.array(d, dtype=int))))
                for d in draws
            ]
        courses = longer
    return courses


def adaptive(left, labelled):
    """Row 0 leads to its neighbour 1, everything else to the largest left: a choice that depends on the draws."""
    return [1] if 0 in labelled and 1 in left else [max(left)]


@pytest.mark.parametrize("sizes", [(1,), (2, 1), (1, 0, 2)])
@pytest.mark.parametrize("guess", [0.0, 0.3])
def test_weights_are_unbiased_over_all_outcomes(sizes, guess):
    rng = np.random.default_rng(0)
    n, q0 = 7, np.array([0.3, 1.0, 0.6])
    x = rng.random(3 + n)
    g = guess * rng.random(3 + n)
    mean, chances = 0.0, 0.0
    for bits in product((0, 1), repeat=3):
        z = np.array(bits, dtype=bool)
        of_z = np.prod(np.where(z, q0, 1 - q0))
        for chance, rounds in pool_outcomes(n, sizes, adaptive) if of_z else ():
            design = Design(z, q0, n, rounds)
            mean += of_z * chance * (g.mean() + design.omega(1 / q0) @ (x - g))
            chances += of_z * chance
    c_0, c_1 = design.shares(pool=True)
    assert chances == pytest.approx(1.0)
    assert mean == pytest.approx(g.mean() + c_0 * (x - g)[:3].mean() + c_1 * (x - g)[3:].mean())


@pytest.mark.parametrize("sizes", [(2,), (2, 1), (3, 2)])
def test_variance_of_the_draw_is_not_understated(sizes):
    n = 7
    x = np.random.default_rng(1).random(n)
    values, chances, claimed = [], [], []
    for chance, rounds in pool_outcomes(n, sizes, adaptive):
        design = Design(np.zeros(0, dtype=bool), np.zeros(0), n, rounds)
        values.append(design.omega(np.zeros(0)) @ x)
        claimed.append(_pool_part(design, x, (np.zeros(n), np.ones(n))).variance)
        chances.append(chance)
    assert np.dot(chances, claimed) >= np.dot(chances, (np.array(values) - x.mean()) ** 2) - 1e-12


def test_a_pool_labelled_to_the_end_is_counted():
    rng = np.random.default_rng(2)
    design = Design(np.zeros(0, dtype=bool), np.zeros(0), 30, (Picked(np.arange(30), NONE),))
    margin, y = rng.normal(size=30), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    for estimator in ("mis", "dr"):
        found = population(design, margin, y, estimator=estimator)
        assert found.value == pytest.approx(np.mean((margin >= 0) != (y > 0)))
        assert found.low < found.value < found.high  # the pool is a sample of the population


def answered(picked, chosen, drawn):
    """The round as it is when only these of its rows are answered."""
    return Picked(chosen, drawn, len(picked.chosen) - len(chosen), len(picked.drawn) - len(drawn))


def three_in_ten_skipped(rounds_so_far, rng):
    return [answered(r, *(rows[rng.random(len(rows)) >= 0.3] for rows in r[:2])) for r in rounds_so_far]


def last_round_open(rounds_so_far, rng):
    return [*rounds_so_far[:-1], answered(rounds_so_far[-1], NONE, NONE)]


def first_round_loses_12_of_15(rounds_so_far, rng):
    return [
        answered(rounds_so_far[0], rng.permutation(rounds_so_far[0].chosen)[:3], rounds_so_far[0].drawn),
        *rounds_so_far[1:],
    ]


def second_round_loses_all_it_chose(rounds_so_far, rng):
    return [rounds_so_far[0], answered(rounds_so_far[1], NONE, rounds_so_far[1].drawn), *rounds_so_far[2:]]


class Population:
    """Twenty thousand rows, a fixed classifier of error about 0.15, a log that likes one side of it."""

    def __init__(self, noise=0.08):
        rng = np.random.default_rng(5)
        self.x = rng.uniform(-1, 1, 20_000)
        self.y = np.where(rng.random(20_000) < noise, -1.0, 1.0) * np.where(self.x > 0.15, 1.0, -1.0)
        self.margin = 5.0 * self.x
        self.q0 = np.clip(0.5 + 0.6 * self.x, 0.1, 0.9)

    def truth(self, measure):
        says, is_ = self.margin >= 0, self.y > 0
        kinds = {"error": says != is_, "precision": is_[says], "recall": says[is_]}
        return np.logaddexp(0, -self.y * self.margin).mean() if measure == "log_loss" else kinds[measure].mean()

    def campaign(self, rng, m=400, n=600, rounds=4, chosen=15, drawn=10, lose=None):
        at = rng.choice(len(self.x), m + n, replace=False)
        z = rng.random(m) < self.q0[at[:m]]
        doubt, left, rounds_so_far = np.abs(self.margin[at[m:]]), np.arange(n), []
        for _ in range(rounds):
            picked = left[np.argsort(doubt[left])[:chosen]]
            rest = np.setdiff1d(left, picked)
            rounds_so_far.append(Picked(picked, rng.choice(rest, drawn, replace=False)))
            left = np.setdiff1d(rest, rounds_so_far[-1].drawn)
        if lose:
            rounds_so_far = lose(rounds_so_far, rng)
        design = Design(z, self.q0[at[:m]], n, tuple(rounds_so_far))
        return design, self.margin[at], np.where(design.labelled, self.y[at], 0.0)


@pytest.mark.parametrize(
    ("measure", "estimator", "least", "most"),
    [
        ("error", "dr", 0.92, 0.985),
        ("error", "mis", 0.92, 0.985),
        ("error", "sn", 0.92, 0.985),
        ("log_loss", "dr", 0.92, 0.995),
        ("precision", "dr", 0.92, 0.985),
        ("recall", "dr", 0.92, 0.995),
    ],
)
def test_coverage(measure, estimator, least, most):
    people, rng = Population(), np.random.default_rng(6)
    truth = people.truth(measure)
    found = [population(*people.campaign(rng), measure=measure, estimator=estimator) for _ in range(600)]
    assert least <= np.mean([e.low <= truth <= e.high for e in found]) <= most
    values = np.array([e.value for e in found])
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(len(values)))
    assert np.sqrt(np.mean([e.standard_error**2 for e in found])) == pytest.approx(values.std(), rel=0.15)


def too_sure_near_the_boundary():
    """The model expects few losses at the rows that are chosen first, where it errs most."""
    people = Population()
    people.margin = np.sign(people.x) * (3 + 5 * np.abs(people.x))
    return people


@pytest.mark.parametrize("estimator", ["dr", "mis"])
@pytest.mark.parametrize(
    ("lose", "rounds"),
    [
        (three_in_ten_skipped, 4),
        (last_round_open, 2),
        (first_round_loses_12_of_15, 4),
        (second_round_loses_all_it_chose, 4),  # those of the first stand for them: much the same rows
    ],
)
def test_rows_lost_at_random_leave_the_estimate_unbiased(estimator, lose, rounds):
    """The chosen rows err far more often than others: taking lost rows for rows never asked would show."""
    people, rng = too_sure_near_the_boundary(), np.random.default_rng(8)
    runs = [people.campaign(rng, m=200, n=200, drawn=8, rounds=rounds, lose=lose) for _ in range(1200)]
    found = [population(*run, estimator=estimator) for run in runs]
    values, truth = np.array([e.value for e in found]), people.truth("error")
    assert values.mean() == pytest.approx(truth, abs=3 * values.std() / np.sqrt(len(values)))
    assert 0.92 <= np.mean([e.low <= truth <= e.high for e in found]) <= 0.995  # Wilson is wide for 8 draws
    if lose is not last_round_open:  # that one has no weight either way
        forgotten = [Design(d.z, d.q0, d.n, tuple(Picked(*r[:2]) for r in d.rounds)) for d, _, _ in runs]
        biased = [population(d, *run[1:], estimator=estimator).value for d, run in zip(forgotten, runs, strict=True)]
        assert abs(np.mean(biased) - truth) > abs(values.mean() - truth)


def test_an_open_round_changes_nothing_until_it_is_answered():
    design, margin, y = Population().campaign(np.random.default_rng(13), rounds=2)
    later = Design(design.z, design.q0, design.n, (*design.rounds, Picked(NONE, NONE, 40, 10)))
    assert population(later, margin, y) == population(design, margin, y)


def test_drawn_rows_stand_for_the_whole_rest_while_no_chosen_row_is_answered():
    design = Design(np.zeros(0, dtype=bool), np.zeros(0), 10, (Picked(NONE, np.array([1, 2]), 4, 0),))
    assert design.omega(np.zeros(0)).tolist() == [0.0, 0.5, 0.5] + [0.0] * 7


@pytest.mark.parametrize("lose", [None, three_in_ten_skipped, first_round_loses_12_of_15])
def test_weights_add_up_to_the_pool(lose):
    for rounds in (3, 6):
        design, _, _ = Population().campaign(np.random.default_rng(14), rounds=rounds, lose=lose)
        assert design.pool_weights.sum() == pytest.approx(1.0)


def timid_where_it_errs(rng, q, m=1000):
    """A log with propensity q for all; a model that expects half of its errors, and errs wherever it is in doubt."""
    doubtful = rng.random(m) < 0.2
    wrong = doubtful | (rng.random(m) < 0.018)
    return Design(rng.random(m) < q, np.full(m, q)), np.where(doubtful, 1e-9, 4.0), np.where(wrong, -1.0, 1.0)


def test_where_every_label_is_known_the_model_does_not_narrow_the_interval():
    run = timid_where_it_errs(np.random.default_rng(15), 1.0)
    mis, dr = population(*run, estimator="mis"), population(*run, estimator="dr")
    assert dr.value == pytest.approx(mis.value)
    assert dr.standard_error == pytest.approx(mis.standard_error, rel=0.01)
    assert (dr.low, dr.high) == pytest.approx((mis.low, mis.high), abs=0.002)


@pytest.mark.parametrize("q", [1.0, 0.9, 0.5])
def test_coverage_where_the_log_reveals_much(q):
    rng, truth = np.random.default_rng(16), 0.2 + 0.8 * 0.018
    found = [population(*timid_where_it_errs(rng, q)) for _ in range(600)]
    assert np.mean([e.low <= truth <= e.high for e in found]) == pytest.approx(0.95, abs=0.025)
    spread = np.std([e.value for e in found])
    assert np.mean([e.standard_error for e in found]) == pytest.approx(spread, rel=0.08)


def test_clipping_does_not_make_a_log_worth_more_than_its_rows():
    """Half a label of a log that reveals one row in 200: the draw must decide."""
    rng, found = np.random.default_rng(17), []
    for _ in range(300):
        z, y = rng.random(100) < 0.005, np.where(rng.random(500) < 0.3, -1.0, 1.0)
        z[0] |= not z.any()
        design = Design(z, np.full(100, 0.005), 400, (Picked(NONE, rng.choice(400, 40, replace=False)),))
        found.append(population(design, np.ones(500), y, estimator="clipped"))
    assert max(e.effective_sample_size for e in found) < 40.0
    assert np.mean([e.value for e in found]) == pytest.approx(0.3, abs=0.02)
    assert np.mean([e.low <= 0.3 <= e.high for e in found]) > 0.9


def test_no_interval_is_a_point():
    """The value before clipping is far below 0: a timid model, right where the log reveals."""
    q0, margin = np.full(100, 0.1), np.full(100, 1e-3)
    found = population(Design(np.arange(100) < 40, q0), margin, np.ones(100))
    assert found.value == found.low == 0.0
    assert found.high > 0.05


def test_each_step_lowers_the_variance_where_the_model_is_right_and_the_log_uneven():
    people, rng = Population(), np.random.default_rng(7)
    people.y = np.where(rng.random(20_000) < 1 / (1 + np.exp(-people.margin)), 1.0, -1.0)
    runs = [people.campaign(rng, drawn=30) for _ in range(400)]
    spread = {e: np.std([population(*r, estimator=e).value for r in runs]) for e in ("is", "mis", "dr", "clipped")}
    assert spread["dr"] < spread["mis"] < 0.8 * spread["is"]
    assert spread["clipped"] <= spread["mis"] + 1e-12


def test_rare_losses_do_not_make_the_interval_vanish():
    people, rng = Population(noise=0.005), np.random.default_rng(8)
    people.margin = 5.0 * (people.x - 0.15)
    truth = people.truth("error")
    found = [population(*people.campaign(rng)) for _ in range(300)]
    assert np.mean([e.low <= truth <= e.high for e in found]) > 0.94
    assert min(e.high for e in found) > 0.01


def test_shares_by_estimated_variance_would_bias_the_value():
    """Few losses seen, small variance estimated, large share: that is why shares come from the design."""
    people, rng = Population(noise=0.05), np.random.default_rng(11)
    people.margin = 5.0 * (people.x - 0.15)
    values = []
    for _ in range(800):
        design, margin, y = people.campaign(rng, m=200, n=300)
        v, wrong = 1 / design.q0, (design.labelled & ((margin >= 0) != (y > 0))).astype(float)
        ends = np.zeros(500), np.ones(500)
        log, pool = _log_part(design, wrong, ends, v), _pool_part(design, wrong, ends)
        omega, (c_0, c_1) = design.omega(v), design.shares(pool=True)
        means = np.array([omega[:200] @ wrong[:200] / c_0, omega[200:] @ wrong[200:] / c_1])
        floored = np.maximum([log.variance, pool.variance], 1e-4)
        values.append([np.dot([c_0, c_1], means), np.average(means, weights=1 / floored)])
    by_design, by_variance = np.array(values).T
    truth, se = people.truth("error"), by_design.std() / np.sqrt(800)
    assert by_design.mean() == pytest.approx(truth, abs=4 * se)
    assert by_variance.mean() < truth - 6 * se


def test_bernstein_is_wider_and_narrows_with_labels():
    people, rng = Population(), np.random.default_rng(9)
    few, many = people.campaign(rng), people.campaign(rng, m=6000, n=9000, drawn=800)
    wide, narrow = (population(*c, interval="bernstein") for c in (few, many))
    assert wide.high - wide.low > narrow.high - narrow.low > population(*many).high - population(*many).low
    assert narrow.low <= people.truth("error") <= narrow.high < 0.4


def test_estimators_are_what_they_are_called():
    people = Population()
    design, margin, y = people.campaign(np.random.default_rng(12))
    wrong, z, v = (margin >= 0) != (y > 0), design.z, 1 / design.q0
    log = wrong[:400] * z
    assert population(design, margin, y, estimator="is").value == pytest.approx(np.mean(log * v))
    assert population(Design(z, design.q0), margin[:400], y[:400], estimator="sn").value == pytest.approx(
        np.average(wrong[:400][z], weights=v[z])
    )
    clipped = population(Design(z, design.q0 / 10), margin[:400], y[:400], estimator="clipped").value
    assert clipped == pytest.approx(np.mean(log * np.minimum(10 * v, 20.0)))
    assert population(design, margin, y, estimator="mis").value == pytest.approx(
        design.omega(v) @ (wrong & design.labelled)
    )


def test_degenerate_designs():
    margin, y = np.array([1.0, -1.0, 2.0, -2.0, 3.0]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    q0, hidden = np.full(2, 0.5), np.zeros(2, dtype=bool)
    nothing = Design(hidden, q0, 3, (Picked(np.array([0]), NONE),))  # nothing drawn, no label in the log
    with pytest.raises(NoRandomLabel, match="Set drawn= above 0"):
        population(nothing, margin, y)
    nothing_drawn = Design(~hidden, q0, 3, (Picked(np.array([0]), NONE),))
    assert population(nothing_drawn, margin, y, estimator="mis").labels == 2  # the chosen row says nothing of others
    no_log = Design(hidden, q0, 3, (Picked(np.array([0]), np.array([2])),))
    found = population(no_log, margin, y, estimator="mis")
    assert (found.value, found.low, found.labels) == (0.0, 0.0, 2)
    assert found.high > 0.5  # one draw without a loss shows little
    assert np.isfinite(population(no_log, margin, y, interval="bernstein").high)
    with pytest.raises(NoRandomLabel, match="the only source of 'is'"):
        population(no_log, margin, y, estimator="is")
    one_class = -np.ones(5)
    with pytest.raises(EmptyMeasure, match="recall needs a positive denominator; got an estimated 0 of"):
        population(no_log, margin, one_class, measure="recall", estimator="mis")
    assert population(no_log, margin, one_class, measure="precision", estimator="mis").value == 0.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"measure": "errors"}, "did you mean 'error'"),
        ({"estimator": "ips"}, "unknown estimator"),
        ({"interval": "wilson"}, "unknown interval"),
        ({"level": 95}, "got 95"),
        ({"y": np.ones(2)}, "one value for each of the 3 rows"),
        ({"margin": [1.0, np.nan, 1.0]}, "margin must be finite; got nan at row 1"),
        ({"margin": [1.0, 1.0, -np.inf], "measure": "log_loss"}, "got -inf at row 2"),
        ({"y": [1.0, 0.0, 1.0]}, "+1 or -1 where labelled; got 0.0 at row 1"),
    ],
)
def test_bad_input_is_named_in_one_line(change, says):
    given = {"design": Design(np.ones(3, dtype=bool), np.ones(3)), "margin": np.ones(3), "y": np.ones(3), **change}
    with pytest.raises(InputError) as error:
        population(**given)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_lists_and_an_empty_log_will_do():
    pool = (Picked(np.array([0]), np.array([1, 2])),)
    assert population(Design([1, 1, 0], [1.0, 0.5, 0.5]), [1, 2, 3], [1, 1, -1], estimator="mis").value == 0.0
    assert population(Design([], [], 4, pool), np.ones(4), -np.ones(4), estimator="clipped").value == 1.0
    with pytest.raises(InputError, match=r"z and q0 must have one value per row; got shapes \(2,\), \(1,\)"):
        Design([True, False], [0.5])


def test_positions_are_checked():
    for chosen, says in ((np.array([1, 1]), "twice"), (np.array([4]), "0 to 3; got 4")):
        with pytest.raises(InputError, match=says):
            Design(np.zeros(0, dtype=bool), np.zeros(0), 4, (Picked(chosen, NONE),))
