"""When to stop: the gain is what simulated labels bring, the interval the one reported; runs go on undisturbed."""

from copy import copy

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression

from unskew import BayesianLogistic, Costs, LoggedData, StoppingRule, Unskew
from unskew.errors import InputError
from unskew.estimation.calibration import Calibration
from unskew.experiments.datasets import load
from unskew.experiments.simulation import simulate, simulations
from unskew.methods import Passive, RandomLabels, StreamedUnskew, expected_gain, pool_rounds, stopping
from unskew.methods.prospect import AHEAD, LEAST, MOST, PART, Prospect, least_worth
from unskew.methods.stopping import gains, prospect
from unskew.models.belief import Belief


def scene(seed=0, rows=1200, policy="uniform", noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 4))
    y = np.where(X @ np.array([1.0, -0.5, 0.3, 0.0]) > 0, 1.0, -1.0)
    y[rng.random(rows) < noise] *= -1.0
    return simulate(X, y, policy, 0.3, rng)


def spent(method, s, budget):
    for _ in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, budget):
        pass
    return method


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
def test_gain_is_what_simulated_labels_bring(correlation):
    """Draw what the labels will say of the margins, decide by it, and count the error saved."""
    rng = np.random.default_rng(0)
    mu, S = np.array([0.4, -0.2, 1.5]), 2.0 * np.full((3, 3), correlation) + 2.0 * (1.0 - correlation) * np.eye(3)
    U = np.linalg.cholesky(S).T
    asked = np.array([0])
    c = 1.0 / (2.0 + np.exp(mu[0]) + np.exp(-mu[0]))
    after = S - np.outer(S[0], S[0]) * c / (1.0 + c * S[0, 0])
    moved = rng.normal(size=(400_000, 3)) * np.sqrt(np.diag(S - after)) + mu
    link = 8.0 / np.pi
    error = 1.0 - ndtr(np.abs(moved) / np.sqrt(link + np.diag(after)))
    before = 1.0 - ndtr(np.abs(mu) / np.sqrt(link + np.diag(S)))
    found = gains(Belief(mu, lambda rows: U[:, rows]), asked)
    np.testing.assert_allclose(found, before - error.mean(axis=0), atol=4e-4)


@pytest.mark.parametrize("costs", [Costs(1.0, 4.0), Costs(1.0, 10.0), Costs(5.0, 1.0)])
def test_gain_in_cost_is_what_simulated_labels_bring(costs):
    """Decide at the threshold of the costs, by the curve that is exact there, and add up the costs saved."""
    rng = np.random.default_rng(0)
    mu, S = np.array([0.4, -1.8, 1.5, -3.0]), 2.0 * np.full((4, 4), 0.6) + 0.8 * np.eye(4)
    U = np.linalg.cholesky(S).T
    c = 1.0 / (2.0 + np.exp(mu[0]) + np.exp(-mu[0]))
    after = S - np.outer(S[0], S[0]) * c / (1.0 + c * S[0, 0])
    moved = rng.normal(size=(400_000, 4)) * np.sqrt(np.diag(S - after)) + mu
    t = costs.threshold
    link = (costs.log_odds / ndtri(t)) ** 2

    def paid(mean, variance):
        p = ndtr(mean / np.sqrt(link + np.diag(variance)))
        return np.minimum(costs.false_negative * p, costs.false_positive * (1.0 - p))

    found = gains(Belief(mu, lambda rows: U[:, rows]), np.array([0]), costs)
    np.testing.assert_allclose(found, paid(mu, S) - paid(moved, after).mean(axis=0), atol=3e-3)
    assert found.max() > 0.01


def test_gain_does_not_depend_on_the_unit_of_the_costs():
    s = scene()
    one, tenfold = (spent(Unskew(costs=costs, random_state=0), s, 60) for costs in (Costs(1.0, 4.0), Costs(10.0, 40.0)))
    small, large = prospect(one), prospect(tenfold)
    assert (small.measure, large.measure) == ("cost", "cost")
    assert (large.gain, large.least) == pytest.approx((10.0 * small.gain, 10.0 * small.least))
    assert StoppingRule()(one) is None or "the mean cost of a row by" in str(StoppingRule()(one))
    stop = StoppingRule(gain=small.each * 1.01)(one)
    assert f"expected to lower the mean cost of a row by {small.gain:.2g}, less than" in str(stop)


def test_no_gain_while_a_constant_rule_costs_as_little():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.where(rng.random(600) < 0.3, 1.0, -1.0)  # there is nothing to learn
    method = Unskew(costs=Costs(false_negative=3.0), random_state=0)
    assert prospect(method.start(LoggedData(X, y, rng.random(600) < 0.3, 0.3), X)) is None


