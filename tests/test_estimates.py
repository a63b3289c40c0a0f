from itertools import combinations, product

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from unskew import IDBAL, LoggedData, Passive, Unskew
from unskew.cross_fitting import cross_fitted_margins
from unskew.errors import InputError
from unskew.estimates import Audit, Design, _log_part, _pool_part, population
from unskew.laplace import leave_one_out, posterior
from unskew.methods import run
from unskew.methods.report import campaign, honest_margins, population_error

NONE = np.zeros(0, dtype=np.int64)


def pool_outcomes(n, sizes, choose):
    """Every course of an audit with its probability; `choose` picks rows after seeing what was drawn before."""
    courses = [(1.0, ())]
    for a in sizes:
        longer = []
        for chance, rounds in courses:
            labelled = [i for r in rounds for part in r[:2] for i in part]
            chosen = choose([i for i in range(n) if i not in labelled], labelled)
            rest = [i for i in range(n) if i not in labelled and i not in chosen]
            draws = list(combinations(rest, a))
            longer += [
                (chance / len(draws), (*rounds, Audit(np.array(chosen, dtype=int), np.array(d, dtype=int))))
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
    c_0, c_1 = design.shares(1 / q0, pool=True)
    assert chances == pytest.approx(1.0)
    assert mean == pytest.approx(g.mean() + c_0 * (x - g)[:3].mean() + c_1 * (x - g)[3:].mean())


@pytest.mark.parametrize("sizes", [(2,), (2, 1), (3, 2)])
def test_variance_of_the_audit_is_not_understated(sizes):
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
    design = Design(np.zeros(0, dtype=bool), np.zeros(0), 30, (Audit(np.arange(30), NONE),))
    margin, y = rng.normal(size=30), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    for estimator in ("mis", "dr"):
        found = population(design, margin, y, estimator=estimator)
        assert found.value == pytest.approx(np.mean((margin >= 0) != (y > 0)))
        assert found.low < found.value < found.high  # the pool is a sample of the population


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_agrees_with_refits(weighted):
    rng = np.random.default_rng(3)
    F = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    y = np.where(rng.random(60) < 1 / (1 + np.exp(-1.5 * F[:, 1])), 1.0, -1.0)
    v, precision = rng.uniform(0.2, 2.0, 60) if weighted else np.ones(60), np.full(5, 0.25)
    found = posterior(F, y, v, precision)
    near = leave_one_out(F, y, v, found)
    kept = ~np.eye(60, dtype=bool)
    exact = np.array([posterior(F[k], y[k], v[k], precision).mean(F[i : i + 1])[0] for i, k in enumerate(kept)])
    moved = np.abs(exact - found.mean(F))
    assert moved.max() > 0.3
    assert np.abs(near - exact).mean() < 0.1 * moved.mean()
    assert np.corrcoef(near, exact)[0, 1] > 0.999


def test_cross_fitting_does_not_see_the_label():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 2)), np.where(rng.random(200) < 0.5, 1.0, -1.0)  # nothing to learn
    tree = DecisionTreeClassifier(random_state=0)  # remembers every label it has seen
    own = cross_fitted_margins(tree, X, y, np.ones(200), folds=10)
    assert tree.fit(X, y).score(X, y) == 1.0
    assert np.mean((own >= 0) == (y > 0)) == pytest.approx(0.5, abs=0.12)
    with pytest.raises(InputError, match="folds must be between 2 and the 3 labelled rows; got 5"):
        cross_fitted_margins(tree, X[:3], y[:3], np.ones(3))
    with pytest.raises(InputError, match="both classes; got one in"):
        cross_fitted_margins(tree, X[:20], np.ones(20), np.ones(20))


def skipped(audit, rng, share):
    """The round as it is when some of its rows are never answered."""
    chosen, drawn = (rows[rng.random(len(rows)) >= share] for rows in audit[:2])
    return Audit(chosen, drawn, len(audit.chosen) - len(chosen), len(audit.drawn) - len(drawn))


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

    def campaign(self, rng, m=400, n=600, rounds=4, chosen=15, drawn=10, skips=0.0):
        at = rng.choice(len(self.x), m + n, replace=False)
        z = rng.random(m) < self.q0[at[:m]]
        doubt, left, audits = np.abs(self.margin[at[m:]]), np.arange(n), []
        for _ in range(rounds):
            picked = left[np.argsort(doubt[left])[:chosen]]
            rest = np.setdiff1d(left, picked)
            audits.append(Audit(picked, rng.choice(rest, drawn, replace=False)))
            left = np.setdiff1d(rest, audits[-1].drawn)
        if skips:
            audits = [skipped(audit, rng, skips) for audit in audits]
        design = Design(z, self.q0[at[:m]], n, tuple(audits))
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


