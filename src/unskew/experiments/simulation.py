"""One repeat of an experiment: a shuffled population, a log made by a policy, a stream, a test set."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.experiments.datasets import Source
from unskew.experiments.protocols import TRAINING
from unskew.methods import Method, PoolMethod, StreamMethod, pool_rounds, stream_rounds
from unskew.rows import Floats
from unskew.sampling import policies

FIRST_HORIZON = 10

REPEATS_A_POPULATION = 10
"""The number of repeats that share a population: a sample of a large data set, or a synthetic one."""


@dataclass(frozen=True)
class Simulation:
    """The log, the online stream in order, and the held-out test rows of one repeat."""

    log: LoggedData
    X: Floats
    y: Floats
    q0: Floats
    test_X: Floats
    test_y: Floats

    @property
    def n(self) -> int:
        return len(self.y)

    def error(self, method: Method) -> float:
        """Test error of the method's present model."""
        return float(np.count_nonzero(method.infer(self.test_X) != self.test_y)) / len(self.test_y)


def simulate(
    X: Floats, y: Floats, policy: str, logged_fraction: float, rng: np.random.Generator, *, variant: str = "released"
) -> Simulation:
    """Shuffle and split: 80 % training, of which `logged_fraction` is the log and the rest the stream; 20 % test."""
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    train = int(TRAINING * len(y))
    m = int(logged_fraction * train) if 0.0 < logged_fraction < 1.0 else 0
    if m < 3 or m >= train:
        raise InputError(
            f"logged_fraction must leave at least 3 log rows and 1 stream row of {train} training rows; "
            f"got {logged_fraction}. Try 0.5."
        )
    q0 = policies.make(policy, X[:train], y[:train], rng, variant=variant)(X[:train])
    z = rng.random(m) < q0[:m]
    log = LoggedData(X[:m], np.where(z, y[:m], np.nan), z, q0[:m], classes=(-1.0, 1.0))
    return Simulation(log, X[m:train], y[m:train], q0[m:], X[train:], y[train:])


def simulations(
    source: Source, policy: str, logged_fraction: float, seed: int, repeats: Iterable[int], *, variant: str = "released"
) -> Iterator[tuple[Simulation, int]]:
    """The repeats of a cell, each with a seed for whatever method is run on it.

    Repeat r depends only on `seed` and r: the split, the policy and the revealed labels are the same for every method
    and parameter, on every machine.
    """
    drawn = None
    for r in repeats:
        block = r // REPEATS_A_POPULATION
        if block != drawn:
            (X, y), drawn = source.population(seed, block), block
        rng = np.random.default_rng([seed, r, 1])
        yield simulate(X, y, policy, logged_fraction, rng, variant=variant), int(rng.integers(2**63))


def curve(
    method: Method, simulation: Simulation, label_budget: int, *, first_horizon: int = FIRST_HORIZON
) -> list[tuple[int, int, float]]:
    """(horizon, labels bought, test error) at every horizon, from 0 on.

    A method that needs to know n is run again for each n = 10, 20, 40, ..., up to the whole stream, or from another
    `first_horizon` on. Other methods run once and are measured after every batch. Both stop after the first point with
    more than 2 * label_budget labels. The point at 0 is the model of the whole log. A method that works on a pool gets
    the stream as its pool and spends label_budget on it.
    """
    if isinstance(method, PoolMethod):
        return _pool_curve(method, simulation, label_budget)
    assert isinstance(method, StreamMethod)
    return _stream_curve(method, simulation, label_budget, first_horizon)


def _pool_curve(method: PoolMethod, s: Simulation, label_budget: int) -> list[tuple[int, int, float]]:
    spent = pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, label_budget)
    return [(labels, labels, s.error(method)) for labels in spent]


def _stream_curve(method: StreamMethod, s: Simulation, label_budget: int, first: int) -> list[tuple[int, int, float]]:
    points: list[tuple[int, int, float]] = []
    if method.anytime:
        for seen in stream_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, s.n):
            points.append((seen, method.labels_, s.error(method)))
            if method.labels_ > 2 * label_budget:
                break
        return points
    whole = method.at_zero_labels()
    whole.start_checked(s.log, s.n)
    points.append((0, 0, s.error(whole)))
    for n in horizons(s.n, first):
        for _ in stream_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, n):
            pass
        points.append((n, method.labels_, s.error(method)))
        if method.labels_ > 2 * label_budget:
            break
    return points


def horizons(n: int, first: int = FIRST_HORIZON) -> NDArray[np.int64]:
    """10, 20, 40, ... below n, and n itself; or from another first one on.

    >>> horizons(50).tolist()
    [10, 20, 40, 50]
    """
    doublings = first * 2 ** np.arange(40)
    return np.append(doublings[doublings < n], n)
