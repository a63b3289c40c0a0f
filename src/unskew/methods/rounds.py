"""Rounds: a round is a batch of rows, of a stream or of a pool, on its way through the loop."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InputError
from unskew.estimation.design import Picked
from unskew.rows import Bools, Floats, Ints, Rows, take
from unskew.sampling.draws import stand_for

CHOSEN, DRAWN = "chosen", "drawn"
"""Why a row is asked for: chosen to learn from it, or drawn at random with a known probability to measure the error."""

SHARE = 0.5
"""The share of the labels that is drawn, by default."""


def checked_share(drawn: float) -> float:
    """The share of the labels that is drawn at random, if it is one.

    >>> checked_share(0.25)
    0.25
    """
    if not 0.0 <= drawn <= 1.0:
        raise InputError(f"drawn must be in [0, 1]; got {drawn}. A good first value is {SHARE}.")
    return drawn


def checked_look(look: int) -> int:
    """The number of rows that a round considers, if it is one; 0 for all of them.

    >>> checked_look(100_000)
    100000
    """
    if isinstance(look, bool) or not isinstance(look, (int, np.integer)) or look < 0:
        raise InputError(f"look must be a whole number of rows, or 0 for all of them; got {look!r}. Try 50000.")
    return int(look)


class Bought(NamedTuple):
    """The rows of a round that were labelled: features, propensities, and labels +1.0 or -1.0."""

    X: Rows
    q0: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class StreamRound:
    """One batch of a stream.

    Attributes
    ----------
    X, q0 : one row and one propensity for each row of the batch
    y : array
        The labels that the current model infers; once the round is answered, queried rows have their true labels.
    queried : array of bool
        The rows whose labels are asked for.
    kept : array of bool
        The rows that are used for training at all, Q_k(x) = 1.
    p : array
        The probability with which each row was asked for, 0 where it could not have been.
    plan : object
        Whatever the method decides in `choose` and needs again in `learn`.
    """

    X: Rows
    q0: Floats
    y: Floats
    queried: Bools
    kept: Bools
    p: Floats
    plan: Any = None

    def answered(self, y: Floats) -> Self:
        """The same round, with the labels of its queried rows filled in."""
        labels = self.y.copy()
        labels[self.queried] = y
        return type(self)(self.X, self.q0, labels, self.queried, self.kept, self.p, self.plan)

    @property
    def labels(self) -> int:
        """The number of labels it buys."""
        return int(np.count_nonzero(self.queried))

    @property
    def bought(self) -> Bought:
        return Bought(take(self.X, self.queried), self.q0[self.queried], self.y[self.queried])


@dataclass(frozen=True, slots=True)
class PoolRound:
    """Rows of a pool that were asked for together.

    Attributes
    ----------
    positions : array of int
        Where the rows are in the pool.
    X, q0 : one row and one propensity for each
    p : array
        The probability with which each row was asked for: 1 if it was chosen; if it was drawn, its chance when its turn
        came (`unskew.sampling.draws`).
    drawn : array of bool
        Which rows were drawn at random, in the order of their turns.
    rest : int
        The number of rows from which they were drawn.
    spread : float
        The variance that one of the draws was expected to leave.
    y : array
        Labels, +1.0 or -1.0; 0 where the row was skipped or is not answered yet.
    """

    positions: Ints
    X: Rows
    q0: Floats
    p: Floats
    drawn: Bools
    rest: int
    spread: float
    y: Floats

    def answered(self, y: Floats) -> Self:
        """The same round with its labels filled in; 0 for a row that was skipped."""
        return replace(self, y=y)

    def picked(self) -> Picked:
        """The round as the estimates' design sees it."""
        known, drawn = self.known, self.drawn
        return Picked(
            self.positions[~drawn & known],
            self.positions[drawn & known],
            stand_for(self.p[drawn])[known[drawn]],
            int(np.count_nonzero(~drawn & ~known)),
            int(np.count_nonzero(drawn & ~known)),
            self.spread,
        )

    @property
    def known(self) -> Bools:
        """Which rows have a label."""
        return np.asarray(self.y != 0.0)

    @property
    def labels(self) -> int:
        """The number of labels it has bought."""
        return int(np.count_nonzero(self.y))

    @property
    def bought(self) -> Bought:
        known = self.known
        return Bought(take(self.X, known), self.q0[known], self.y[known])


class AskedRow(NamedTuple):
    """A row of the pool that is asked for."""

    position: int
    probability: float
    reason: str
    """``"chosen"`` or ``"drawn"``."""
    values: Any
    """The row as it is in the pool: a dict by column if the pool is a frame, otherwise an array."""


class Asked:
    """The rows that `ask` wants labels for: a sequence of `AskedRow`. As an array, it is their positions in the pool.

    `X[asked]` gives the rows of a NumPy array. Polars does not take it as an index; write `pool[asked.positions]`.

    >>> asked = Asked(np.array([7, 2]), np.array([1.0, 0.1]), np.array([False, True]), lambda position: position)
    >>> [(row.position, row.probability, row.reason) for row in asked]
    [(7, 1.0, 'chosen'), (2, 0.1, 'drawn')]
    >>> np.arange(10)[asked].tolist()
    [7, 2]
    """

    def __init__(self, positions: Ints, probability: Floats, drawn: Bools, values: Callable[[int], Any]) -> None:
        self.positions, self.probability, self.drawn, self._values = positions, probability, drawn, values

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, i: int) -> AskedRow: ...
    @overload
    def __getitem__(self, i: slice) -> "Asked": ...
    def __getitem__(self, i: int | slice) -> "AskedRow | Asked":
        if isinstance(i, slice):
            return Asked(self.positions[i], self.probability[i], self.drawn[i], self._values)
        position = int(self.positions[i])
        reason = DRAWN if self.drawn[i] else CHOSEN
        return AskedRow(position, float(self.probability[i]), reason, self._values(position))

    def __iter__(self) -> Iterator[AskedRow]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.positions, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        drawn = int(np.count_nonzero(self.drawn))
        return f"Asked({len(self) - drawn} chosen and {drawn} drawn rows at {self.positions.tolist()})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{row.position}</td><td>{row.reason}</td><td>{row.probability:.3g}</td>"
            f"<td>{escape(shown(row.values))}</td></tr>"
            for row in self
        )
        return f"<table><tr><th>position</th><th>reason</th><th>probability</th><th>row</th></tr>{rows}</table>"


def shown(values: Any) -> str:
    """A row as one short line of text.

    >>> shown({"income": 1.5, "region": "north"}), shown(np.array([0.25, 1.0]))
    ('income=1.5, region=north', '0.25, 1')
    """
    if isinstance(values, dict):
        return ", ".join(f"{name}={value}" for name, value in values.items())
    return ", ".join(f"{value:.4g}" for value in values[:8]) + (", ..." if len(values) > 8 else "")
