"""Unskew and its yardsticks on a pool, and Unskew on a stream: which rows they pick, and with what probability."""

import numpy as np
import pytest
from scipy.stats import chi2

from unskew import LoggedData, StreamedUnskew, Unskew
from unskew.errors import InputError
from unskew.experiments.simulation import simulate
from unskew.methods import MarginSampling, RandomLabels, run


def scene(seed=0, rows=700, curved=False, policy="uniform"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 4))
    score = X[:, 0] * X[:, 1] if curved else X @ np.array([1.0, -0.5, 0.3, 0.0])
    y = np.where(score > 0, 1.0, -1.0)
    y[rng.random(rows) < 0.05] *= -1.0
    return simulate(X, y, policy, 0.5, rng)


def test_random_labels_are_all_drawn():
    s = scene()
    method = RandomLabels(random_state=4).start(s.log, s.X, s.q0)
    left = s.n
    for k in (10, 30):
        asked = np.asarray(method.ask(k))
        method.tell(s.y[asked])
        assert method.rounds_[-1].drawn.all() and method.rounds_[-1].rest == left
        assert method.rounds_[-1].p == pytest.approx(1.0 / np.arange(left, left - k, -1))
        left -= k
    found = method.error()
    assert found.labels == s.log.z.sum() + 40
    assert found.low < s.error(method) < found.high


def test_every_query_has_its_probability():
    s = scene()
    m = Unskew(drawn=0.2, random_state=0).start(s.log, s.X, s.q0)
    asked = m.ask(50)
    m.tell(s.y[asked])
    batch = m.rounds_[0]
    assert batch.drawn.sum() == 10 and batch.rest == s.n - 40
    assert (batch.p[~batch.drawn] == 1.0).all()
    p = batch.p[batch.drawn]
    assert ((p > 0.1 / s.n) & (p < 0.5)).all() and len(np.unique(p)) > 5  # in proportion to doubt
    assert np.array_equal(batch.positions, np.asarray(asked)) and np.array_equal(asked.probability, batch.p)
    with pytest.raises(InputError, match=r"drawn must be in \[0, 1\]; got 1.1"):
        Unskew(drawn=1.1)
    everything = Unskew(drawn=1, random_state=0).start(s.log, s.X, s.q0)
    everything.ask(30)
    assert everything.pending.drawn.all()


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
def test_the_share_that_is_drawn_is_the_share_asked_for(share):
    s = scene()
    m = Unskew(drawn=share, random_state=0).start(s.log, s.X, s.q0)
    drawn = 0
    for k in (3, 7, 1, 12, 20, 5):
        m.tell(s.y[np.asarray(m.ask(k))])
        drawn += int(m.rounds_[-1].drawn.sum())
        assert drawn == round(share * m.labels_)  # after each round, whatever its size


def test_the_draw_is_fair():
    """Over many seeds each row that is not chosen is drawn as often as any other, by a test of their counts."""
    s = scene(rows=120)
    first = Unskew(drawn=0.5, random_state=0).start(s.log, s.X, s.q0)
    chosen = first.ask(10).positions[:5]
    others = np.setdiff1d(np.arange(s.n), chosen)
    counts = np.zeros(s.n)
    for seed in range(400):
        m = first
        m.reseed(seed)
        batch = m.pick(np.zeros(0, dtype=np.int64), 10)
        assert np.array_equal(batch.positions[:5], chosen)  # the choice owes nothing to the draw
        counts[batch.positions[5:]] += 1
    assert counts[chosen].sum() == 0 and counts.sum() == 2000
    expected = 2000 / len(others)
    # five different rows a draw: a multinomial's spread times (1 - 5 / rows)
    statistic = ((counts[others] - expected) ** 2 / expected).sum() / (1.0 - 5 / len(others))
    assert chi2.ppf(0.001, len(others) - 1) < statistic < chi2.ppf(0.999, len(others) - 1)


def test_a_stream_is_asked_about_in_the_region_and_at_random_elsewhere():
    s = scene(rows=3000)
    m = StreamedUnskew(random_state=0).start(s.log)
    asked = m.ask(s.X, s.q0)
    p, belief = m.pending.p, m.belief(s.X)
    region = np.abs(belief.mu) <= 2.0 * belief.deviation()
    assert np.array_equal(p, np.where(region, 1.0, 0.1)) and 0 < region.sum() < s.n
    assert np.isin(np.flatnonzero(region), asked).all()
    assert np.mean(np.isin(np.flatnonzero(~region), asked)) == pytest.approx(0.1, abs=0.04)
    m.tell(s.y[asked])
    done = run(StreamedUnskew(random_state=0), s.log, (s.X, s.q0), s.y)
    assert done.labels_ < s.n / 2 and s.error(done) < 0.12
    with pytest.raises(InputError, match=r"drawn must be in \[0, 1\]; got -0.1"):
        StreamedUnskew(drawn=-0.1)


