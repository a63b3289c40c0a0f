"""What a method needs to know of a pool, wherever its rows are kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from unskew.pools.scanning import Progress
from unskew.rows import Ints, Keys, Rows

T = TypeVar("T")


class Block(NamedTuple):
    """Some rows of a pool that are looked at together, in a scan."""

    places: Ints
    """Their positions in the pool."""
    keys: Keys
    """What their randomness is made from (`Pool.keys`)."""
    X: Rows


class Pool(ABC):
    """Rows that can be asked for."""

    progress: Progress | None = None
    """Is told during a scan how many rows have been looked at, and how many there are: to show a bar."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def features(self, positions: Ints) -> Rows:
        """The features of the rows at these positions."""

    @abstractmethod
    def values(self, position: int) -> Any:
        """One row as its owner knows it; an array of its features unless the pool knows better."""

    @abstractmethod
    def scan(self, visit: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Look at every row once: `visit` turns a block of rows into a summary, and `merge` makes one of two.

        Blocks may be visited in any order, at the same time, and in other processes. So `visit` and `merge` must not
        depend on how the rows are cut into blocks: what they make of all rows is to be the same, to the last bit.
        """

    def keys(self, positions: Ints) -> Keys:
        """What the randomness of rows is made from: their positions, unless the pool knows their ids."""
        return np.asarray(positions).astype(np.uint64)
