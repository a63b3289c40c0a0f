"""One repeat of an experiment: a shuffled population, a log made by a policy, a stream, a test set."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.experiments.datasets import Source
from unskew.methods import LinearMethod, Method, Passive, pool_rounds, rounds
from unskew.rows import Floats
from unskew.sampling import policies

FIRST_HORIZON = 10

REPEATS_A_POPULATION = 10
"""A fresh cut of a large data set, or a fresh synthetic one, every so many repeats."""


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
    """Shuffle; 80 % train, 20 % test; the first `logged_fraction` of train is the log, the rest the stream."""
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    train = int(0.8 * len(y))
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

    Repeat r depends on `seed` and r alone: the same split, policy and reveals for every method and
    parameter, on whatever machine.
    """
    drawn = None
    for r in repeats:
        block = r // REPEATS_A_POPULATION
        if block != drawn:
            (X, y), drawn = source.population(seed, block), block
        rng = np.random.default_rng([seed, r, 1])
        yield simulate(X, y, policy, logged_fraction, rng, variant=variant), int(rng.integers(2**63))


def curve(method: Method, simulation: Simulation, label_budget: int) -> list[tuple[int, int, float]]:
    """(horizon, labels bought, test error) at every horizon, from 0 on.

    A method that needs to know n is started anew for each n = 10, 20, 40, ..., the last one the whole
    stream; the others run once and are measured after every batch. Either stops after the first
    point with more than 2 * label_budget labels. At 0 stands the model of the whole log. A method that
    takes a pool is given the stream as one and spends label_budget on it.
    """
    s = simulation
    points: list[tuple[int, int, float]] = []
    if method.pools:
        spent = pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, label_budget)
        return [(labels, labels, s.error(method)) for labels in spent]
    if method.anytime:
        for seen in rounds(method, s.log, s.X, s.q0, s.y.__getitem__, s.n):
            points.append((seen, method.labels_, s.error(method)))
            if method.labels_ > 2 * label_budget:
                break
        return points
    points.append((0, 0, s.error(_of_whole_log(method).start(s.log, s.n))))
    for n in horizons(s.n):
        for _ in rounds(method, s.log, s.X, s.q0, s.y.__getitem__, n):
            pass
        points.append((n, method.labels_, s.error(method)))
        if method.labels_ > 2 * label_budget:
            break
    return points


def horizons(n: int) -> NDArray[np.int64]:
    """10, 20, 40, ... below n, and n itself.

    >>> horizons(50).tolist()
    [10, 20, 40, 50]
    """
    doublings = FIRST_HORIZON * 2 ** np.arange(64 - FIRST_HORIZON)
    return np.append(doublings[doublings < n], n)


def _of_whole_log(method: Method) -> Method:
    """The method whose warm start is the model at 0 labels: a linear one fits the whole log, weights 1/Q0."""
    if isinstance(method, LinearMethod):
        return Passive(eta=method.eta, xi0=method.xi0, random_state=method.random_state)
    return method
