"""Strata of a pool that grew: rows that came together are one stratum, and later rounds alone could ask for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unskew.errors import InputError
from unskew.rows import Bools, Ints


class Part(NamedTuple):
    """Rows that came to a pool together: their number, and the number of rounds that were planned before."""

    rows: int
    since: int = 0


@dataclass(frozen=True, eq=False)
class Strata:
    """Which rows of a pool came when.

    The total of the pool is the sum of the totals of its strata. Each is estimated by the rounds that could ask for
    its rows, so new rows may differ from old ones as much as they like (E4 of docs/theory.md).

    Parameters
    ----------
    parts : sequence of Part
        The rows that came together, in the order in which they came. The first rows were there from the beginning.
    of : array of int, one value for each row that is held
        The number of the part to which the row belongs, from 0.

    Examples
    --------
    >>> grown = Strata.at([Part(4), Part(2, since=1)], np.arange(6))
    >>> grown.of.tolist(), grown.sizes(3).tolist(), grown.epochs(3).tolist()
    ([0, 0, 0, 0, 1, 1], [4, 6, 6], [1, 2, 2])
    """

    parts: tuple[Part, ...]
    of: Ints

    def __post_init__(self) -> None:
        since = [part.since for part in self.parts]
        if not since or since[0] != 0 or since != sorted(since):
            raise InputError(f"since must begin with 0 and never fall; got {since}. List parts in the order they came.")

    @classmethod
    def at(cls, parts: Sequence[Part], places: Ints) -> "Strata":
        """The strata of rows at these places of the pool, where rows of later parts follow those of earlier ones."""
        ends = np.cumsum([part.rows for part in parts])
        return cls(tuple(parts), np.searchsorted(ends, places, side="right"))

    @property
    def n(self) -> int:
        """The number of all rows."""
        return sum(part.rows for part in self.parts)

    def sizes(self, rounds: int) -> Ints:
        """n_k of E4: the number of rows of the pool when round k was planned."""
        return np.array([sum(part.rows for part in self._there(k)) for k in range(rounds)], dtype=np.int64)

    def epochs(self, rounds: int) -> Ints:
        """The number of parts of the pool when round k was planned.

        Rounds of one epoch asked for rows of the same pool, so answers of one may stand for lost ones of another.
        """
        return np.array([len(self._there(k)) for k in range(rounds)], dtype=np.int64)

    def inside(self, stratum: int) -> Bools:
        """Which of the held rows belong to a stratum."""
        return np.asarray(self.of == stratum)

    def _there(self, k: int) -> list[Part]:
        return [part for part in self.parts if part.since <= k]
