"""What labels add to a measure: masses, moments of a label, the skew of two sources."""

import numpy as np
import pytest

from people import NONE
from unskew.estimation.design import Design, Moments, Picked
from unskew.estimation.measures import Slopes
from unskew.estimation.sample import Sample, Spread, Valued

P = np.array([0.999, 0.001, 0.7, 0.4, 0.999, 0.2])
Y = np.array([1.0, -1.0, 0.0, 0.0, 1.0, 0.0])


def both() -> Sample:
    """Four rows of a log, of which two are labelled, and two of a pool, of which one is drawn."""
    q0 = np.array([0.5, 0.2, 0.4, 0.8])
    picked = Picked(NONE, np.array([0]), np.array([2.0]), spread=0.3)
    return Sample(Design(Y[:4] != 0.0, q0, 2, (picked,)), P, Y)


def third_moment(p: np.ndarray) -> np.ndarray:
    """Of a label that is 1 with chance p, about its mean."""
    return p * (1.0 - p) ** 3 - (1.0 - p) * p**3


def test_masses_of_the_two_labels_add_up_to_one_row() -> None:
    sample = both()
    for c, rows in (((1.0, 0.0), 4), ((0.0, 1.0), 2), ((0.3, 0.7), 6), ((0.0, 0.0), 6)):
        masses = sample.masses(c)
        used = np.repeat([c[0] > 0.0 or not sum(c), c[1] > 0.0 or not sum(c)], [4, 2])
        assert masses.plus + masses.minus == pytest.approx(np.where(used, 1.0 / rows, 0.0))
    masses = sample.masses((0.3, 0.7))
    t = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    weight = np.array([0.3 / (4 * 0.5), 0.3 / (4 * 0.2), 0.0, 0.0, 0.7 * 2.0 / 2.0, 0.0])
    assert masses.plus == pytest.approx(P / 6 + weight * (t - P))


def test_the_skew_of_two_sources_is_that_of_their_weighted_sum() -> None:
    spread = Spread(Moments(0.5, 0.2), Moments(0.3, -0.4), 0.1)
    variance = 0.04 * 0.5 + 0.64 * 0.3 + 0.1
    assert spread.variance((0.2, 0.8)) == pytest.approx(variance)
    assert spread.skew((0.2, 0.8)) == pytest.approx((0.008 * 0.2 - 0.512 * 0.4) / variance)
    assert Spread(Moments(0.0), Moments(0.0), 0.0).skew((0.5, 0.5)) == 0.0


def test_what_is_expected_of_a_label_is_by_enumeration_of_its_two_values() -> None:
    """The labels are as the model says, so they show less than what is expected of them."""
    sample, delta = both(), np.array([1.0, -2.0, 0.5, 1.0, 3.0, 1.0])
    found = sample.spread(Slopes(delta, np.zeros(6)), (0.5, 0.5))
    log, draw = np.s_[:4], np.s_[4:5]
    square, cube = delta**2 * P * (1.0 - P), delta**3 * third_moment(P)
    q0 = sample.design.q0
    assert found.log.variance == pytest.approx((square[log] / q0).sum() / 4**2)
    assert found.log.third == pytest.approx((cube[log] / q0**2).sum() / 4**3)
    u = 2.0
    assert found.draw.variance == pytest.approx((u * (u - 1.0) * square[draw]).sum() / 2**2)
    assert found.draw.third == pytest.approx((u * (u - 1.0) * (u - 2.0) * cube[draw]).sum() / 2**3)


def test_values_of_several_classes_have_the_moments_of_their_distribution() -> None:
    rng = np.random.default_rng(0)
    values, p = rng.normal(size=(5, 3)), rng.dirichlet(np.ones(3), 5)
    at, z = np.array([0, 2, 1, 1, 0]), np.array([True, True, False, True, False])
    sample = Valued(Design(z, np.full(5, 0.5)), values, p, at)
    mean = np.array([sum(p[i, k] * values[i, k] for k in range(3)) for i in range(5)])
    for power, found in ((2, sample.doubt), (3, sample.doubt * sample.tilt)):
        for i in range(5):
            moment = sum(p[i, k] * (values[i, k] - mean[i]) ** power for k in range(3))
            assert found[i] == pytest.approx(moment)
    assert sample.p == pytest.approx(mean)
    shown = [values[i, at[i]] - mean[i] if z[i] else 0.0 for i in range(5)]
    assert sample.residual == pytest.approx(np.array(shown))


def test_rows_of_a_log_that_stand_for_others_add_to_the_variance() -> None:
    """A labelled row stands for three rows, and one without a label for five."""
    p, z = np.array([0.3, 0.6, 0.9, 0.1, 0.8]), np.array([True, True, False, False, False])
    counts, y = np.where(z, 3.0, 5.0), np.where(z, 1.0, 0.0)
    sample = Sample(Design(z, np.full(5, 0.2), log_counts=counts), p, y)
    plus, minus = np.array([1.0, 2.0, 0.5, 3.0, 1.0]), np.array([0.5, 0.0, 1.0, 1.0, 2.0])
    found = sample.spread(Slopes(plus, minus), (1.0, 0.0)).rows
    x, N = p * plus + (1.0 - p) * minus, 21.0
    mean = sum(u * value for u, value in zip(counts, x, strict=True)) / N
    apart = [(u, (value - mean) ** 2) for u, value in zip(counts, x, strict=True)]
    of_all, of_kept = sum(u * d for u, d in apart) / N, sum(u * (u - 1.0) * d for u, d in apart)
    assert found == pytest.approx(of_all / N + of_kept / N**2)
    assert (sample.design.log.n, sample.design.m) == (N, 5)
