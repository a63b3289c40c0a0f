"""Features for a Bayesian logistic model: standardised columns, and random Fourier features of them."""

from typing import NamedTuple

import numpy as np
from sklearn.random_projection import SparseRandomProjection

from unskew.rows import Blocks, Floats, Ints, Rows

WIDE = 400
"""Rows with more columns are first projected to this number of columns: the model's cost is cubic in it."""

TINY = 1e-12

COUNTS_AS = 4.0
"""The number of other columns that weigh as much as a block, however many columns it has."""

LOOK_AT = 1_000
"""If the first rows already show too many values of a column, its other rows are not looked at."""


class Recipe(NamedTuple):
    """How features are made of columns, in plain arrays."""

    column: Ints
    """The column that each feature of the linear block comes from."""
    code: Floats
    """The value of the column that the feature tells from the others, or NaN if it is the column itself."""
    mean: Floats
    spread: Floats
    directions: Floats
    """What makes the angles of the Fourier block of the standardised columns: one column for each frequency."""


class Features:
    """A linear block and a Fourier block, both scaled so that a prior of unit variance gives margins of about 1.

    The linear block is the standardised columns over sqrt(d). The Fourier block, cos and sin of random
    projections over sqrt(D), approximates a Gaussian kernel of width `scale` times the median distance
    between rows (Rahimi and Recht 2007). Means, deviations and the median come from the rows X, which need no
    labels; with weights v, each row counts as v rows.

    A column with at least 3 and at most `few` different values may hold codes rather than amounts. So it is followed by
    one more column for each value, which tells the rows with that value from the others, as long as there are no more
    than 400 columns in all.

    A block is some neighbouring columns, from a first to before an end, whose scales compare: the numbers made of a
    text, or a vector. They are divided by one number, so that those that tell little stay small, and a block weighs as
    much as 4 other columns.

    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> features = Features(X, frequencies=4, rng=np.random.default_rng(1))
    >>> features(X, scale=1.0).shape, features(X).shape
    ((50, 12), (50, 4))
    """

    def __init__(
        self,
        X: Rows,
        v: Floats | None = None,
        *,
        frequencies: int = 100,
        few: int = 0,
        blocks: Blocks = (),
        rng: np.random.Generator,
    ) -> None:
        self._project: SparseRandomProjection | None = None
        if X.shape[1] > WIDE:
            seed = int(rng.integers(2**31))
            self._project = SparseRandomProjection(WIDE, dense_output=True, random_state=seed).fit(X)
        rows = self.columns(X)
        self._codes = _codes(rows, few)
        rows = self._with_indicators(rows)
        if v is None:
            self._mean, spread = rows.mean(axis=0), rows.std(axis=0)
        else:
            self._mean = np.average(rows, axis=0, weights=v)
            spread = np.sqrt(np.average((rows - self._mean) ** 2, axis=0, weights=v))
        self._spread = np.where(spread > 1e-9 * (1.0 + np.abs(self._mean)), spread, 1.0)
        if blocks and self._project is None:
            self._spread = _of_blocks(self._spread, spread, blocks)
        Z = (rows - self._mean) / self._spread
        i, j = rng.integers(len(Z), size=(2, 500))
        if v is not None:  # in proportion to the weights; equal weights leave i and j as they are
            upto = np.cumsum(v) / v.sum()
            i, j = (np.minimum(np.searchsorted(upto, (at + 0.5) / len(Z)), len(Z) - 1) for at in (i, j))
        distance = np.sqrt(((Z[i] - Z[j]) ** 2).sum(axis=1))
        apart = distance[distance > 0.0]
        self.median = float(np.median(apart)) if apart.size else 1.0
        self._directions = rng.standard_normal((Z.shape[1], frequencies))

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of columns of the linear block and of the Fourier block."""
        return len(self._mean), 2 * self._directions.shape[1]

    def __call__(self, X: Rows, scale: float | None = None, *, single: bool = False) -> Floats:
        """A constant 1, the linear block and, given a scale, the Fourier block; in double or `single` precision."""
        kind = np.float32 if single else np.float64
        rows = self._with_indicators(self.columns(X))
        Z = ((rows - self._mean) / self._spread).astype(kind, copy=False)
        linear, fourier = self.sizes if scale is not None else (self.sizes[0], 0)
        F = np.empty((len(Z), 1 + linear + fourier), dtype=kind)
        F[:, 0] = 1.0
        np.divide(Z, kind(np.sqrt(linear)), out=F[:, 1 : 1 + linear])
        if scale is not None:
            angle = Z @ (self._directions / (self.median * scale)).astype(kind, copy=False)
            half = 1 + linear + fourier // 2
            np.cos(angle, out=F[:, 1 + linear : half])
            np.sin(angle, out=F[:, half:])
            F[:, 1 + linear :] /= kind(np.sqrt(fourier // 2))
        return F

    def recipe(self, scale: float | None = None) -> Recipe | None:
        """The same features in plain arrays; None if there are so many columns that they are projected first."""
        if self._project is not None:
            return None
        own = len(self._mean) - sum(len(values) for _, values in self._codes)
        column = np.concatenate([np.arange(own), *(np.full(len(values), j) for j, values in self._codes)])
        code = np.concatenate([np.full(own, np.nan), *(values for _, values in self._codes)])
        directions = self._directions[:, :0] if scale is None else self._directions / (self.median * scale)
        return Recipe(column, code, self._mean, self._spread, directions)

    def columns(self, X: Rows) -> Floats:
        """The rows' own columns as a dense array, projected if there are too many."""
        if self._project is not None:  # which refuses to project no rows at all
            X = self._project.transform(X) if X.shape[0] else np.empty((0, WIDE))
        return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())

    def _with_indicators(self, rows: Floats) -> Floats:
        marks = [rows[:, j, None] == values for j, values in self._codes]
        return np.column_stack([rows, *marks]) if marks else rows


def _of_blocks(each: Floats, spread: Floats, blocks: Blocks) -> Floats:
    """What columns are divided by, given what `each` would be by itself; the mean of their variances stays 1.

    >>> _of_blocks(np.array([4.0, 0.3, 0.4]), np.array([4.0, 0.3, 0.4]), [(1, 3)]).round(4).tolist()
    [5.164, 0.3227, 0.3227]
    """
    divided, weight = each.copy(), np.ones(len(each))
    for start, end in blocks:
        divided[start:end] = np.sqrt(max(np.sum(spread[start:end] ** 2) / COUNTS_AS, TINY))
        weight[start:end] = COUNTS_AS / (end - start)
    return np.asarray(divided * np.sqrt(weight.sum() / len(each)))


def _codes(rows: Floats, few: int) -> list[tuple[int, Floats]]:
    """The columns with at least 3 and at most `few` different values, and these values.

    >>> _codes(np.array([[0.5, 1.0, 2.0], [1.5, 1.0, 3.0], [2.5, 0.0, 5.0], [3.5, 0.0, 2.0]]), 3)
    [(2, array([2., 3., 5.]))]
    """
    found, room = [], WIDE - rows.shape[1]
    for j in range(rows.shape[1]):
        if len(np.unique(rows[:LOOK_AT, j])) <= few and 3 <= len(values := np.unique(rows[:, j])) <= min(few, room):
            found.append((j, values))
            room -= len(values)
    return found
