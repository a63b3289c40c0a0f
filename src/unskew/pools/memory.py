"""A pool in memory: an array, sparse rows, or a frame."""

from typing import Any

from unskew.rows import Ints, Rows, is_frame, take


class MemoryPool:
    """Rows that may be asked for, with their features in memory.

    Parameters
    ----------
    X : Rows
        The features of every row, already checked.
    given : array, sparse rows or frame, optional
        The pool as the user passed it, so that a row can be shown in its original form.

    Examples
    --------
    >>> import numpy as np
    >>> pool = MemoryPool(np.eye(3))
    >>> len(pool), pool.features(np.array([2])).tolist()
    (3, [[0.0, 0.0, 1.0]])
    """

    def __init__(self, X: Rows, given: Any = None) -> None:
        self.X = X
        self._given: Any = X if given is None else given

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def features(self, positions: Ints) -> Rows:
        """The features of the rows at these positions."""
        return take(self.X, positions)

    def values(self, position: int) -> Any:
        """One row as the user passed it: a dict by column for a frame, otherwise an array of its features."""
        if is_frame(self._given):
            polars = hasattr(self._given, "row")
            return self._given.row(position, named=True) if polars else self._given.iloc[position].to_dict()
        row = self.X[[position]]
        return row[0] if not hasattr(row, "toarray") else row.toarray()[0]