def test_labels_go_where_the_log_is_blind():
    """Half of the population was hardly ever labelled: most labels are asked for there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0, X[:, 1] < 0)  # what holds on the right is wrong on the left
    q0 = np.where(X[:, 0] > 0, 0.5, 0.005)
    log = LoggedData(X[:1000], y[:1000], rng.random(1000) < q0[:1000], q0[:1000])
    asked = Unskew(drawn=0.0, random_state=0).start(log, X[1000:]).ask(30)
    assert np.mean(X[1000:][asked, 0] < 0.3) > 0.7


@pytest.mark.parametrize("method", [Unskew, StreamedUnskew])
@pytest.mark.parametrize(
    "log",
    [
        "no label",
        "one class",
        "constant q0",
        "separable",
        "more features than labels",
        "duplicates",
        "constant feature",
    ],
)
def test_degenerate_logs(method, log):
    rng = np.random.default_rng(0)
    d = 60 if log == "more features than labels" else 3
    X = rng.normal(size=(400, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    z = rng.random(200) < 0.15
    if log == "no label":
        z[:] = False
    if log == "one class":
        z &= y[:200] > 0
    if log == "duplicates":
        X[:] = X[rng.integers(8, size=400)]
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if log == "constant feature":
        X[:, 1] = 7.0
    if log == "separable":
        X[:, 0] += 3.0 * y
    q0 = 1.0 if log == "constant q0" else 0.15
    logged = LoggedData(X[:200], np.where(z, y[:200], np.nan), z, q0, classes=(-1, 1))
    pool = method is Unskew
    m = method(random_state=0).start(logged, X[200:]) if pool else method(random_state=0).start(logged)
    for _ in range(3):
        asked = np.asarray(m.ask(15)) if pool else m.ask(X[200:], q0)
        m.tell(y[200:][asked])
    assert np.isfinite(m.model_.predict_proba(X)).all()
    assert m.model_.score(X, y) > (0.6 if log == "more features than labels" else 0.85)


def test_a_log_that_misleads_is_overruled_sooner():
    """Most labels come from one half, where the second feature means the opposite of what it means for the others.

    Margin sampling believes the log; `Unskew` asks where rows are in doubt, and lets labels count that are rare.
    """

    def error(kind, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 12))
        seen = X[:, 0] > 0
        y = np.where(X[:, 1] * np.where(seen, 1.0, -2.0) + rng.normal(size=3000) > 0, 1.0, -1.0)
        q0 = np.where(seen, 0.8, 0.01)
        log = LoggedData(X[:1000], y[:1000], rng.random(1000) < q0[:1000], q0[:1000])
        method = kind(random_state=0).start(log, X[1000:], q0[1000:])
        for _ in range(8):
            method.tell(y[1000:][np.asarray(method.ask(20))])
        return np.mean(method.predict(X[1000:]) != y[1000:])

    unweighted = type("Unweighted", (Unskew,), {"weights": lambda self, known: np.ones(len(known.y))})
    ours, once, margin = (np.mean([error(kind, s) for s in range(5)]) for kind in (Unskew, unweighted, MarginSampling))
    assert ours < once < margin


def test_the_log_tells_the_pool_its_propensities_whatever_its_order():
    """Of a long log a sample is read, not its first rows: those may show one end of it alone."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-1, 1, (30_000, 1)), axis=0)
    q0 = np.where(X[:, 0] > 0.5, 0.9, 0.1)  # the last quarter, beyond the first 20,000 rows
    z = rng.random(30_000) < q0
    log = LoggedData(X, X[:, 0] > 0, z, q0)
    m = Unskew(drawn=0.9, random_state=0).start(log, rng.uniform(-1, 1, (400, 1)))
    m.tell([row.values[0] > 0 for row in m.ask(200)])
    batch = m.rounds_[0]
    np.testing.assert_allclose(batch.q0, np.where(batch.X[:, 0] > 0.5, 0.9, 0.1), atol=0.02)


def test_a_frame_shows_its_own_rows():
    import polars as pl

    log = pl.DataFrame({"a": [-1.0, 1.0, 2.0, -2.0], "paid": [0, 1, 1, None], "q0": [0.5] * 4})
    pool = pl.DataFrame({"name": ["ann", "bob", "eve"], "a": [0.1, 0.2, -0.3]})
    method = Unskew(random_state=0).start(log, pool, label="paid", propensity="q0")
    asked = method.ask(2)
    assert asked[0].values == pool.row(asked[0].position, named=True)
    assert "name=" in asked._repr_html_() and "chosen" in repr(asked)
    method.tell({row.position: int(row.values["a"] > 0) for row in asked})
    assert method.predict(pool).shape == (3,)


def test_a_frame_without_propensities_has_them_estimated():
    import polars as pl

    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    seen = rng.random(300) < np.where(x[:, 0] > 0, 0.8, 0.2)
    paid = pl.Series(np.where(seen, (x[:, 1] > 0).astype(float), np.nan)).fill_nan(None)
    log = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "paid": paid})
    method = Unskew(random_state=0).start(log, x, label="paid")
    assert method.log_.q0_estimated and "estimated" in method.report()
    assert method.log_.q0[x[:, 0] > 0].mean() > 2 * method.log_.q0[x[:, 0] < 0].mean()
    assert method.error().q0_estimated
