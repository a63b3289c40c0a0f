"""A quick look at very many rows: their log-odds, and about how much the label of each would settle.

A `Screen` is what is left of a fitted model when only these two numbers are wanted. It is a few plain arrays, which
compiled loops read, and is small enough to be sent to other processes. What it says about a row depends on that row
alone, to the last bit: not on the rows around it, nor on who asks.

What takes long about a row is the variance of its margin, s^2 = |u|^2, because u has as many entries as there are
features. The screen keeps only the 32 directions in which some thousand rows of the pool, the aims, differ most. For
the rest it takes the mean over the aims. The matrix M of what is at stake (`unskew.models.belief`) is made diagonal
within these directions.
"""

from typing import Any

import numpy as np

from unskew.models.belief import Some, at_stake
from unskew.models.features import Recipe
from unskew.models.laplace import Posterior
from unskew.models.trees import Trees
from unskew.rows import Floats, Ints

DIRECTIONS = 32
"""More directions of the posterior take longer, and change little."""


class Screen:
    """The log-odds of rows and what their labels would settle, for blocks of rows that may come in any order and size.

    Made by `Team.screen` and `BayesianLogistic.screen`.

    Parameters
    ----------
    recipe : Recipe
        How features are made of columns.
    posterior : Posterior
        The coefficients of the features.
    mu, U : arrays
        The margins of the aims, less the threshold, and their roots.
    weights : two floats
        The weights of the logistic regression and of the trees.
    trees : Trees, optional

    Attributes
    ----------
    stake : array
        The matrix M in full, for an exact choice among the best candidates.
    """

    def __init__(
        self,
        recipe: Recipe,
        posterior: Posterior,
        mu: Some,
        U: Some,
        weights: tuple[float, float] = (1.0, 0.0),
        trees: Trees | None = None,
    ) -> None:
        self.stake = at_stake(mu, U)
        V, shares, rest = _sketch(U.astype(np.float64), self.stake)
        rows = np.vstack([posterior.mode, V.T @ posterior.inverse_root()])
        self._recipe = (recipe.column, recipe.code, recipe.mean, 1.0 / recipe.spread)
        self._products = _padded(recipe, rows)
        self._sketch = (shares, rest, np.array(weights))
        self._trees = _packed(trees) if trees is not None and weights[1] else None

    def __call__(self, X: Floats) -> tuple[Floats, Floats]:
        """The log-odds of dense rows, and the score by which candidates are kept: both one number for each row."""
        from unskew import _look  # compiled loops take a moment to import

        X = np.require(X, np.float64, ["C", "W"])  # other arrays would be compiled for once more
        turns, sketch = self._products
        log_odds, score, total = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
        count = 0
        if self._trees is not None:
            single, said = np.empty(X.shape[1] * _look.FELLOWS, dtype=np.float32), np.empty(_look.FELLOWS)
            _look.votes(X, *self._trees, single.view(np.int32), single, said, total)
            count = len(self._trees[0]) - 1
        F = np.zeros(sketch.shape[1] * _look.ROWS, dtype=np.float32)
        F[: _look.ROWS] = 1.0
        u = np.empty(len(sketch) * _look.ROWS, dtype=np.float32)
        _look.gauge(X, *self._recipe, turns, sketch, *self._sketch, count, total, F, u, log_odds, score)
        return log_odds, score


def _sketch(U: Floats, M: Floats) -> tuple[Floats, Floats, Floats]:
    """Directions in which rows U differ most, M in these, and what is left out of the variance and of u'Mu."""
    spread = U.T @ U / len(U)
    V = np.linalg.eigh(spread)[1][:, ::-1][:, :DIRECTIONS]
    shares, turned = np.linalg.eigh(V.T @ M @ V)
    V = V @ turned
    kept = np.einsum("ij,ij->j", V, spread @ V)
    rest = np.trace(spread) - kept.sum(), np.sum(spread * M) - kept @ shares
    return V, shares, np.maximum(rest, 0.0)


def _padded(recipe: Recipe, rows: Floats) -> tuple[Any, Any]:
    """What makes angles of columns, and what makes margin and coordinates of all features, as the loops want them.

    That is with an even number of rows, and a multiple of four columns, in single precision.
    """
    linear, frequencies = recipe.directions.shape
    plain, angles = _up(1 + linear, 4), _up(frequencies, 4)
    turns = np.zeros((angles, plain), dtype=np.float32)
    turns[:frequencies, 1 : 1 + linear] = recipe.directions.T
    sketch = np.zeros((_up(len(rows), 2), plain + 2 * angles), dtype=np.float32)
    here, half = sketch[: len(rows)], 1 + linear + frequencies
    here[:, 0] = rows[:, 0]
    here[:, 1 : 1 + linear] = rows[:, 1 : 1 + linear] / np.sqrt(linear)
    if frequencies:
        here[:, plain : plain + frequencies] = rows[:, 1 + linear : half] / np.sqrt(frequencies)
        here[:, plain + angles : plain + angles + frequencies] = rows[:, half:] / np.sqrt(frequencies)
    return turns, sketch


def _up(n: int, step: int) -> int:
    """The least multiple of the step that is at least n."""
    return -(-n // step) * step


def _packed(trees: Trees) -> tuple[Ints, Any, Floats]:
    """Where each tree starts, its nodes as one number each, and what they say, as `unskew._look.votes` reads them."""
    from unskew import _look

    start, nodes, values = [0], [], []
    for tree in trees.trees:
        inner = np.flatnonzero(tree.children_left >= 0)
        place, first = np.zeros(tree.node_count, dtype=np.int64), 1 + 2 * np.arange(len(inner))
        place[tree.children_left[inner]], place[tree.children_right[inner]] = first, first + 1
        child, column, threshold = place.copy(), np.full(len(place), int(_look.LEAF)), np.full(len(place), 2**31 - 1)
        child[inner], column[inner] = first, tree.feature[inner] * _look.FELLOWS
        threshold[inner] = _ordered(tree.threshold[inner])
        node, value = np.empty(len(place), dtype=np.int64), np.empty(len(place))
        node[place] = (threshold << int(_look.THRESHOLD)) | (child << int(_look.CHILD)) | column
        value[place] = tree.value[:, 0, 0]
        start.append(start[-1] + len(place))
        nodes.append(node)
        values.append(value)
    return np.array(start), np.concatenate(nodes).view(np.uint64), np.concatenate(values)


def _ordered(threshold: Floats) -> Ints:
    """Whole numbers in the order of the largest single-precision numbers that do not exceed the thresholds.

    >>> _ordered(np.array([-1.0, -0.0, 0.0, 1.0, 1.0 + 1e-12])).tolist()
    [-1065353217, 0, 0, 1065353216, 1065353216]
    """
    single = threshold.astype(np.float32)
    single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single) + np.float32(0.0)
    bits = single.view(np.int32)
    return np.asarray(bits ^ ((bits >> 31) & 0x7FFFFFFF), dtype=np.int64)
