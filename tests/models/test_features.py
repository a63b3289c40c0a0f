"""The features of the Bayesian model: standardised columns, a kernel from random directions, wide rows projected."""

import numpy as np
import pytest
from scipy import sparse

from unskew.models.features import WIDE, Features


def test_the_linear_block_is_standardised():
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, [1.0, 100.0, 0.01], (300, 3))
    F = Features(X, rng=rng)(X)
    assert F.shape == (300, 4) and np.all(F[:, 0] == 1.0)
    np.testing.assert_allclose(F[:, 1:].mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(F[:, 1:].std(axis=0), 1.0 / np.sqrt(3.0))


def test_the_fourier_block_is_a_gaussian_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    features = Features(X, frequencies=20_000, rng=rng)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    distance = np.linalg.norm(Z[:, None] - Z, axis=2)
    assert features.median == pytest.approx(np.median(distance[distance > 0.0]), rel=0.1)
    for scale in (0.5, 1.0, 2.0):
        fourier = features(X, scale)[:, 4:]
        np.testing.assert_allclose(
            fourier @ fourier.T, np.exp(-0.5 * (distance / (scale * features.median)) ** 2), atol=0.03
        )


def test_a_weight_is_a_number_of_rows():
    rng = np.random.default_rng(0)
    X, k = rng.normal(size=(30, 2)), rng.integers(1, 5, 30)
    weighted = Features(X, k.astype(float), rng=np.random.default_rng(1))
    repeated = Features(np.repeat(X, k, axis=0), rng=np.random.default_rng(1))
    np.testing.assert_allclose(weighted(X), repeated(X), atol=1e-12)
    assert weighted.median == pytest.approx(repeated.median, rel=0.1)  # other pairs of rows are drawn
    ones, plain = (Features(X, v, rng=np.random.default_rng(1)) for v in (np.ones(30), None))
    np.testing.assert_allclose(ones(X, 1.0), plain(X, 1.0), atol=1e-12)


def test_the_median_distance_is_that_of_the_weighted_rows():
    """Two groups, 1 and 10 wide; nearly all the weight lies on the narrow one."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 1)) * np.repeat([[1.0], [10.0]], 200, axis=0)
    v = np.repeat([1.0, 1e-4], 200)
    weighted = Features(X, v, rng=np.random.default_rng(1))
    narrow = Features(X[:200], rng=np.random.default_rng(1))
    assert weighted.median == pytest.approx(narrow.median, rel=0.1)


def test_a_constant_column_stays_finite():
    X = np.column_stack((np.arange(20.0), np.full(20, 1e6)))
    assert np.isfinite(Features(X, rng=np.random.default_rng(0))(X, 1.0)).all()


def test_wide_rows_are_projected():
    X = sparse.random_array((60, 3000), density=0.01, random_state=0, format="csr")
    features = Features(X, rng=np.random.default_rng(0))
    assert features.sizes[0] == WIDE and features(X).shape == (60, WIDE + 1)
    assert features(X[:0]).shape == (0, WIDE + 1)


def test_single_precision_is_close_to_double():
    X = np.random.default_rng(0).normal(size=(50, 4)) + 1000.0
    features = Features(X, rng=np.random.default_rng(0))
    single = features(X, 1.0, single=True)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, features(X, 1.0), atol=1e-5)


def test_columns_with_few_values_also_enter_as_indicators():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=200), rng.integers(0, 4, 200), rng.integers(0, 2, 200), rng.integers(0, 9, 200)]
    )
    features = Features(X, few=6, rng=rng)
    assert features.sizes[0] == 4 + 4
    F = features(X)[:, 5:]  # after the constant and the columns themselves
    for value in range(4):
        inside = X[:, 1] == value
        assert len(np.unique(F[inside, value])) == 1 == len(np.unique(F[~inside, value]))
        assert F[inside, value][0] > F[~inside, value][0]
    unseen = X[:1].copy()
    unseen[0, 1] = 7.0
    assert (features(unseen)[0, 5:] < 0.0).all()  # none of the known values
    assert Features(X, rng=rng).sizes[0] == 4


def test_a_column_is_looked_at_to_its_end_before_it_counts_as_codes():
    X = np.zeros((1500, 2))
    X[:, 0], X[:1200, 1], X[1200:, 1] = np.arange(1500) % 3, np.arange(1200) % 3, np.arange(300)
    assert Features(X, few=6, rng=np.random.default_rng(0)).sizes[0] == 2 + 3


def test_indicators_never_make_rows_wide():
    X = np.random.default_rng(0).integers(0, 3, (50, WIDE - 5)).astype(float)
    features = Features(X, few=6, rng=np.random.default_rng(0))
    assert features.sizes[0] == WIDE - 5 + 3 and features(X).shape[1] == 1 + WIDE - 2


def test_columns_of_a_block_keep_their_relative_scales() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * [100.0, 1.0, 8.0, 4.0, 2.0, 0.001]
    Z = Features(X, blocks=[(2, 6)], rng=np.random.default_rng(1))(X)[:, 1:] * np.sqrt(6)
    spread, before = Z.std(axis=0), X.std(axis=0)
    np.testing.assert_allclose(spread[2:] / spread[2], before[2:] / before[2])
    assert np.isclose(spread[0], spread[1]) and np.isclose((spread**2).mean(), 1.0)
    assert np.isclose((spread[2:] ** 2).sum(), 4.0 * spread[0] ** 2)


def test_without_blocks_nothing_changes() -> None:
    X = np.random.default_rng(0).normal(size=(100, 5))
    plain, none = (Features(X, rng=np.random.default_rng(1), **more)(X, 1.0) for more in ({}, {"blocks": ()}))
    assert plain.tobytes() == none.tobytes()


def test_a_block_that_is_the_same_in_every_row_is_no_trouble() -> None:
    X = np.column_stack([np.arange(50.0), np.ones((50, 3))])
    assert np.isfinite(Features(X, blocks=[(1, 4)], rng=np.random.default_rng(0))(X, 1.0)).all()
