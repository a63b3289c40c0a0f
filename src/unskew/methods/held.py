"""The rows of a pool that estimates hold: all of a small pool; of a large one, a sample that stands for the others."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.design import Design, Picked
from unskew.estimation.strata import Part, Strata
from unskew.pools import MemoryPool, Pool
from unskew.rows import Floats, Ints, Rows, stack, take


class Held(NamedTuple):
    """Rows of a pool of n rows. If `counts` says how many each stands for, those with a label come last."""

    n: int
    X: Rows
    labelled: Ints
    """The places in the pool of the rows with a label."""
    counts: Floats | None = None
    places: Ints | None = None
    """The places in the pool of all rows held; None if they are all rows in order."""

    def at(self, places: Ints) -> Ints:
        """Where the labelled rows at these places of the pool are among the rows held."""
        if self.counts is None:
            return places
        order = np.argsort(self.labelled)
        first = self.X.shape[0] - len(self.labelled)
        return np.asarray(first + order[np.searchsorted(self.labelled, places, sorter=order)])

    def design(self, log: LoggedData, rounds: tuple[Picked, ...], parts: Sequence[Part] = ()) -> Design:
        """How the labels of log and pool came about; `rounds` know the rows by their places in the pool.

        `parts` are the rows that came together, if the pool grew.
        """
        mapped = tuple(r._replace(chosen=self.at(r.chosen), drawn=self.at(r.drawn)) for r in rounds)
        places = np.arange(self.n) if self.places is None else self.places
        strata = Strata.at(parts, places) if parts else None
        return Design.of(log, self.n, mapped, counts=self.counts, strata=strata)


def hold(pool: Pool, labelled: Ints, X: Rows, most: int | None) -> Held:
    """All rows, or if there are more than `most`, that number of them and the `labelled` rows, whose features are X.

    Each labelled row stands for itself, and the sampled ones without a label stand for all the others evenly.
    """
    n = len(pool)
    if isinstance(pool, MemoryPool) and (most is None or n <= most):
        return Held(n, pool.X, labelled)
    if most is None:
        raise InputError(f"a pool in files has no array of all its {n:,} rows. Leave out where= and against=.")
    if n <= most:
        some = pool.some(n)
        return Held(n, take(some.X, np.argsort(some.places)), labelled)
    some = pool.some(most)
    others = ~np.isin(some.places, labelled)
    sampled, known = int(others.sum()), len(labelled)
    counts = np.repeat([(n - known) / max(sampled, 1), 1.0], [sampled, known])
    places = np.concatenate([some.places[others], labelled])
    return Held(n, stack([take(some.X, others), X]), labelled, counts, places)
