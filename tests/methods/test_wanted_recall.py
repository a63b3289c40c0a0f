"""A method that is to find a wanted share of the positives: its threshold follows the model."""

import numpy as np
import pytest

from unskew import Costs, LoggedData, Unskew
from unskew.errors import InputError
from unskew.methods import pool as pool_module
from unskew.methods.stopping import prospect


def scene(seed=0, rows=3000, m=1000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=rows) > 1.2, "yes", "no")
    return LoggedData(X[:m], y[:m], rng.random(m) < 0.3, 0.3, classes=("no", "yes")), X[m:], y[m:]


def run(method, batches=3, seed=0):
    log, X, y = scene(seed)
    method.start(log, X, np.full(len(X), 0.3))
    for _ in range(batches):
        method.tell(y[np.asarray(method.ask(20))])
    return method, X, y


def test_it_finds_about_what_is_wanted():
    """Over several runs, so that the luck of one does not decide."""
    for recall in (0.7, 0.95):
        found = []
        for seed in range(4):
            method, X, y = run(Unskew(recall=recall, random_state=seed), batches=2, seed=seed)
            found.append(np.mean(method.predict(X)[y == "yes"] == "yes"))
        assert np.mean(found) == pytest.approx(recall, abs=0.06)


def test_the_threshold_follows_the_model_and_everything_follows_the_threshold():
    method, X, y = run(Unskew(recall=0.9, random_state=0), batches=0)
    seen = [method.costs]
    for _ in range(2):
        method.tell(y[np.asarray(method.ask(20))])
        assert method.costs == method.everyone().costs_for(0.9)
        seen.append(method.costs)
    assert len(set(seen)) == 3
    assert np.array_equal(method.predict(X) == "yes", method.log_odds(X) >= method.costs.log_odds)
    assert method.error("recall").threshold == pytest.approx(method.costs.threshold)
    t = method.costs.threshold
    assert sorted(set(method.cost_of_wrong(X))) == pytest.approx([t, 1.0 - t])


def test_the_same_rows_and_labels_give_the_same_threshold():
    one, other = (run(Unskew(recall=0.9, random_state=0))[0] for _ in range(2))
    assert one.costs == other.costs
    again = Unskew(recall=0.9, random_state=0)
    assert run(again)[0].costs == run(again)[0].costs == one.costs  # started again, it decides anew


def test_in_a_large_pool_a_sample_decides(monkeypatch):
    whole = run(Unskew(recall=0.9, random_state=0), batches=1)[0].costs.threshold
    monkeypatch.setattr(pool_module, "JUDGE", 1000)
    sample = run(Unskew(recall=0.9, random_state=0), batches=1)[0].costs.threshold
    assert sample != whole and sample == pytest.approx(whole, rel=0.3)


def test_a_round_that_fails_leaves_the_threshold_as_it_was(monkeypatch):
    method, _, y = run(Unskew(recall=0.9, random_state=0), batches=1)
    before, labels = method.costs, method.labels_
    asked = method.ask(20)

    def fail(*_, **__):
        raise InputError("no")

    with monkeypatch.context() as patch:
        patch.setattr(Unskew, "held_out", fail)
        with pytest.raises(InputError, match="no"):
            method.tell(y[np.asarray(asked)])
    assert (method.costs, method.labels_) == (before, labels)
    assert method.tell(y[np.asarray(asked)]).labels_ == labels + 20


def test_without_any_label_every_row_may_be_flagged():
    log, X, _ = scene()
    empty = LoggedData(log.X, np.full(log.m, None), np.zeros(log.m, dtype=bool), 0.3, classes=("no", "yes"))
    method = Unskew(recall=0.9, random_state=0).start(empty, X)
    assert (method.predict(X) == "yes").all()


def test_a_recall_excludes_costs():
    with pytest.raises(InputError, match="exclude each other"):
        Unskew(costs=Costs(false_negative=2.0), recall=0.9)


def test_what_more_labels_gain_is_told_in_false_alarms():
    method, _, _ = run(Unskew(recall=0.9, random_state=0), batches=2)
    found = prospect(method)
    assert found.measure == "false_alarms" and 0.0 <= found.gain < 1.0
    assert "fewer false alarms in 100 rows" in str(found)
