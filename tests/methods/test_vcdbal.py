"""VCDBAL against its plain twin, M against its definition, and what clipping and regularising do."""

import math

import numpy as np
import pytest

import naive_protocol as naive
from scenes import population, scene
from unskew import VCDBAL, LoggedData
from unskew.errors import InputError
from unskew.experiments.simulation import curve
from unskew.methods import run


def twin(X, y, q0, z, m, C, eta, budget, rng, test_error):
    """The follow-up row by row; X, y, q0 are all train rows, the log first."""
    n, rows = len(y) - m, list(np.flatnonzero(z))
    known, rounds, labels, done, size = y.copy(), [], 0, 0, 10
    w, t = np.zeros(X.shape[1]), 0.0

    def weight(i):
        return (m + done) / (m * q0[i] + sum(n_b for n_b, cut in rounds if q0[i] < cut))

    def fit(w, t):
        M = 2 * (m + done) / (m * naive.XI0 + done)
        if labels >= 10:
            M = least_M([weight(i) for i in range(m)], C, m + done)
        v = {i: weight(i) for i in rows if weight(i) <= M}
        for _ in range(3):
            vl = {i: v[i] * (min(1.0, max(-1.0, w @ X[i])) - known[i]) ** 2 for i in v}
            norm = math.sqrt(sum(x**2 for x in vl.values()))
            pull = math.sqrt(C) / norm if norm > 1e-12 else 0.0  # below, round-off would decide
            for i in np.array(rows, dtype=int)[rng.permutation(len(rows))]:
                if i in v:
                    scaled = np.array([v[i] * (1 + pull * vl[i])])
                    w, t, _ = naive.fit(w, t, X[[i]], known[[i]], scaled, np.random.default_rng(0), eta)
        return w, t, M, sum(v[i] ** 2 for i in v if (w @ X[i]) * known[i] <= 0)

    w, t, M, second = fit(w, t)
    points = [(0, 0, test_error(w))]
    while done < n and labels <= 2 * budget:
        batch = np.arange(m + done, m + min(done + size, n))
        a, cnt = math.sqrt(eta / (eta + m + done)), m + done
        bound = math.sqrt(C * second) / cnt + C * M * math.log(cnt) / cnt
        rounds.append((len(batch), 2 * (done + len(batch)) / m))
        for i in batch:
            if q0[i] < rounds[-1][1]:
                rows.append(i)
                if abs(2 * (w @ X[i])) / (a * (X[i] @ X[i])) / cnt <= bound:
                    labels += 1
                else:
                    known[i] = naive.sign(w, X[[i]])[0]
        done += len(batch)
        size *= 2
        w, t, M, second = fit(w, t)
        points.append((done, labels, test_error(w)))
    return points


def least_M(v, C, N):
    """inf of the M >= 1 with Pr[v >= M] <= C M / N: try every place where either side can change the answer."""
    v = np.array(v)
    places = [1.0, *v, *(k * N / (C * len(v)) for k in range(len(v) + 1))]

    def holds_above(M):
        return np.mean(v > M) <= C * M / N  # Pr[v >= M'] for M' just above M

    return min(M for M in places if M >= 1.0 and holds_above(M))


@pytest.mark.parametrize("policy", ["identical", "uniform", "uncertainty", "certainty", "blind-spot"])
@pytest.mark.parametrize("fraction", [0.1, 0.6])
def test_is_its_twin(policy, fraction):
    """Same seeds, same orders: labels and errors agree to the last one."""
    s = scene(3, policy, fraction)
    X, q0 = np.vstack([s.log.X, s.X]), np.concatenate([s.log.q0, s.q0])
    y, m = np.concatenate([s.log.y, s.y]), s.log.m

    def wrong(w):
        return float(np.mean(naive.sign(w, s.test_X) != s.test_y))

    for C, eta in [(0.01, 0.01), (0.64, 0.5), (40.0, 0.1)]:
        ours = curve(VCDBAL(C, eta, xi0=0.005, random_state=3), s, 100)
        assert ours == twin(X, y, q0, s.log.z, m, C, eta, 100, np.random.default_rng(3), wrong)


def after(s, n, **parameters):
    """The method after n stream rows, in batches of 10."""
    method = VCDBAL(random_state=0, **parameters).start(s.log, n)
    for lo in range(0, n, 10):
        method.tell(s.y[lo : lo + 10][method.ask(s.X[lo : lo + 10], s.q0[lo : lo + 10])])
    return method


def weights(method, q0):
    """v(x) of rows with these propensities, after all rounds so far."""
    return method._regime.weights(method, method.state_, q0)


