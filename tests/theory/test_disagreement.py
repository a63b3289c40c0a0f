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


def test_flipping_weight_is_what_the_test_measures():
    """The update that turns w.x to the other sign has importance weight near |w.x| / (a x.x) for small steps."""
    d = descent([0.2, -0.1], t=1e9, eta=1e3)
    x = np.array([[0.5, 0.3]])
    score, xx = d.look(x)
    weight = abs(2.0 * score[0]) / (d.a * xx[0])
    before = np.sign(score[0])
    d.run(x, np.array([-before]), np.array([weight]), np.array([0]))
    assert np.sign(d.look(x)[0][0]) == -before


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
