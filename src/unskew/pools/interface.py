"""What a method needs to know of a pool, wherever its rows are kept."""

from abc import ABC, abstractmethod
from typing import Any

from unskew.rows import Ints, Rows, take


class Pool(ABC):
    """Rows that can be asked for."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def X(self) -> Rows:
        """The features of every row."""

    def features(self, positions: Ints) -> Rows:
        """The features of the rows at these positions."""
        return take(self.X, positions)

    def values(self, position: int) -> Any:
        """One row as its owner knows it; an array of its features unless the pool knows better."""
        row = self.X[[position]]
        return row.toarray()[0] if hasattr(row, "toarray") else row[0]