def test_more_labels_less_gain_and_more_ahead_more_gain():
    s = scene()
    few, many = (expected_gain(spent(Unskew(random_state=0), s, budget)) for budget in (20, 200))
    assert 0.0 <= many < few / 2.0
    method = spent(Unskew(random_state=0), s, 20)
    belief = method.belief(s.X)
    assert gains(belief, np.arange(5)).sum() < gains(belief, np.arange(50)).sum()


def test_the_default_stops_and_says_why():
    s = scene()
    method = spent(Unskew(random_state=0), s, 400)
    stop, found = StoppingRule()(method), prospect(method)
    assert stop is not None and stop.labels == 400 and stop.value < stop.threshold
    assert stop.value == found.gain / AHEAD and stop.threshold == found.least / AHEAD
    assert str(stop) == (
        f"after 400 labels the next 50 are expected to lower the error by {100 * found.gain:.2f} points, "
        f"less than {100 * found.least:.2f}"
    )
    assert StoppingRule()(spent(Unskew(random_state=0), s, 10)) is None


def test_a_gain_of_ones_own():
    method = spent(Unskew(random_state=0), scene(), 60)
    each = expected_gain(method)
    assert StoppingRule(gain=each * 0.99)(method) is None
    stop = StoppingRule(gain=each * 1.01)(method)
    assert (stop.value, stop.threshold) == pytest.approx((each, each * 1.01))


def test_what_the_labels_gained_is_the_drop_in_error():
    """What they are worth is a part of that: the model of the log alone is compared with the one after the labels."""
    s = scene()
    start, method = (spent(Unskew(random_state=0), s, budget) for budget in (0, 100))
    before, now = (float(np.mean(one.infer(s.X) != s.y)) for one in (start, method))
    found = prospect(method, start)
    assert 0.5 < found.least / (PART * (before - now)) < 2.0 and LEAST < found.least < MOST
    again = prospect(method)  # fitted again, with other random features
    assert again.gain == found.gain and again.least == pytest.approx(found.least, rel=0.25)


def test_what_is_worth_asking_for():
    assert least_worth(0.0, AHEAD) == LEAST and least_worth(0.5, AHEAD) == MOST
    assert least_worth(0.1, AHEAD) == pytest.approx(0.1 * PART) and least_worth(0.1, 10) == pytest.approx(0.02 * PART)
    told = "The next 50 labels are expected to lower the error by about 1.0 point."
    assert str(Prospect(50, 0.0101, 0.01)) == told


def test_width_is_that_of_the_population_error():
    s = scene()
    method = spent(Unskew(drawn=0.5, random_state=0), s, 100)
    found = method.error()
    wide = found.high - found.low
    assert StoppingRule(width=wide * 0.99)(method) is None
    stop = StoppingRule(width=wide * 1.01)(method)
    assert stop.value == pytest.approx(wide) and "no wider than" in stop.reason
    assert "expected" in StoppingRule(width=wide * 0.99, gain=0.5)(method).reason  # either will do


@pytest.mark.parametrize("method", [Unskew, RandomLabels])
def test_asking_the_rule_changes_nothing(method):
    s = scene()
    quiet, asked = (method(random_state=1) for _ in range(2))
    spent(quiet, s, 60)
    for _ in pool_rounds(asked, s.log, s.X, s.q0, s.y.__getitem__, 60):
        assert StoppingRule(gain=1e-9)(asked) == StoppingRule(gain=1e-9)(asked)
    for one, other in zip(quiet.rounds_, asked.rounds_, strict=True):
        assert np.array_equal(one.positions, other.positions)


def test_no_gain_before_ten_labels_of_each_class():
    X = np.linspace(-1.0, 1.0, 200).reshape(-1, 1)
    y = np.where(X[:, 0] > 0.9, 1.0, -1.0)
    for shown in (9, 10):
        z = (y < 0) | (np.cumsum(y > 0) <= shown)
        gain = expected_gain(Unskew(random_state=0).start(LoggedData(X, y, z, 0.9), X))
        assert (gain is None) == (shown < 10)


def test_no_gain_while_the_model_knows_nothing():
    """Labels by the toss of a coin: no model errs clearly less than always saying the commoner class."""
    s = scene(noise=0.5)
    assert expected_gain(spent(Unskew(random_state=0), s, 100)) is None


def test_a_large_pool_is_sampled(monkeypatch):
    """The mean over a sample is near the mean over all, and it is a mean over the sample: another sample moves it."""
    s = scene(rows=4000)
    method = spent(Unskew(random_state=0), s, 30)
    whole = expected_gain(method)
    monkeypatch.setattr(stopping, "LOOK_AT", 2000)
    some = expected_gain(method)
    assert some != whole and some == pytest.approx(whole, rel=0.2)
    looked_at = []
    belief = Unskew.belief
    monkeypatch.setattr(Unskew, "belief", lambda self, X: looked_at.append(X.shape[0]) or belief(self, X))
    expected_gain(method)
    assert looked_at == [2000]


