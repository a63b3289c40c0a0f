"""A pool in memory: an array, sparse rows, or a frame."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from unskew.pools.interface import Block, Pool
from unskew.pools.scanning import BLOCK, spread
from unskew.rows import Ints, Rows, is_frame, take

T = TypeVar("T")


class MemoryPool(Pool):
    """Rows that can be asked for, with their features in memory.

    Parameters
    ----------
    X : Rows
        The features of every row, already checked.
    given : array, sparse rows or frame, optional
        The pool as the user passed it. A row of a frame is shown as a dict by column.

    Examples
    --------
    >>> pool = MemoryPool(np.eye(3))
    >>> len(pool), pool.features(np.array([2])).tolist()
    (3, [[0.0, 0.0, 1.0]])
    >>> pool.scan(lambda block: len(block.places), int.__add__)
    3
    """

    def __init__(self, X: Rows, given: Any = None) -> None:
        self._X, self._given = X, given

    def __len__(self) -> int:
        return int(self._X.shape[0])

    @property
    def X(self) -> Rows:
        """The features of every row."""
        return self._X

    def features(self, positions: Ints) -> Rows:
        return take(self.X, positions)

    def values(self, position: int) -> Any:
        if not is_frame(self._given):
            row = self.X[[position]]
            return row.toarray()[0] if hasattr(row, "toarray") else row[0]
        polars = hasattr(self._given, "row")
        return self._given.row(position, named=True) if polars else self._given.iloc[position].to_dict()

    def scan(self, visit: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        X, n = self.X, len(self)
        places = (np.arange(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))
        blocks = ((len(some), Block(some, self.keys(some), X[some[0] : some[-1] + 1])) for some in places)
        return spread(visit, blocks, merge, n, self.progress)