@pytest.mark.parametrize("C", [0.01, 0.3, 3.0, 30.0, 1000.0])
@pytest.mark.parametrize("policy", ["uniform", "uncertainty", "blind-spot"])
def test_M_by_its_definition(C, policy):
    s = scene(1, policy)
    method = after(s, 60, C=C)
    v, N = weights(method, s.log.q0), s.log.m + 60
    method.labels_ = 10
    M = method._regime.clip_level(method, method.state_)
    assert M == pytest.approx(least_M(v, C, N), rel=1e-12)
    assert np.mean(v >= M * 1.0001) <= C * M * 1.0001 / N
    assert M == 1.0 or np.mean(v >= M * 0.9999) > C * M * 0.9999 / N


def test_few_labels_clip_nothing():
    s = scene(policy="uniform")
    method = after(s, 60, C=1000.0, xi0=0.005)
    method.labels_ = 9
    M = method._regime.clip_level(method, method.state_)
    assert M == pytest.approx(2 * (s.log.m + 60) / (s.log.m * 0.005 + 60))
    assert M >= weights(method, np.array([0.005, 0.05, 0.5])).max()


def test_a_larger_C_leaves_out_more_rows():
    s = scene(policy="uniform", rows=2000)
    kept = []
    for C in (1.0, 100.0, 1000.0):
        state = after(s, 100, C=C).state_
        assert state.v.max() <= state.M
        kept.append(np.mean(state.v > 0.0))
    assert kept[0] == 1.0 > kept[1] > kept[2]


def test_C_zero_queries_only_the_boundary_and_clips_nothing():
    s = scene(policy="uniform")
    method = run(VCDBAL(C=0.0, random_state=0), s.log, (s.X, s.q0), s.y)
    assert method.labels_ == 0 and np.all(method.state_.v > 0.0)


def test_weights_are_the_mixture_of_all_rounds():
    s = scene(policy="uniform")
    method = after(s, 40)
    m = s.log.m
    for q0 in (0.005, 0.05, 0.5):
        asked = sum(10 for n in (10, 20, 30, 40) if q0 < 2 * n / m)
        assert weights(method, np.array([q0]))[0] == pytest.approx((m + 40) / (m * q0 + asked))


def test_rows_the_log_covers_are_neither_asked_nor_kept():
    s = scene(policy="uniform")
    method = VCDBAL(C=100.0, random_state=0).start(s.log, s.n)
    asked = method.ask(s.X[:10], s.q0[:10])
    covered = s.q0[:10] >= 20 / s.log.m
    assert covered.any() and not covered[asked].any()
    method.tell(s.y[asked])
    assert method.state_.rows == s.log.z.sum() + np.count_nonzero(~covered)


def test_the_regulariser_lowers_the_second_moment():
    """Warm start alone, nothing clipped: with C the objective turns to the rows of large v l."""
    moments = []
    for C in (0.0, 100.0):
        total = 0.0
        for seed in range(10):
            s = scene(seed, "uncertainty", rows=1000)
            method = VCDBAL(C, 0.1, xi0=0.005, random_state=seed).start(s.log)
            X, y, v = s.log.revealed_X, s.log.revealed_y, 1.0 / s.log.revealed_q0
            total += np.sum((v * (np.clip(X @ method.model_.coef_[0], -1, 1) - y) ** 2) ** 2)
        moments.append(total)
    assert moments[1] < moments[0]


@pytest.mark.parametrize("q0", [0.005, 0.05, 0.3, 1.0])
def test_one_propensity_for_all_keeps_every_row(q0):
    """v is one number then, whatever the rounds: M must not fall below it."""
    X, y = population(2000)
    z = np.random.default_rng(0).random(1000) < q0
    log = LoggedData(X[:1000], np.where(z, y[:1000], np.nan), z, q0, classes=(-1, 1))
    method = run(VCDBAL(C=0.64, random_state=0), log, (X[1000:], q0), y[1000:])
    assert np.ptp(method.state_.v) == 0.0 and np.all(method.state_.v >= 1.0)
    assert method.model_.score(X, y) > 0.85


def test_a_fully_revealed_log_is_asked_about_only_once_the_stream_is_half_as_long():
    X, y = population()
    log = LoggedData(X[:300], y[:300], np.ones(300), 1.0)
    method = VCDBAL(C=100.0, random_state=0).start(log, 300)
    assert len(method.ask(X[300:450], 1.0)) == 0  # 2n/m = 1, and Q0 = 1 is not below
    method.tell([])
    assert len(method.ask(X[450:], 1.0)) == 150


def test_there_is_one_variant():
    with pytest.raises(InputError, match="variant of VCDBAL must be 'released'; got 'paper'"):
        VCDBAL(variant="paper")
