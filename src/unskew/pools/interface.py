"""What a method needs to know of a pool, wherever its rows are kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from unskew.hashing import exponentials
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


class Some(NamedTuple):
    """Some rows of a pool: where they are, and their features."""

    places: Ints
    X: Rows


class Pool(ABC):
    """Rows that can be asked for."""

    _some: Some
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

    def sample(self, k: int, seed: int = 0) -> Ints:
        """The positions of k rows, an even sample: those with the least random numbers, in the order of these."""
        numbers = exponentials(seed, self.keys(np.arange(len(self))))
        first = np.argpartition(numbers, k - 1)[:k] if 0 < k < len(numbers) else np.arange(min(k, len(numbers)))
        return first[np.argsort(numbers[first], kind="stable")]

    def some(self, k: int) -> Some:
        """An even sample of k rows with their features, always the same; it is kept."""
        if not hasattr(self, "_some") or len(self._some.places) != min(k, len(self)):
            places = self.sample(k)
            self._some = Some(places, self.features(places))
        return self._some
