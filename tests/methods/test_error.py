"""`method.error()`: what a method says of its own model on the population, on a pool, on a stream, from a log alone."""

import numpy as np
import pytest

from unskew import IDBAL, VCDBAL, DBALw, DBALwm, LoggedData, Passive, StreamedUnskew, Unskew
from unskew.errors import InputError
from unskew.methods import pool, run
from unskew.methods.loop import Method
from unskew.sampling.diagnostics import balance


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
    method = Unskew(drawn=0.3, random_state=0).start(log, X, q0)
    for k in (10, 30, 40):
        method.tell(y[np.asarray(method.ask(k))])
    found = method.error()
    assert found.low < np.mean(method.predict(X) != y) < found.high
    assert found.q0_estimated and "q0 estimated" in str(found)
    assert found.labels == 80  # the log's propensities were estimated, so it only teaches
    everyone = method.everyone()
    design, labels = everyone.design, everyone.y
    assert (labels[500:][design.labelled[500:]] > 0).tolist() == (y[design.labelled[500:]] == 1).tolist()
    assert design.rest.tolist() == [r.rest for r in method.rounds_]
    whole = np.vstack([log.X, X])
    own = method.model_.decision_function(whole)
    assert np.all(everyone.margin * labels <= own * labels + 1e-9)
    unlabelled = ~design.labelled
    np.testing.assert_allclose(everyone.margin[unlabelled], own[unlabelled])


def test_a_campaign_on_a_stream(world):
    log, X, y, q0 = world
    method = run(StreamedUnskew(drawn=0.2, random_state=0), log, (X, q0), y)
    found = method.error()
    assert found.low < np.mean(method.model_.predict(X) != y) < found.high
    assert found.labels == method.labels_  # the log's propensities were estimated, so it only teaches
    with pytest.raises(InputError, match="known positive probability"):
        run(IDBAL(C=0.64, eta=0.0256), log, (X, q0), y).error()


@pytest.mark.parametrize("estimated", [False, True])
def test_a_confounded_log_does_not_mislead_a_stream(estimated):
    """A hidden cause turns the label and keeps the row out of the log, in which the model seems to be nearly right."""
    found, truth = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (4000, 2))
        hidden = rng.random(4000) < 0.2
        y = ((X.sum(axis=1) > 0) ^ hidden).astype(int)
        q0 = np.where(X[:, 0] > 0, 0.8, 0.2)
        z = (rng.random(1500) < q0[:1500]) & ~(hidden[:1500] & (rng.random(1500) < 0.8))
        log = LoggedData(X[:1500], y[:1500], z, q0[:1500], q0_estimated=estimated)
        method = run(StreamedUnskew(random_state=seed), log, (X[1500:1810], q0[1500:1810]), y[1500:1810])
        found.append(method.error())
        truth.append(np.mean(method.predict(X[1810:]) != y[1810:]))
    assert sum(e.low <= t <= e.high for e, t in zip(found, truth, strict=True)) >= 11
    assert all(e.rests_on == "the drawn labels" for e in found)
    assert sum(e.log.high < t for e, t in zip(found, truth, strict=True)) == 12


def test_chosen_from_a_part_of_the_pool_and_drawn_from_all_of_it(world, monkeypatch):
    log, X, y, q0 = world
    monkeypatch.setattr(pool, "LOOK_AT", 100)
    method = Unskew(drawn=0.3, random_state=0).start(log, X, q0)
    method.tell(y[np.asarray(method.ask(20))])
    assert method.error().labels == 20
    batch = method.rounds_[0]
    assert batch.rest == len(y) - 14
    assert np.all(batch.p[batch.drawn] < 0.5) and batch.spread > 0.0
    assert batch.picked().stand_for.mean() == pytest.approx(batch.rest / 6, rel=0.6)


def test_of_a_large_pool_some_rows_stand_for_all(world, monkeypatch):
    """Labelled rows are always judged themselves; the estimate moves little."""
    log, X, y, q0 = world
    method = Unskew(drawn=0.3, random_state=0).start(log, X, q0)
    method.tell(y[np.asarray(method.ask(40))])
    whole, exact = method.everyone(), method.error()
    monkeypatch.setattr(pool, "JUDGE", 500)
    some = method.everyone()
    m, known = whole.design.m, np.concatenate([batch.positions for batch in method.rounds_])
    np.testing.assert_allclose(some.margin[-40:], whole.margin[m + known], rtol=1e-9)
    assert 500 <= some.design.held <= 540 and some.design.n == len(X)
    assert np.isin(some.margin[m:].round(9), whole.margin.round(9)).all()
    assert method.error().value == pytest.approx(exact.value, abs=0.02)


