"""The paper's methods: against their plain twins, and what the text says of them. Their contract: test_contract.py."""

import numpy as np
import pytest

import naive_protocol as naive
from scenes import population, scene
from unskew import IDBAL, VCDBAL, DBALw, DBALwm, LoggedData, Passive
from unskew.descent import Descent
from unskew.errors import InputError
from unskew.experiments.simulation import curve, horizons
from unskew.methods import run
from unskew.methods.streams.idbal import ReleasedSegments

PAPER = [Passive, DBALw, DBALwm, IDBAL]
ALL = [(method, variant) for method in PAPER for variant in ("released", "paper")] + [(VCDBAL, "released")]


@pytest.mark.parametrize("method", [*PAPER, VCDBAL])
def test_bad_parameters(method):
    with pytest.raises(InputError, match="C must be at least 0; got -1"):
        method(C=-1)
    with pytest.raises(InputError, match="eta must be above 0; got 0"):
        method(eta=0)
    with pytest.raises(InputError, match="did you mean 'released'"):
        method(variant="release")
    with pytest.raises(InputError, match=r"xi0 must be in \(0, 1\]; got 2"):
        method(xi0=2)
    with pytest.raises(InputError, match="n must be at least 1"):
        method().start(scene().log, 0)


@pytest.mark.parametrize("policy", ["identical", "uniform", "uncertainty", "certainty"])
@pytest.mark.parametrize("fraction", [0.1, 0.6])
def test_released_methods_are_their_twins(policy, fraction):
    """Same seeds, same orders: labels and errors agree to the last one."""
    for seed in range(3):
        s = scene(seed, policy, fraction, rows=1000)
        X, q0 = np.vstack([s.log.X, s.X]), np.concatenate([s.log.q0, s.q0])
        y, m = np.concatenate([s.log.y, s.y]), s.log.m
        for C, eta in [(0.01, 0.01), (0.64, 0.5)]:

            def wrong(w, s=s):
                return float(np.mean(naive.sign(w, s.test_X) != s.test_y))

            for name, method in [("Passive", Passive), ("DBALw", DBALw), ("DBALwm", DBALwm)]:
                ours = curve(method(C, eta, xi0=0.005, random_state=seed), s, 100)
                rng = np.random.default_rng(seed)
                assert ours == naive.everything(name, X, y, q0, s.log.z, m, C, eta, 100, rng, wrong)
            for n in horizons(s.n):
                ours = run(IDBAL(C, eta, xi0=0.005, random_state=seed), s.log, (s.X[:n], s.q0[:n]), s.y)
                labels, w = naive.idbal(X, y, q0, s.log.z, m, n, C, eta, np.random.default_rng(seed))
                assert ours.labels_ == labels
                np.testing.assert_allclose(ours.model_.coef_[0], w, rtol=1e-7, atol=1e-12)


def test_run_stops_after_the_budget():
    s = scene()
    stopped = run(Passive(random_state=0), s.log, (s.X, s.q0), s.y, budget=25)
    assert stopped.labels_ == 30  # batches of 10 and 20: the first total above 25
    with pytest.raises(InputError, match=r"one label for each of the 10 rows; got shape \(1,\)"):
        run(Passive(), s.log, (s.X, s.q0), lambda asked: s.y[:1])
    with pytest.raises(
        InputError, match=rf"one label for each of the {s.n} stream rows; got shape \(15,\). Pass all labels"
    ):
        run(Passive(), s.log, (s.X, s.q0), s.y[:15])


def test_idbal_skips_what_the_log_covers():
    """Where alpha is large, only rows close to the least propensity are kept (line 12)."""
    s = scene(policy="uniform")
    method = IDBAL(C=100.0, xi0=0.005, random_state=0).start(s.log, 40)
    asked = method.ask(s.X[:10], s.q0[:10])
    assert isinstance(method._regime, ReleasedSegments)
    alpha = method.state_.alpha
    assert 1.0 / alpha < 0.3
    assert np.array_equal(asked, np.flatnonzero(s.q0[:10] <= 0.005 + 1.0 / alpha))


