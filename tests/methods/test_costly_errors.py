"""A method that knows what errors cost: what it predicts, draws and chooses."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from unskew import Costs, LoggedData, Unskew
from unskew.methods import MarginSampling, RandomLabels

MISSES = Costs(false_positive=1.0, false_negative=10.0)


def scene(rows=1500, m=500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    y = np.where(X[:, 0] + rng.normal(size=rows) > 1.5, "yes", "no")
    return LoggedData(X[:m], y[:m], rng.random(m) < 0.4, 0.4, classes=("no", "yes")), X[m:], y[m:]


def run(method, batches=3):
    log, X, y = scene()
    method.start(log, X, np.full(len(X), 0.4))
    for _ in range(batches):
        method.tell(y[np.asarray(method.ask(20))])
    return method, X, y


@pytest.mark.parametrize("model", [None, LogisticRegression(), LinearSVC()])
def test_predictions_follow_the_threshold(model):
    method, X, y = run(Unskew(costs=MISSES, model=model, random_state=0))
    flagged = method.predict(X) == "yes"
    assert np.array_equal(flagged, method.log_odds(X) >= MISSES.log_odds)
    assert np.array_equal(flagged, method.infer(X) > 0)
    assert np.array_equal(flagged, method.model_.predict(X) == "yes")
    assert flagged.mean() > np.mean(y == "yes")
    assert method.error().flagged == pytest.approx(flagged.mean(), abs=0.05)


def test_estimates_use_the_threshold_of_the_costs():
    method, X, y = run(Unskew(costs=MISSES, random_state=0))
    found, usual = method.error("cost"), method.error("cost", threshold=0.5)
    assert found.value < usual.value
    says = method.predict(X)
    paid = np.mean(np.where(y == "yes", 10.0 * (says == "no"), 1.0 * (says == "yes")))
    assert found.low < paid < found.high


def test_equal_costs_change_nothing():
    first, X, _ = run(Unskew(random_state=0))
    second, _, _ = run(Unskew(costs=Costs(1.0, 1.0), random_state=0))
    for one, other in zip(first.rounds_, second.rounds_, strict=True):
        assert np.array_equal(one.positions, other.positions) and np.array_equal(one.p, other.p)
    assert type(second.model_) is type(first.model_)
    assert np.array_equal(first.model_.predict_proba(X), second.model_.predict_proba(X))


def test_chosen_rows_are_nearer_to_the_threshold_that_decides():
    near = {}
    for name, costs in (("equal", Costs()), ("misses", Costs(false_negative=50.0))):
        method, X, _ = run(Unskew(drawn=0.0, costs=costs, random_state=0), batches=2)
        asked = method.ask(40)
        near[name] = np.mean(method.log_odds(X[np.asarray(asked)]))
    assert near["misses"] < near["equal"]


def test_margin_sampling_chooses_the_rows_nearest_to_the_threshold():
    method, X, _ = run(MarginSampling(costs=MISSES, random_state=0), batches=1)
    left = np.setdiff1d(np.arange(len(X)), method.rounds_[0].positions)
    apart = np.abs(method.score(X[left]) - MISSES.log_odds)
    assert set(np.asarray(method.ask(10)).tolist()) == set(left[np.argsort(apart)[:10]].tolist())


def test_where_a_miss_is_dear_unflagged_rows_in_doubt_are_drawn_more_often():
    method, X, _ = run(Unskew(drawn=1.0, costs=MISSES, random_state=0))
    rows, flagged = X[:300], method.log_odds(X[:300]) >= MISSES.log_odds
    assert np.array_equal(method.cost_of_wrong(rows), np.where(flagged, 1.0, 10.0))


def test_random_labels_stay_evenly_drawn():
    method, X, _ = run(RandomLabels(costs=MISSES, random_state=0), batches=1)
    asked = method.ask(5)
    left = len(X) - 20
    assert asked.probability == pytest.approx(1.0 / (left - np.arange(5)))
