"""The compiled loops that look at rows: each against its twin in naive.py, and the same bits however rows are cut."""

import numpy as np
import pytest

import naive
from unskew import _look
from unskew.models import trees
from unskew.models.trees import Trees, votes


@pytest.fixture(scope="module")
def forest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 3)), rng.integers(-2, 3, 200), 1e60 * rng.normal(size=200)])
    return Trees(X, X[:, 0] * X[:, 1] + X[:, 3] > 0.0, np.ones(200), seed=0)


def test_votes_agree_with_their_twin_and_with_the_trees(forest):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(1150, 3)), rng.integers(-2, 3, 1150), 1e60 * rng.normal(size=1150)])
    found = votes(X, forest.packed)
    np.testing.assert_array_equal(found, naive.votes(X, *forest.packed, _look.FELLOWS))
    p = (found + 0.5) / (len(forest.trees) + 1.0)
    np.testing.assert_allclose(np.log(p / (1.0 - p)), forest.log_odds(X), rtol=1e-12, atol=1e-12)


def test_values_at_thresholds_fall_on_the_same_side_as_in_the_trees(forest):
    """A threshold itself goes left; the next number in single precision goes right; -0.0 is 0.0."""
    cuts = np.concatenate([tree.threshold[tree.feature >= 0] for tree in forest.trees[:20]])
    columns = np.concatenate([tree.feature[tree.feature >= 0] for tree in forest.trees[:20]])
    rows = []
    for near in (cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), np.float32(np.clip(cuts, -3e38, 3e38))):
        X = np.zeros((len(cuts), 5))
        X[np.arange(len(cuts)), columns] = near
        rows += [X, np.where(X == 0.0, -0.0, X)]
    rows.append(np.array([[1e100, -1e100, 3.5e38, -3.5e38, 1e100], [1e-60, -1e-60, -0.0, 0.0, -1e100]]))
    X = np.concatenate(rows)
    p = (votes(X, forest.packed) + 0.5) / (len(forest.trees) + 1.0)
    np.testing.assert_allclose(np.log(p / (1.0 - p)), forest.log_odds(X), rtol=1e-12, atol=1e-12)


def test_trees_of_one_leaf():
    stumps = Trees(np.zeros((5, 2)), np.array([True, False, True, True, False]), np.ones(5), seed=0)
    X = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_array_equal(votes(X, stumps.packed), naive.votes(X, *stumps.packed, _look.FELLOWS))


def test_many_rows_get_what_few_rows_get_to_the_last_bit(forest, monkeypatch):
    rng = np.random.default_rng(2)
    X = np.asfortranarray(np.column_stack([rng.normal(size=(1500, 4)), 1e60 * rng.normal(size=1500)]))
    many = forest.log_odds(X)
    monkeypatch.setattr(trees, "MANY", 2000)
    np.testing.assert_array_equal(many, forest.log_odds(X))


def test_rows_with_very_many_columns(monkeypatch):
    X = np.random.default_rng(3).normal(size=(40, trees.WIDE))
    wide = Trees(X, X[:, -1] > 0.0, np.ones(40), seed=0)
    few = wide.log_odds(X)
    monkeypatch.setattr(trees, "MANY", 1)
    np.testing.assert_array_equal(few, wide.log_odds(X))
    assert max(tree.feature.max() for tree in wide.trees) > 0.99 * trees.WIDE


@pytest.mark.parametrize(("reach", "within"), [(1.0, 2e-7), (100.0, 2e-7), (8192.0, 2e-7)])
def test_cosine_and_sine(reach, within):
    angle = np.random.default_rng(0).uniform(-reach, reach, 4001).astype(np.float32)
    cosine, sine = angle.copy(), np.empty_like(angle)
    _look.turn(cosine, sine)
    assert np.abs(cosine - np.cos(angle.astype(np.float64))).max() < within
    assert np.abs(sine - np.sin(angle.astype(np.float64))).max() < within


def test_wider_angles_stay_on_the_circle():
    angle = np.array([1e4, -1e10, 3e38, np.inf], dtype=np.float32)
    cosine, sine = angle.copy(), np.empty_like(angle)
    _look.turn(cosine, sine)
    np.testing.assert_allclose(cosine**2 + sine**2, 1.0, rtol=1e-6)


def test_a_product_is_a_matrix_product_summed_in_order():
    rng = np.random.default_rng(0)
    A, F = rng.normal(size=(8, 6)).astype(np.float32), rng.normal(size=(6, _look.ROWS)).astype(np.float32)
    out, want = np.empty(8 * _look.ROWS, dtype=np.float32), np.zeros((8, _look.ROWS), dtype=np.float32)
    _look.product(A, F.ravel(), out)
    for a, f in zip(A.T, F, strict=True):
        want += np.outer(a, f)
    np.testing.assert_array_equal(out.reshape(8, -1), want)


def _case(rng, frequencies, trees):
    """Made-up arguments of `gauge`: three columns, the last one with two codes, and six directions."""
    turns = np.zeros((frequencies, 8), dtype=np.float32)
    turns[:, 1:6] = 0.5 * rng.normal(size=(frequencies, 5))
    sketch = 0.3 * rng.normal(size=(8, 8 + 2 * frequencies)).astype(np.float32)
    sketch[:, 6:8] = 0.0
    sketch[7] = 0.0
    code = np.array([np.nan, np.nan, np.nan, 1.0, 2.0])
    X = np.column_stack([3.0 + rng.normal(size=(75, 2)), rng.integers(0, 3, 75)])
    recipe = (np.array([0, 1, 2, 2, 2]), code, rng.normal(size=5), rng.uniform(0.5, 2.0, 5))
    rest, weights = np.array([0.2, 0.8, 0.05]), np.array([0.7, 0.6 if trees else 0.0])
    return (
        X,
        (recipe, turns, sketch, rng.uniform(0.1, 1.0, 6), rest, weights, trees),
        rng.uniform(0.0, max(trees, 1), 75),
    )


def gauged(X, table, total):
    F = np.zeros(table[2].shape[1] * _look.ROWS, dtype=np.float32)
    F[: _look.ROWS] = 1.0
    u, sums = np.empty(len(table[2]) * _look.ROWS, dtype=np.float32), np.empty((2, _look.ROWS))
    log_odds, score = np.empty(len(X)), np.empty(len(X))
    _look.gauge(X, *table, total, (F, u, *sums), log_odds, score)
    return log_odds, score


@pytest.mark.parametrize("frequencies", [0, 4, 20])
@pytest.mark.parametrize("trees", [0, 100])
def test_a_gauge_agrees_with_its_twin(frequencies, trees):
    X, table, total = _case(np.random.default_rng(frequencies + trees), frequencies, trees)
    for found, want in zip(gauged(X, table, total), naive.gauge(X, *table, total), strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-5, atol=2e-5)


def test_a_gauge_does_not_depend_on_the_block():
    X, table, total = _case(np.random.default_rng(3), 20, 100)
    whole = gauged(X, table, total)
    for size in (1, 7, 32, 33):
        parts = [gauged(X[k : k + size], table, total[k : k + size]) for k in range(0, len(X), size)]
        for one, cut in zip(whole, zip(*parts, strict=True), strict=True):
            np.testing.assert_array_equal(one, np.concatenate(cut))
