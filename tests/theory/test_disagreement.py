"""The linear test, its erratum, and the exact region of a finite class."""

import math

import numpy as np
import pytest

from unskew import _kernels
from unskew.descent import Descent
from unskew.theory.disagreement import LinearTest, finite


def descent(w, t=3.0, eta=0.5):
    d = Descent(len(w), eta)
    d.w[:] = w
    d.t = t
    return d


def test_the_protocols_inequality_row_by_row():
    rng = np.random.default_rng(1)
    for _ in range(50):
        X, w = rng.uniform(-1, 1, (40, 3)), rng.standard_normal(3)
        C, V, loss, cnt, t = rng.uniform([0.01, 1, 0, 4, 0], [2, 9, 30, 90, 99])
        a = math.sqrt(0.5 / (0.5 + t))
        right = math.sqrt(C * V * loss) / cnt + C * V * math.log(cnt) / cnt
        expected = [abs(2 * (w @ x)) / (a * (x @ x)) / cnt <= right for x in X]
        assert LinearTest(C, V, loss, cnt)(descent(w, t), X)[1].tolist() == expected


def test_right_side_is_the_texts():
    """With loss = cnt l and V = (m + n)/(m xi + n): sqrt(C l/(m xi + n)) + C log(m + n)/(m xi + n)."""
    m, n, xi, error, C = 60.0, 20.0, 0.05, 0.2, 0.7
    test = LinearTest(C, (m + n) / (m * xi + n), (m + n) * error, m + n)
    text = math.sqrt(C * error / (m * xi + n)) + C * math.log(m + n) / (m * xi + n)
    assert 2.0 * test.slope(1.0) / (m + n) == pytest.approx(text)


def test_the_printed_form_is_smaller_by_cnt():
    """The text leaves out the division of the left side by m_k + n_k (an erratum)."""
    corrected, printed = LinearTest(0.5, 2.0, 3.0, 50.0), LinearTest(0.5, 2.0, 3.0, 50.0, printed=True)
    assert corrected.slope(0.1) == pytest.approx(50.0 * printed.slope(0.1))
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    wide, narrow = (test(descent([1.0, 0, 0]), X)[1] for test in (corrected, printed))
    assert np.all(wide[narrow]) and narrow.sum() < wide.sum()


def test_few_rows_and_zero_rows():
    X = np.array([[5.0, 0.0], [0.0, 0.0]])
    assert LinearTest(0.0, 1.0, 0.0, 3.0)(descent([1.0, 0.0]), X)[1].all()
    assert LinearTest(9.0, 9.0, 9.0, 30.0)(descent([1.0, 0.0]), X)[1].tolist() == [True, False]


def test_the_text_has_no_exception_for_few_rows():
    X = np.array([[5.0, 0.0], [0.1, 0.0]])
    assert LinearTest(0.0, 1.0, 0.0, 3.0, all_up_to=0.0)(descent([1.0, 0.0]), X)[1].tolist() == [False, False]
    assert LinearTest(0.0, 1.0, 0.0, 0.0, all_up_to=0.0)(descent([1.0, 0.0]), X)[1].all()  # no rows: sigma is infinite


@pytest.mark.parametrize("score", [-0.9, -0.3, -0.01, 1e-4, 0.05, 0.5, 1.0])
def test_flipping_weight(score):
    """The weight that brings w.x to 0, found by bisection: log(1 + |w.x|) / (2 a x.x)."""
    x, y = np.array([[0.5, -1.2]]), np.array([-math.copysign(1.0, score)])
    xx = float(x[0] @ x[0])

    def after(v):
        d = Descent(2, eta=40.0, clock="rows")
        d.w[:], d.t = score * x[0] / xx, 99.0
        d.run(x, y, np.array([v]), np.array([0]))
        return d.look(x)[0][0], d.a

    low, high = 0.0, 100.0
    for _ in range(200):
        v = (low + high) / 2.0
        moved, a = after(v)
        low, high = (v, high) if moved * score > 0.0 else (low, v)
    assert v == pytest.approx(math.log1p(abs(score)) / (2.0 * a * xx), rel=1e-6)
    if abs(score) <= 0.01:  # the test's left side, before the division by cnt, is four times as much
        assert abs(2.0 * score) / (a * xx) == pytest.approx(4.0 * v, rel=0.01)


def test_finite_class():
    P = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]])
    assert finite(P).tolist() == [False, False, True, True]
    assert finite(P[:1]).tolist() == [False] * 4
    assert finite(P[:0]).tolist() == [False] * 4


def test_least_propensity_of_the_region():
    X = np.array([[0.01, 0.0], [5.0, 0.0], [0.02, 0.0]])
    test, q0 = LinearTest(0.1, 1.0, 0.0, 30.0), np.array([0.5, 0.01, 0.3])
    assert test(descent([-1.0, 0.0]), X)[0].tolist() == [-1.0, -1.0, -1.0]
    for w, least in (([-1e-6, 0.0], 0.01), ([-1e9, 0.0], 1.0)):  # all of it; an empty region
        assert _kernels.least(q0, test(descent(w), X)[1]) == least
