"""The sampling design: with what probability each row was labelled, and therefore how much each label counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unskew.errors import InputError, NoRandomLabel
from unskew.rows import Bools, Floats, Ints


class Picked(NamedTuple):
    """The rows that a round on a pool picked: positions of the chosen rows, and of those drawn at random from the rest.

    Both hold answered rows only. `chosen_lost` and `drawn_lost` are the numbers of rows that were asked for but have no
    answer: they were skipped, or are not answered yet. Whether a row is lost must not depend on its label. Then the
    answered rows of a round can stand for all the rows it asked for.
    """

    chosen: Ints
    drawn: Ints
    chosen_lost: int = 0
    drawn_lost: int = 0


class StandIn(NamedTuple):
    """Answered rows, and the number of asked rows that each of them stands for."""

    rows: Ints
    each: float


def _stands(answered: list[Ints], lost: list[int]) -> list[StandIn]:
    """For each round, the answered rows that stand for all rows it asked: its own, or those of the nearest round.

    Rounds differ in the rows they choose and in how many of them are lost. So a round uses the answers of another one
    only if it has none itself.

    >>> [(s.rows.tolist(), s.each) for s in _stands([np.array([4, 7]), np.array([], dtype=int)], [1, 3])]
    [([4, 7], 1.5), ([4, 7], 1.5)]
    """
    some = [k for k, rows in enumerate(answered) if len(rows)]
    found = []
    for k, own in enumerate(answered):
        rows = own if len(own) else answered[min(some, key=lambda j: abs(j - k), default=k)]
        found.append(StandIn(rows, (len(own) + lost[k]) / max(len(rows), 1)))
    return found


@dataclass(frozen=True, eq=False)
class Design:
    """The sampling design: m log rows with `z` and `q0`, then n pool rows labelled in `rounds`.

    >>> design = Design(np.array([True, False]), np.array([0.5, 0.5]), 4, (Picked(np.array([3]), np.array([0])),))
    >>> design.labelled.tolist(), design.rest.tolist()
    ([True, False, True, False, False, True], [3])
    """

    z: Bools
    q0: Floats
    n: int = 0
    rounds: tuple[Picked, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "z", np.asarray(self.z, dtype=bool))
        object.__setattr__(self, "q0", np.asarray(self.q0, dtype=np.float64))
        if self.z.shape != self.q0.shape:
            raise InputError(
                f"z and q0 must have one value per row; got shapes {self.z.shape}, {self.q0.shape}. Align them."
            )
        asked = np.concatenate([*(np.concatenate(r[:2]) for r in self.rounds), np.zeros(0, dtype=np.int64)])
        if len(np.unique(asked)) != len(asked):
            raise InputError("a pool row can be labelled once; got a position twice. Use positions in the whole pool.")
        if len(asked) and not 0 <= asked.min() <= asked.max() < self.n:
            raise InputError(f"positions must be in 0 to {self.n - 1}; got {asked.min()} to {asked.max()}. Check n.")

    @property
    def m(self) -> int:
        return len(self.z)

    @cached_property
    def labelled(self) -> Bools:
        """Which of the m + n rows have a label."""
        mask = np.zeros(self.m + self.n, dtype=bool)
        mask[: self.m] = self.z
        for r in self.rounds:
            mask[self.m + np.concatenate(r[:2])] = True
        return mask

    @cached_property
    def rest(self) -> Ints:
        """r_k: the number of rows that the drawn rows of round k stand for, that is, the rows they were drawn from.

        As long as no chosen row has been answered in any round, no row can stand for the chosen ones. Until then they
        count as not chosen.
        """
        chosen = np.array([len(r.chosen) + r.chosen_lost for r in self.rounds], dtype=np.int64)
        chosen *= any(len(r.chosen) for r in self.rounds)
        drawn = np.array([len(r.drawn) + r.drawn_lost for r in self.rounds], dtype=np.int64)
        return self.n - np.cumsum(chosen) - np.cumsum(drawn) + drawn

    @cached_property
    def drawn(self) -> Ints:
        """Positions in the pool of all drawn rows, in the order of the rounds."""
        return np.concatenate([r.drawn for r in self.rounds]) if self.rounds else np.zeros(0, dtype=np.int64)

    @cached_property
    def rest_of_drawn(self) -> Floats:
        """r_k of every drawn row."""
        return np.repeat(self.rest, [len(r.drawn) for r in self.rounds]).astype(np.float64)

    @cached_property
    def log_size(self) -> float:
        """Effective sample size of the log: the equivalent number of uniformly drawn labels, m / mean of 1/q0.

        It is 0 if the log reveals no label.
        """
        return self.m / float(np.mean(1.0 / self.q0)) if self.z.any() else 0.0

    @cached_property
    def pool_size(self) -> float:
        """Effective sample size of the pool: 1 / (mean of (r_k/n)^2 over A drawn rows / A + 1/n)."""
        A = len(self.drawn)
        if self.n and self.labelled[self.m :].all():
            return float(self.n)
        return 1.0 / (float(np.mean((self.rest_of_drawn / self.n) ** 2)) / A + 1.0 / self.n) if A else 0.0

    def shares(self, *, pool: bool) -> tuple[float, float]:
        """c: how much log and pool count, in proportion to their effective sample sizes.

        The sizes depend on the design alone. Inverse estimated variances would favour whichever source happened to show
        few losses: the value would be too low and the interval too narrow.
        """
        sizes = np.array([self.log_size, self.pool_size if pool else 0.0])
        if not sizes.sum() > 0.0:
            where = (
                "revealed in the log or drawn from the pool" if pool else "revealed in the log, the only source of 'is'"
            )
            raise NoRandomLabel(
                f"an estimate needs labels drawn at random; got 0 {where}. Set drawn= above 0, and answer drawn rows."
            )
        c = sizes / sizes.sum()
        return float(c[0]), float(c[1])

    def standing(self) -> Iterator[tuple[StandIn, StandIn]]:
        """For each round, the rows that stand for those it chose and for those it drew (`_stands`)."""
        chosen = _stands([r.chosen for r in self.rounds], [r.chosen_lost for r in self.rounds])
        drawn = _stands([r.drawn for r in self.rounds], [r.drawn_lost for r in self.rounds])
        return zip(chosen, drawn, strict=True)

    @cached_property
    def pool_weights(self) -> Floats:
        """The weight of every pool row in the mean of T_k / n (`omega`)."""
        if self.labelled[self.m :].all():
            return np.full(self.n, 1.0 / self.n)
        w = np.zeros(self.n)
        A = after = len(self.drawn)  # after / A: the share of T_k, T_k+1, ... in the mean
        for r, r_k, (chosen, drawn) in zip(self.rounds, self.rest, self.standing(), strict=True):
            w[chosen.rows] += chosen.each * after
            w[r.drawn] += r_k
            after -= len(r.drawn)
            w[drawn.rows] += drawn.each * after
        return w / (A * self.n)

    def omega(self, v: Floats, *, pool: bool = True) -> Floats:
        """The weight of every row: c_0 z v / m for log rows, c_1 times the weight in mean_k T_k / n for pool rows.

        ::

            T_k = sum over rows labelled before k or chosen in k + r_k / a_k sum over the drawn rows of k

        Given the earlier rounds, T_k is unbiased for the pool's total. It counts in proportion to a_k, the number of
        rows drawn in round k. Where asked rows were lost, answered ones stand for them (`standing`).

        >>> design = Design(np.array([True]), np.array([0.5]), 4, (Picked(np.array([3]), np.array([0])),))
        >>> design.omega(np.array([2.0])).round(3).tolist()                 # log; then 3 of 4, 0, 0, 1 of 4
        [0.578, 0.533, 0.0, 0.0, 0.178]
        """
        c_0, c_1 = self.shares(pool=pool)
        of_pool = c_1 * self.pool_weights if c_1 else np.zeros(self.n)
        return np.concatenate([c_0 * self.z * v / max(self.m, 1), of_pool])