@pytest.mark.parametrize("estimator", ["dr", "mis"])
def test_rows_skipped_at_random_leave_the_estimate_unbiased(estimator):
    """30 % skips. The chosen rows err far more often than others: taking skips for rows never asked would show."""
    people, rng = Population(), np.random.default_rng(8)
    runs = [people.campaign(rng, n=200, drawn=8, skips=0.3) for _ in range(1200)]
    found = [population(*run, estimator=estimator) for run in runs]
    values, truth = np.array([e.value for e in found]), people.truth("error")
    assert values.mean() == pytest.approx(truth, abs=3 * values.std() / np.sqrt(len(values)))
    assert 0.92 <= np.mean([e.low <= truth <= e.high for e in found]) <= 0.985
    forgotten = [Design(d.z, d.q0, d.n, tuple(Audit(*r[:2]) for r in d.rounds)) for d, _, _ in runs]
    biased = [population(d, *run[1:], estimator=estimator).value for d, run in zip(forgotten, runs, strict=True)]
    assert abs(np.mean(biased) - truth) > abs(values.mean() - truth)


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
        omega, (c_0, c_1) = design.omega(v), design.shares(v, pool=True)
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
    nothing = Design(hidden, q0, 3, (Audit(np.array([0]), NONE),))  # no audit, no label in the log
    with pytest.raises(InputError, match="Set audit= above 0"):
        population(nothing, margin, y)
    no_audit = Design(~hidden, q0, 3, (Audit(np.array([0]), NONE),))
    assert population(no_audit, margin, y, estimator="mis").labels == 2  # the chosen row tells nothing of the others
    no_log = Design(hidden, q0, 3, (Audit(np.array([0]), np.array([2])),))
    found = population(no_log, margin, y, estimator="mis")
    assert (found.value, found.low, found.labels) == (0.0, 0.0, 2)
    assert found.high > 0.5  # one draw without a loss shows little
    assert np.isfinite(population(no_log, margin, y, interval="bernstein").high)
    with pytest.raises(InputError, match="the one source of 'is'"):
        population(no_log, margin, y, estimator="is")
    one_class = -np.ones(5)
    with pytest.raises(InputError, match="recall is a share of rows of some kind; got 0 of"):
        population(no_log, margin, one_class, measure="recall", estimator="mis")
    assert population(no_log, margin, one_class, measure="precision", estimator="mis").value == 0.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"measure": "errors"}, "did you mean 'error'"),
        ({"estimator": "ips"}, "unknown estimator"),
        ({"interval": "wilson"}, "unknown interval"),
        ({"level": 95}, "got 95"),
        ({"y": np.ones(2)}, "one value for each of 3 rows"),
    ],
)
def test_bad_input_is_named_in_one_line(change, says):
    given = {"design": Design(np.ones(3, dtype=bool), np.ones(3)), "margin": np.ones(3), "y": np.ones(3), **change}
    with pytest.raises(InputError) as error:
        population(**given)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_positions_are_checked():
    for chosen, says in ((np.array([1, 1]), "twice"), (np.array([4]), "0 to 3; got 4")):
        with pytest.raises(InputError, match=says):
            Design(np.zeros(0, dtype=bool), np.zeros(0), 4, (Audit(chosen, NONE),))


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, (1500, 2))
    y = np.where((X.sum(axis=1) > 0) ^ (rng.random(1500) < 0.1), 1, 0)
    q0 = np.where(X[:, 0] > 0, 0.8, 0.1)
    log = LoggedData(X[:500], y[:500], rng.random(500) < q0[:500], q0[:500], q0_estimated=True)
    return log, X[500:], y[500:], q0[500:]


def test_a_campaign_on_a_pool(world):
    log, X, y, q0 = world
    method, left = Unskew(audit=0.3, random_state=0).start(log), np.arange(len(y))
    for k in (10, 30, 40):
        asked = left[method.ask(X[left], q0[left], k=k)]
        method.tell(y[asked])
        left = np.setdiff1d(left, asked)
    found = population_error(method, X)
    assert found.low < np.mean(method.model_.predict(X) != y) < found.high
    assert found.q0_estimated and "q0 estimated" in str(found)
    assert found.labels == log.z.sum() + 80
    design, rows, labels, trained = campaign(method, X)
    assert (labels[500:][design.labelled[500:]] > 0).tolist() == (y[design.labelled[500:]] == 1).tolist()
    assert design.rest.tolist() == [r.rest for r in method.rounds_]
    assert np.all(
        honest_margins(method, rows, labels, trained) * labels <= method.model_.decision_function(rows) * labels
    )
    for pool, says in ((None, "X_pool is None"), (X[::-1], "not those of X_pool"), (X[:50], "not those of X_pool")):
        with pytest.raises(InputError, match=says):
            population_error(method, pool)


def test_a_campaign_on_a_stream(world):
    log, X, y, q0 = world
    method = run(Unskew(audit=0.2, random_state=0), log, (X, q0), y)
    found = population_error(method)
    assert found.low < np.mean(method.model_.predict(X) != y) < found.high
    assert found.labels == log.z.sum() + method.labels_
    with pytest.raises(InputError, match="known positive probability"):
        population_error(run(IDBAL(C=0.64, eta=0.0256), log, (X, q0), y))


def test_any_classifier_from_the_log_alone(world):
    log, X, y, _ = world
    method = Passive(random_state=0).start(log)
    found = population_error(method)
    assert found.low < np.mean(method.model_.predict(X) != y) < found.high
