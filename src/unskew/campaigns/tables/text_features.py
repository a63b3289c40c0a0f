"""A column of texts as a block of numbers: TF-IDF of words and pieces of words, and a truncated SVD of it.

Both are learned from texts alone, without labels. Texts with words in common, or with words that occur in the same
texts, get similar numbers (latent semantic analysis, Deerwester et al. 1990).
"""

from itertools import pairwise
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from unskew.campaigns.tables.grams import PLACES, cleaned, counts, place_of
from unskew.rows import Floats, Ints

DIMENSIONS = 128
"""Numbers for each text, at most."""

FITTED_ROWS = 5_000
"""Texts that the SVD is fitted to, at most; they are drawn at random, the same each time."""

MOST, LEAST = (10_000, 10_000), (2, 3)
"""Words and pieces with a weight: at most these numbers, the commonest, each in at least so many texts."""

AT_ONCE = 500_000
"""Characters counted at a time: few enough for a hundred megabytes."""

NAMED_BY, COMMON_WORDS = 3, 2_000
"""A feature is named by this number of words, which are among so many common ones."""

WORD = r"[\p{L}\p{M}\p{N}_]+"


class TextFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Texts as rows of a few numbers, whose scales say how much of the texts each of them tells.

    An empty or missing text is a row of zeros, and so is one that shares nothing with the texts that were learned from.

    Parameters
    ----------
    dimensions : int
        The number of columns, at most.

    Attributes
    ----------
    names_ : list of str
        Each column, by the common words that move it most.

    Examples
    --------
    >>> texts = pl.DataFrame({"note": ["refund please", "a refund", "great product", "a great, great product"] * 5})
    >>> block = TextFeatures(2).fit_transform(texts)
    >>> block.shape, bool(block[0] @ block[1] > block[0] @ block[2])
    ((20, 2), True)
    """

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.dimensions = dimensions

    def fit(self, X: pl.DataFrame, y: Any = None) -> Self:
        """Learn from a frame with one column of texts."""
        column = X.to_series()
        if len(column) > FITTED_ROWS:
            some = np.random.default_rng(0).choice(len(column), FITTED_ROWS, replace=False)
            column = column[np.sort(some)]
        texts = cleaned(column)
        counted = sparse.vstack([counts(texts[start:end]) for start, end in _parts(texts)], format="csr")
        self._weigh(np.bincount(counted.indices, minlength=2 * PLACES), len(texts))
        weighted = self._weighted(counted)
        size = min(self.dimensions, min(weighted.shape) - 1)
        self.components_ = np.zeros((weighted.shape[1], max(size, 0)), dtype=np.float32)
        if size > 0:
            with threadpool_limits(1):  # sums in one order, whatever the number of cores
                self.components_[:] = randomized_svd(weighted, size, n_iter=4, random_state=0)[2].T
        self.names_ = self._named(texts, column.name)
        return self

    def _weigh(self, occurs_in: Ints, texts: int) -> None:
        """Choose what is counted, and how much each counts: the rarer, the more."""
        self.column_ = np.full(2 * PLACES, -1, dtype=np.int32)
        weights: list[Floats] = []
        for first, most, least in zip((0, PLACES), MOST, LEAST, strict=True):
            many = occurs_in[first : first + PLACES]
            common = np.argsort(-many, kind="stable")[:most]
            kept = np.sort(common[many[common] >= least])
            self.column_[first + kept] = sum(len(part) for part in weights) + np.arange(len(kept))
            weights.append(np.log((1.0 + texts) / (1.0 + many[kept])) + 1.0)
        self.words_, self.weight_ = len(weights[0]), np.concatenate(weights)

    def _weighted(self, counted: sparse.csr_array) -> sparse.csr_array:
        """TF-IDF with logarithmic counts. Words together have length 1, and so have pieces."""
        column = self.column_[counted.indices]
        known = column >= 0
        row = np.repeat(np.arange(counted.shape[0]), np.diff(counted.indptr))[known]
        column = column[known]
        value = (1.0 + np.log(counted.data[known])) * self.weight_[column]
        part = 2 * row + (column >= self.words_)
        value /= np.sqrt(np.bincount(part, value**2, minlength=2 * counted.shape[0]))[part]
        ends = np.cumsum(np.bincount(row, minlength=counted.shape[0]))
        shape = (counted.shape[0], len(self.weight_))
        return sparse.csr_array((value.astype(np.float32), column, np.append(0, ends)), shape=shape)

    def _named(self, texts: pl.Series, column: str) -> list[str]:
        words = texts.str.extract_all(WORD).list.unique().explode(empty_as_null=False).alias("word").value_counts()
        common = words.sort("count", "word", descending=[True, False])["word"][:COMMON_WORDS].to_list()
        places = self.column_[[place_of(word) for word in common]] if common else np.empty(0, dtype=np.int32)
        known = [word for word, place in zip(common, places, strict=True) if place >= 0]
        moved = np.abs(self.components_[places[places >= 0]])
        foremost = np.argsort(-moved, axis=0, kind="stable")[:NAMED_BY].T
        return [f"{column} {k + 1} ({', '.join(known[i] for i in some)})" for k, some in enumerate(foremost)]

    def transform(self, X: pl.DataFrame) -> Floats:
        """The block of a frame with one column of texts."""
        texts = cleaned(X.to_series())
        made = np.empty((len(texts), self.components_.shape[1]))
        for start, end in _parts(texts):
            made[start:end] = self._weighted(counts(texts[start:end])) @ self.components_
        return made

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.array(self.names_, dtype=object)


def _parts(texts: pl.Series) -> list[tuple[int, int]]:
    """Where to cut a column so that no part is much longer than `AT_ONCE`."""
    upto = texts.str.len_chars().to_numpy().cumsum() // AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(upto)) + 1).tolist(), len(texts)]
    return [(start, end) for start, end in pairwise(edges) if end > start]