def test_a_pool_that_is_used_up_has_no_gain():
    s = scene(rows=200)
    assert s.n > AHEAD and expected_gain(spent(Unskew(random_state=0), s, s.n - 1)) > 0.0
    done = spent(Unskew(random_state=0), s, s.n)
    assert expected_gain(done) == 0.0 and "no row of the pool is left" in StoppingRule()(done).reason


def test_the_gain_is_that_of_the_rows_it_would_ask_for_next():
    """By hand: the rows the method would choose, what their labels bring to every row of the pool, for each of them."""
    s = scene()
    method = spent(Unskew(drawn=0.0, random_state=0), s, 40)
    new = np.setdiff1d(np.arange(s.n), np.concatenate([batch.positions for batch in method.rounds_]))
    asked = new[method.wanted(s.X[new], AHEAD)]
    seen, belief = method.observed(), method.belief(s.X)
    fit = Calibration(method.held_out(seen.X, seen.y), seen.y)
    sure = Belief(fit.slope * belief.mu + fit.intercept, lambda rows: fit.slope * belief.root(rows))
    assert expected_gain(method) == pytest.approx(gains(sure, asked).mean() / AHEAD, rel=1e-9)


def test_streams_and_other_models():
    s = scene()
    method = StreamedUnskew(random_state=0).start(s.log)
    before = expected_gain(method)
    method.tell(s.y[method.ask(s.X, s.q0)])
    after = expected_gain(method)
    assert 0.0 < after < before / 2.0  # its labels are bought
    few, many = (expected_gain(spent(Unskew(model=LogisticRegression(), random_state=0), s, k)) for k in (20, 200))
    assert 0.0 < many < few < 0.01


def test_a_cold_start_is_not_known_well_enough():
    s = scene()
    cold = LoggedData(s.log.X, [None] * s.log.m, q0=s.log.q0, classes=(-1, 1))
    rule, method = StoppingRule(width=0.9), Unskew(random_state=0).start(cold, s.X, s.q0)
    assert rule(method) is None
    method.tell(s.y[np.asarray(method.ask(20))])
    assert rule(method) is not None


def test_refusals():
    s = scene()
    with pytest.raises(InputError, match=r"width must be in \(0, 1\); got 2. Try 0.1"):
        StoppingRule(width=2)
    with pytest.raises(InputError, match="gain must be a positive number; got 0"):
        StoppingRule(gain=0)
    with pytest.raises(InputError, match="the model of Passive does not. Use Unskew"):
        StoppingRule()(Passive().start(s.log))


def test_stops_where_little_is_left_on_real_data(data_dir):
    """On letter the error is down after 60 labels: the rule ends there, not at once and not much later."""
    ((s, seed),) = simulations(load("letter", data_dir), "uniform", 0.1, 5, [0])
    method, rule, errors = Unskew(random_state=seed), StoppingRule(), {}
    stops = []
    for labels in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, 200):
        errors[labels] = s.error(method)
        if rule(method):
            stops.append(labels)
    assert 10 < stops[0] < 150 and errors[stops[0]] < errors[200] + 0.01


def test_a_model_that_is_not_sure_enough_expects_what_its_labels_bear_out(data_dir):
    """On mushrooms the labels are clearer than the model says: by its own opinion, more would gain much."""
    ((s, seed),) = simulations(load("mushrooms", data_dir), "uniform", 0.1, 5, [0])
    method = spent(Unskew(model=BayesianLogistic(), random_state=seed), s, 60)
    before = s.error(method)
    new = np.setdiff1d(np.arange(s.n), np.concatenate([batch.positions for batch in method.rounds_]))
    opinion = gains(method.belief(s.X), new[copy(method).wanted(s.X[new], AHEAD)]).mean()
    found = AHEAD * expected_gain(method)
    method.tell_checked(s.y[method.ask_checked(AHEAD).positions])
    assert abs(found - (before - s.error(method))) < 0.005 < 0.01 < opinion


@pytest.mark.parametrize("false_negative", [10.0, 1000.0, 4000.0])
def test_costs_far_apart_leave_something_worth_asking_for(false_negative):
    """Flagging everybody costs at most 1 a row, so a floor above that could never be reached."""
    method = spent(Unskew(costs=Costs(false_negative=false_negative), random_state=0), scene(), 40)
    method.costs = Costs(false_negative=false_negative)
    unit = 2.0 * false_negative / (1.0 + false_negative)
    found = prospect(method)
    assert found is None or LEAST * unit * (1 - 1e-9) <= found.least <= MOST * unit * (1 + 1e-9)
    assert unit <= 2.0