def test_full_propensity_makes_idbal_dbalwm():
    """With Q0 = 1 nothing is debiased: IDBAL asks what DBALwm asks (paper variant, same segments)."""
    X, y = population()
    log = LoggedData(X[:300], y[:300], np.ones(300), 1.0)
    a = run(IDBAL(variant="paper", random_state=3), log, (X[300:], 1.0), y[300:])
    b = run(DBALwm(variant="paper", random_state=3), log, (X[300:], 1.0), y[300:])
    c = run(DBALw(variant="paper", random_state=3), log, (X[300:], 1.0), y[300:])
    assert a.labels_ == b.labels_ == c.labels_
    np.testing.assert_array_equal(a.model_.coef_, b.model_.coef_)
    np.testing.assert_array_equal(a.model_.coef_, c.model_.coef_)


def test_segments_of_the_paper():
    """n_k = 1, 2, 4, ...; m_0 = m/3, m_k = alpha n_k: each log row is used once (section 3.2)."""
    s = scene()
    method = IDBAL(variant="paper", random_state=0).start(s.log, 63)
    assert list(method.batch_sizes()) == [1, 2, 4, 8, 16, 32]
    alpha, used, seen, trained = method.state_.alpha, [method.state_.taken], 0, int(s.log.z.sum())
    for size in method.batch_sizes():
        asked = method.ask(s.X[seen : seen + size], s.q0[seen : seen + size])
        trained += np.count_nonzero(s.q0[seen : seen + size] <= method.pending.plan.cut)
        method.tell(s.y[seen : seen + size][asked])
        seen += size
        used.append(method.state_.taken)
    assert used[0] == s.log.m // 3 and used[-1] == s.log.m
    np.testing.assert_allclose(np.diff(used), alpha * np.array([1, 2, 4, 8, 16, 32]), atol=1.0)
    assert method.descent_.t == trained  # the clock counts rows


@pytest.mark.parametrize("method", PAPER)
@pytest.mark.parametrize("n", [1, 10, 63, 200])
def test_the_paper_variant_uses_every_log_row_once(method, n):
    """However m and n divide, the slices are a partition of the log, and the batches one of the stream."""
    X, y = population()
    for m in (60, 61, 62, 100):
        log = LoggedData(X[:m], y[:m], np.ones(m), 0.5)
        done = run(method(variant="paper", random_state=0), log, (X[m : m + n], 0.5), y[m : m + n])
        used = np.concatenate([at for at, _, _ in done.state_.fit.passes])
        assert sorted(used[used < m].tolist()) == list(range(m))
        assert (len(used), done.state_.taken) == (m + n, m)


def test_the_released_slices_are_rounded_down():
    """So one log row may be left; the released program's curves are those of slices like these."""
    X, y = population()
    for m, left in ((60, 0), (61, 1), (62, 1)):
        log = LoggedData(X[:m], y[:m], np.ones(m), 0.5)
        done = run(IDBAL(random_state=0), log, (X[m : m + 40], 0.5), y[m : m + 40])
        assert m - done.state_.taken == left


@pytest.mark.parametrize("method", PAPER)
def test_the_model_at_0_labels_has_the_clock_of_the_variant(method):
    """It is the model of the whole log with weights 1/Q0; t counts rows in the paper's variant."""
    s = scene()
    X, y, q0 = s.log.revealed_X, s.log.revealed_y, s.log.revealed_q0
    ends = {"released": (1.0 / q0).sum(), "paper": len(y)}
    for variant, t in ends.items():
        whole = method(eta=0.3, variant=variant, xi0=0.005, random_state=4).at_zero_labels()
        whole.start(s.log, 40)
        plain = Descent(X.shape[1], 0.3, clock="weight" if variant == "released" else "rows")
        plain.run(X, y, 1.0 / q0, np.random.default_rng(4).permutation(len(y)))
        assert whole.descent_.t == pytest.approx(t)
        np.testing.assert_array_equal(whole.descent_.w, plain.w)


def test_no_revealed_row_is_a_start_too():
    s = scene()
    blank = LoggedData(s.log.X, np.full(s.log.m, np.nan), None, s.log.q0, classes=(-1, 1))
    for method, variant in ALL:
        done = run(method(C=5.0, variant=variant, random_state=0), blank, (s.X, s.q0), s.y)
        assert np.isfinite(done.model_.coef_).all()
