"""A pool in memory: an array, sparse rows, or a frame."""

from typing import Any

from unskew.pools.interface import Pool
from unskew.rows import Rows, is_frame


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
    >>> import numpy as np
    >>> pool = MemoryPool(np.eye(3))
    >>> len(pool), pool.features(np.array([2])).tolist()
    (3, [[0.0, 0.0, 1.0]])
    """

    def __init__(self, X: Rows, given: Any = None) -> None:
        self._X, self._given = X, given

    def __len__(self) -> int:
        return int(self._X.shape[0])

    @property
    def X(self) -> Rows:
        return self._X

    def values(self, position: int) -> Any:
        if not is_frame(self._given):
            return super().values(position)
        polars = hasattr(self._given, "row")
        return self._given.row(position, named=True) if polars else self._given.iloc[position].to_dict()
