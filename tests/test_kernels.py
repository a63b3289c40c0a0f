"""Each compiled loop against its twin in naive.py, and what an importance-weight-aware update promises."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import wrightomega

import naive
from unskew import _kernels as kernels

LOSSES = (kernels.SQUARED, kernels.LOGISTIC, kernels.HINGE)
quick = settings(deadline=None, max_examples=60)
any_loss = pytest.mark.parametrize("loss", LOSSES, ids=["squared", "logistic", "hinge"])
label = st.sampled_from([-1.0, 1.0])


def rows(seed, n=20, d=7, dense_share=0.6):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d)) * (rng.random((n, d)) < dense_share)
    X[rng.integers(n)] = 0.0
    X[rng.integers(n)] *= 1e-4  # its step is the linear one
    y = rng.choice([-1.0, 1.0], n)
    v = rng.choice([0.0, 1e-8, 1.0, 3.5, 200.0, 1e8], n)
    return rng, X, y, v


@any_loss
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("by_weight", [False, True])
@pytest.mark.parametrize("d", [1, 7, 40])
def test_a_pass_agrees_with_its_twin(loss, intercept, by_weight, d):
    for seed in range(4):
        rng, X, y, v = rows(seed, d=d)
        order = rng.permutation(len(X))[: rng.integers(1, len(X))]
        w0 = rng.normal(size=d + intercept)
        want, t = naive.one_pass(w0, 2.0, naive.with_one(X, intercept), y, v, order, 0.3, by_weight, loss)
        w = w0.copy()
        assert kernels.pass_dense(w, 2.0, X, y, v, order, 0.3, by_weight, loss) == pytest.approx(t, rel=1e-14)
        np.testing.assert_allclose(w, want, rtol=1e-9, atol=1e-12)
        for index in (np.int32, np.int64):
            S = sparse.csr_array(X)
            w = w0.copy()
            at, ends = S.indices.astype(index), S.indptr.astype(index)
            clock = kernels.pass_csr(w, 2.0, S.data, at, ends, y, v, order, 0.3, by_weight, loss, intercept)
            assert clock == pytest.approx(t, rel=1e-14)
            np.testing.assert_allclose(w, want, rtol=1e-9, atol=1e-12)


@any_loss
def test_a_pass_over_nothing_changes_nothing(loss):
    w = np.array([1.0, 2.0])
    none = np.arange(0)
    assert kernels.pass_dense(w, 5.0, np.ones((1, 2)), np.ones(1), np.ones(1), none, 1.0, True, loss) == 5.0
    assert w.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("intercept", [False, True])
def test_look_and_errors_agree_with_their_twins(intercept):
    for seed in range(4):
        rng, X, y, v = rows(seed)
        w = rng.normal(size=X.shape[1] + intercept)
        want = naive.look(w, naive.with_one(X, intercept))
        got, sparse_got = np.empty((2, len(X))), np.empty((2, len(X)))
        S = sparse.csr_array(X)
        assert kernels.look_dense(w, X, *got) == -1
        assert kernels.look_csr(w, S.data, S.indices, S.indptr, *sparse_got, intercept) == -1
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(sparse_got, want, rtol=1e-12, atol=1e-14)
        got[0, ::5] = 0.0  # a score of 0 is an error
        assert kernels.weighted_errors(got[0], y, v) == pytest.approx(naive.weighted_errors(got[0], y, v))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_look_names_the_first_row_whose_length_is_not_finite(value):
    X = np.ones((6, 3))
    X[4, 1] = X[5, 0] = value
    S = sparse.csr_array(X)
    score, xx = np.empty((2, 6))
    assert kernels.look_dense(np.zeros(3), X, score, xx) == 4
    assert kernels.look_csr(np.zeros(3), S.data, S.indices, S.indptr, score, xx, False) == 4


def test_keys_agree_with_their_twin_dense_and_csr():
    rng, X, _, _ = rows(0)
    X[0, :3] = 0.0, -0.0, 1.0
    salt = rng.integers(0, 2**64, X.shape[1], dtype=np.uint64)
    start = rng.integers(0, 2**64, len(X), dtype=np.uint64)
    S = sparse.csr_array(X)
    dense, csr = start.copy(), start.copy()
    kernels.keys_dense(X.view(np.uint64), salt, dense)
    kernels.keys_csr(S.data.view(np.uint64), S.indices, S.indptr, salt, csr)
    assert dense.tolist() == csr.tolist() == naive.keys(X, salt, start)


def test_keys_tell_binary_rows_apart():
    X = np.array([[float(i >> j & 1) for j in range(14)] for i in range(2**14)])
    key = np.zeros(len(X), dtype=np.uint64)
    kernels.keys_dense(X.view(np.uint64), np.random.default_rng(0).integers(0, 2**64, 14, dtype=np.uint64), key)
    assert len(np.unique(key)) == len(X)


# --- one step ---------------------------------------------------------------------------------------


@quick
@given(st.floats(-1e3, 1e3), st.floats(1e-12, 1e8))
def test_the_logistic_step_solves_its_equation(z, h):
    u = kernels.margin_gain(z, h)
    assert math.isfinite(u)
    assert 0.0 <= u <= h
    assert u == pytest.approx(naive.margin_gain(z, h), rel=1e-9, abs=1e-300)


@quick
@given(st.floats(-30, 3), st.floats(1e-3, 1e8))
def test_the_logistic_step_is_the_wright_omega_function(z, h):
    k = h + z + math.exp(z)
    u = k - z - float(wrightomega(k))
    assume(abs(u) > 1e-6 * k)  # where the closed form keeps its digits
    assert kernels.margin_gain(z, h) == pytest.approx(u, rel=1e-9)


def gradient_flow(score, y, h, loss, n=2000):
    """Where small gradient steps of total weight h take w.x, by the classical Runge-Kutta rule."""

    def slope(s):
        if loss == kernels.SQUARED:
            return -2 * (min(1, max(-1, s)) - y)
        return y / (1 + math.exp(y * s))

    for _ in range(n):
        k1 = slope(score)
        k2 = slope(score + h / n / 2 * k1)
        k3 = slope(score + h / n / 2 * k2)
        k4 = slope(score + h / n * k3)
        score += h / n / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return score


@settings(deadline=None, max_examples=15)
@given(st.floats(-1, 1), label, st.floats(1e-4, 8), st.sampled_from([kernels.SQUARED, kernels.LOGISTIC]))
def test_a_step_is_where_tiny_gradient_steps_lead(score, y, h, loss):
    xx, a = 2.5, 0.4
    moved = kernels.step(score, y, h / (a * xx), a, xx, loss) * xx
    assert moved == pytest.approx(gradient_flow(score, y, h, loss) - score, rel=1e-9, abs=1e-12)


def test_the_hinge_step_is_where_tiny_gradient_steps_lead():
    n = 10_000
    for score, y, h in [(0.3, 1.0, 0.2), (0.3, 1.0, 5.0), (-4.0, 1.0, 2.0), (2.0, -1.0, 9.0), (1.5, 1.0, 3.0)]:
        s = score
        for _ in range(n):
            s += y * h / n * (y * s < 1)
        assert score + kernels.step(score, y, h / 2.0, 0.5, 4.0, kernels.HINGE) * 4.0 == pytest.approx(s, abs=2 * h / n)


@any_loss
@quick
@given(st.floats(-1, 1), label, st.floats(1e-3, 1e6), st.floats(1e-3, 1), st.floats(1e-3, 1e3))
def test_a_weight_of_two_is_the_row_twice(loss, score, y, v, a, xx):
    assume(v * a * xx >= 1e-5)  # the squared loss takes the linear step below 1e-6
    once = kernels.step(score, y, 2 * v, a, xx, loss)
    first = kernels.step(score, y, v, a, xx, loss)
    second = kernels.step(score + first * xx, y, v, a, xx, loss)
    assert first + second == pytest.approx(once, rel=1e-8, abs=1e-13 / xx)


@any_loss
@quick
@given(st.floats(-1e3, 1e3), label, st.floats(0, 1e8), st.floats(1e-6, 1), st.floats(0, 1e6))
def test_a_step_is_finite_goes_towards_the_label_and_not_past_it(loss, score, y, v, a, xx):
    c = kernels.step(score, y, v, a, xx, loss)
    assert math.isfinite(c)
    assert c * y >= 0.0
    moved = y * (score + c * xx)
    if loss == kernels.SQUARED:
        assert moved <= max(1.0, y * score) + 1e-9
    elif loss == kernels.HINGE:
        assert moved <= max(1.0, y * score) + 1e-9 * max(1.0, abs(score))
    else:  # at most as far as the slope at the start, kept up for the whole weight, would lead
        assert c * xx * y <= v * a * xx * (1 + 1e-12)
    if v == 0.0 or xx == 0.0:
        assert c * xx == 0.0


@any_loss
def test_extreme_steps_are_right(loss):
    def margin_after(z, v):
        return z + kernels.step(z, 1.0, v, 1.0, 1.0, loss)

    if loss == kernels.LOGISTIC:
        assert margin_after(0.0, 1e8) == pytest.approx(math.log(1e8), rel=1e-6)
        assert margin_after(-1e3, 1e8) == pytest.approx(math.log(1e8 - 1e3), rel=1e-6)
        assert margin_after(-1e3, 10.0) == -990.0
        assert kernels.step(1e3, 1.0, 1e8, 1.0, 1.0, loss) == 0.0
        assert kernels.step(100.0, 1.0, 1.0, 1.0, 1.0, loss) == pytest.approx(math.exp(-100.0), rel=1e-12)
    else:
        assert margin_after(0.0, 1e8) == 1.0
        assert margin_after(1e3, 1e8) == 1e3


@pytest.mark.parametrize("slope", [0.0, 0.3, 5.0, np.inf])
def test_judge_and_least_agree_with_their_twins(slope):
    rng = np.random.default_rng(5)
    for _ in range(30):
        X = rng.standard_normal((int(rng.integers(0, 12)), 4)) * (rng.random((1, 4)) < 0.8)
        X[rng.random(len(X)) < 0.2] = 0.0
        S, w, q0 = sparse.csr_array(X), rng.standard_normal(4), rng.random(len(X))
        want = naive.judge(w, X, slope)
        for call in (
            lambda *out, X=X, w=w: kernels.judge_dense(w, X, slope, *out),
            lambda *out, S=S, w=w: kernels.judge_csr(w, S.data, S.indices, S.indptr, slope, *out),
        ):
            y, inside = np.empty(len(X)), np.empty(len(X), dtype=bool)
            assert call(y, inside) == -1
            assert (y.tolist(), inside.tolist()) == want
            assert kernels.least(q0, inside) == naive.least(q0, inside)


def test_judge_names_the_first_row_that_is_not_finite():
    X = np.ones((6, 3))
    X[4, 1], X[5, 0] = np.nan, np.inf
    S, y, inside = sparse.csr_array(X), np.empty(6), np.empty(6, dtype=bool)
    assert kernels.judge_dense(np.zeros(3), X, 0.5, y, inside) == 4
    assert kernels.judge_csr(np.zeros(3), S.data, S.indices, S.indptr, 0.5, y, inside) == 4
