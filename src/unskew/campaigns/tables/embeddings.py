"""A column of vectors of one length as a block of numbers; long vectors are projected to their principal components."""

from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from unskew.errors import InputError
from unskew.rows import Floats

FITTED_ROWS = 10_000
"""Vectors that the projection is fitted to, at most; they are drawn at random, the same each time."""


class Embedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Vectors as they are, or their principal components if they are longer than `dimensions`.

    A missing vector is the mean of the others.

    Examples
    --------
    >>> vectors = pl.DataFrame({"v": [[1.0, 0.0, 2.0], [3.0, 0.0, 6.0], None]}, schema={"v": pl.Array(pl.Float64, 3)})
    >>> Embedding(3).fit(vectors).transform(vectors).tolist()
    [[1.0, 0.0, 2.0], [3.0, 0.0, 6.0], [2.0, 0.0, 4.0]]
    >>> Embedding(1).fit(vectors).transform(vectors).round(3).tolist()
    [[-2.236], [2.236], [0.0]]
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    def fit(self, X: pl.DataFrame, y: Any = None) -> Self:
        """Learn from a frame with one column of vectors."""
        column = X.to_series()
        vectors = column.drop_nulls().to_numpy()
        self.mean_, self.name_ = vectors.mean(axis=0), column.name
        self.components_: Floats | None = None
        if len(self.mean_) > self.dimensions:
            if len(vectors) > FITTED_ROWS:
                vectors = vectors[np.random.default_rng(0).choice(len(vectors), FITTED_ROWS, replace=False)]
            size = min(self.dimensions, len(vectors) - 1)
            with threadpool_limits(1):  # sums in one order, whatever the number of cores
                found = PCA(size, svd_solver="covariance_eigh").fit(vectors)
            self.components_ = np.ascontiguousarray(found.components_.T)
        return self

    def transform(self, X: pl.DataFrame) -> Floats:
        """The block of a frame with one column of vectors."""
        column = X.to_series()
        vectors = np.tile(self.mean_, (len(column), 1))
        known = column.is_not_null().to_numpy()
        if known.any():
            found = column.drop_nulls().to_numpy()
            if found.shape[1] != len(self.mean_):
                raise InputError(
                    f"column {column.name!r} must hold vectors of {len(self.mean_)} numbers; got {found.shape[1]}. "
                    "Make them as those of the log."
                )
            vectors[known] = found
        if self.components_ is None:
            return vectors
        # A sparse product sums each row by itself: it is the same, to the last bit, alone and among others.
        return np.asarray(sparse.csr_array(vectors - self.mean_) @ self.components_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        size = len(self.mean_) if self.components_ is None else self.components_.shape[1]
        return np.array([f"{self.name_} {k + 1}" for k in range(size)], dtype=object)