def misled(seed):
    """Two groups with opposite rules. The log shows the small one; weights 1/Q0 make a model follow the large one."""
    rng = np.random.default_rng(seed)
    large, x = rng.random(6000) < 0.8, rng.uniform(-1, 1, 6000)
    X, y = np.column_stack([x, np.ones(6000)]), np.where(large, x > 0, x < 0).astype(int)
    q0 = np.where(large, 0.05, 0.95)
    return LoggedData(X[:3000], y[:3000], rng.random(3000) < q0[:3000], q0[:3000]), X[3000:], y[3000:], q0[3000:]


@pytest.mark.parametrize("method", [Passive, DBALw, DBALwm, VCDBAL])
def test_a_method_that_weighs_is_judged_by_what_it_learnt(method):
    found, truth = [], []
    for seed in range(60):
        log, X, y, _ = misled(seed)
        m = method(random_state=seed).start(log)
        found.append(m.error())
        truth.append(np.mean(m.model_.predict(X) != y))
    assert np.mean(truth) < 0.35
    assert np.mean([e.value for e in found]) == pytest.approx(np.mean(truth), abs=0.015)
    assert np.mean([e.low <= t <= e.high for e, t in zip(found, truth, strict=True)]) > 0.85


@pytest.mark.parametrize("variant", ["released", "paper"])
def test_passive_asks_for_all_so_its_stream_is_known(variant):
    log, X, y, q0 = misled(0)
    m = run(Passive(variant=variant, random_state=0), log, (X[:200], q0[:200]), y[:200])
    found = m.error()
    assert found.labels == log.z.sum() + 200
    assert found.low < np.mean(m.model_.predict(X[200:]) != y[200:]) < found.high


@pytest.mark.parametrize(("method", "variant"), [(Passive, "released"), (Passive, "paper"), (VCDBAL, "released")])
def test_held_out_margins_are_those_of_the_same_passes(method, variant):
    """All passes again give the model; without a twentieth of the rows nearly so, and not knowing their labels."""
    log, X, y, q0 = misled(1)
    m = method(variant=variant, random_state=0).start(log, 100)
    if method is Passive:
        m = run(m, log, (X[:100], q0[:100]), y[:100])
    seen = m.observed()
    rows, labels = seen.X, seen.y
    again = m.from_zero().descent
    for at, v, order in m.state_.fit.passes:
        again.run(rows[at], labels[at], v, order)
    np.testing.assert_allclose(again.w, m.model_.coef_[0])
    own, margin = m.model_.decision_function(rows), m.held_out(rows, labels)
    assert np.corrcoef(own, margin)[0, 1] > 0.95
    other = labels.copy()
    other[7] *= -1.0
    assert m.held_out(rows, other)[7] == margin[7]


def test_a_method_without_held_out_margins_is_refused(world):
    class Constant(Passive):
        held_out = Method.held_out

    with pytest.raises(InputError, match="Constant has none. Give it a method held_out"):
        Constant(random_state=0).start(world[0]).error()


def test_any_classifier_from_the_log_alone(world):
    log, X, y, _ = world
    method = Passive(random_state=0).start(log)
    found = method.error()
    assert found.low < np.mean(method.model_.predict(X) != y) < found.high


def test_a_policy_that_looks_at_the_boundary_is_seen_through():
    """It prefers rows near a boundary, so every column looks balanced. The given propensities are all the same."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1600, 4))
    near = np.abs(X[:, 0] - X[:, 1]) < 0.7
    y, q0 = X[:, 0] > X[:, 1], np.where(near, 0.5, 0.1)
    z = rng.random(1600) < q0
    found = []
    for claimed in (q0, np.full(1600, z.mean())):
        log = LoggedData(X, y, z, claimed)
        assert balance(log) > 0.001
        method = Unskew(random_state=0).start(log, rng.normal(size=(50, 4)), 0.3)
        found.append(method.everyone().log)
    assert found == ["given", "refuted"]
