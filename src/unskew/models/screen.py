"""A quick look at very many rows: their log-odds, and about how much the label of each would settle.

A `Screen` is what is left of a fitted model when only these two numbers are wanted. It is a few plain arrays, which
compiled loops read, and is small enough to be sent to other processes. What it says about a row depends on that row
alone, to the last bit: not on the rows around it, nor on who asks.

What takes long about a row is the variance of its margin, s^2 = |u|^2, because u has as many entries as there are
features. The screen keeps only some directions of u, those that tell most about some thousand rows of the pool, the
aims. The rest of the variance is guessed from these, by a straight line through the aims. The rest of u'Mu, where M is
what is at stake (`unskew.models.belief`), is its mean over the aims.
"""

from typing import Any

import numpy as np
from scipy.linalg import eigh

from unskew.models.belief import TINY, Some, at_stake
from unskew.models.features import Recipe
from unskew.models.laplace import Posterior
from unskew.models.trees import Trees, votes
from unskew.rows import Floats

DIRECTIONS, PRODUCTS = 47, 11_000
"""Directions of the posterior that are kept: at least the first number, and as many as take the second number of
products a row. So up to 104 features nothing is left out."""

NOISE = 1e-10
"""A direction that tells less than this share of the foremost one is rounding: indicators of all values of a column add
up to the intercept, so that one direction of them has no variance."""

LINE = 64
"""The bytes of a cache line."""


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
        self._trees = trees.packed if trees is not None and weights[1] else None

    def __call__(self, X: Floats) -> tuple[Floats, Floats]:
        """The log-odds of dense rows, and the score by which candidates are kept: both one number for each row."""
        from unskew import _look  # compiled loops take a moment to import

        X = np.require(X, np.float64, ["C", "W"])  # other arrays would be compiled for once more
        log_odds, score, total = np.empty(len(X)), np.empty(len(X)), np.empty(len(X))
        trees = 0
        if self._trees is not None:
            total = votes(X, self._trees)
            trees = len(self._trees[0]) - 1
        coordinates, features = self._products[1].shape
        F, u = (_room(rows * _look.ROWS) for rows in (features, coordinates))
        F[: _look.ROWS] = 1.0
        scratch = (F, u, *np.empty((2, _look.ROWS)))
        _look.gauge(X, self._recipe, *self._products, *self._sketch, trees, total, scratch, log_odds, score)
        return log_odds, score


def _sketch(U: Floats, M: Floats) -> tuple[Floats, Floats, Floats]:
    """Directions V, the shares of M in them, and the rest: s^2 is about a + b |V'u|^2, and u'Mu lacks c.

    The rows U have second moments G. Directions are chosen for x = G^(-1/2) u, which has none that it prefers: those E
    that tell most of the means of s^2 and of u'Mu together. Given E'x, the best guess of u is G^(1/2) E E'x. Within V,
    which spans the same, s^2 of this guess is a plain sum of squares, and its u'Mu a weighted one.
    """
    values, vectors = np.linalg.eigh(U.T @ U / len(U))
    half = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    spread, staked = half @ half, half @ M @ half
    both = np.eye(len(M)) / np.trace(spread) + M / max(np.trace(staked), TINY)
    found, E = np.linalg.eigh(half @ both @ half)
    keep = np.flatnonzero(found > max(TINY, NOISE * found[-1]))[::-1][: max(DIRECTIONS, PRODUCTS // len(M))]
    E = E[:, keep]
    own = E.T @ spread @ E
    shares, turned = eigh(E.T @ staked @ E, own)
    V = both @ half @ (E / found[keep]) @ own @ turned  # E' G^(-1/2) without its inverse
    seen = np.einsum("ij,ij->i", U @ V, U @ V)
    line = np.column_stack([np.ones(len(U)), seen])
    a, b = np.linalg.lstsq(line, np.einsum("ij,ij->i", U, U), rcond=None)[0]
    return V, shares, np.array([a, b, max(np.trace(staked) - np.sum(E * (staked @ E)), 0.0)])


def _padded(recipe: Recipe, rows: Floats) -> tuple[Any, Any]:
    """What makes angles of columns, and what makes margin and coordinates of all features, as the loops want them.

    That is with a multiple of four rows, and an even number of columns, in single precision.
    """
    linear, frequencies = recipe.directions.shape
    plain, angles = _up(1 + linear, 2), _up(frequencies, 4)
    turns = np.zeros((angles, plain), dtype=np.float32)
    turns[:frequencies, 1 : 1 + linear] = recipe.directions.T
    sketch = np.zeros((_up(len(rows), 4), plain + 2 * angles), dtype=np.float32)
    here, half = sketch[: len(rows)], 1 + linear + frequencies
    here[:, 0] = rows[:, 0]
    here[:, 1 : 1 + linear] = rows[:, 1 : 1 + linear] / np.sqrt(linear)
    if frequencies:
        here[:, plain : plain + frequencies] = rows[:, 1 + linear : half] / np.sqrt(frequencies)
        here[:, plain + angles : plain + angles + frequencies] = rows[:, half:] / np.sqrt(frequencies)
    return turns, sketch


def _room(n: int) -> Any:
    """That many zeros in single precision, from the start of a cache line on: loops are slower across lines."""
    zeros = np.zeros(n + LINE // 4, dtype=np.float32)
    first = -zeros.ctypes.data % LINE // 4
    return zeros[first : first + n]


def _up(n: int, step: int) -> int:
    """The least multiple of the step that is at least n."""
    return -(-n // step) * step
