"""The error of a campaign's model on the whole population, from its log and from what was asked, answered or not."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from unskew.estimation.design import Audit, Design
from unskew.estimation.population import PopulationEstimate, population
from unskew.methods.loop import Method
from unskew.methods.report import honest_margins
from unskew.rows import Floats, Rows, stack, take

LOOK_AT = 100_000
"""Of a larger pool, so many rows stand for all in the mean of what the model expects: it moves by 0.001 or so."""


class AskedRow(Protocol):
    """What an estimate needs to know of a row that was asked for."""

    @property
    def round(self) -> int: ...
    @property
    def place(self) -> int: ...
    @property
    def rule(self) -> str: ...
    @property
    def status(self) -> str: ...


def rounds_of(asked: Iterable[AskedRow]) -> tuple[Audit, ...]:
    """The rounds as the estimate's design sees them; rows skipped or not answered yet count as lost.

    A row is lost by chance, as far as its label goes: who skips rows of one class more often biases any estimate.

    >>> from types import SimpleNamespace as Row
    >>> rounds_of([Row(round=1, place=7, rule="chosen", status="answered"),
    ...            Row(round=1, place=3, rule="audit", status="skipped")])
    (Audit(chosen=array([7]), drawn=array([], dtype=int64), chosen_lost=0, drawn_lost=1),)
    """
    places: dict[int, tuple[list[int], list[int]]] = {}
    lost: dict[int, list[int]] = {}
    for row in asked:
        kind = int(row.rule == "audit")
        places.setdefault(row.round, ([], []))
        lost.setdefault(row.round, [0, 0])
        if row.status == "answered":
            places[row.round][kind].append(row.place)
        else:
            lost[row.round][kind] += 1
    rounds = []
    for number in sorted(places):
        chosen, drawn = (np.array(kind, dtype=np.int64) for kind in places[number])
        rounds.append(Audit(chosen, drawn, *lost[number]))
    return tuple(rounds)


@dataclass(frozen=True)
class Judged:
    """Every row of log and pool: the model's margin, not knowing the row's own label, and the label, 0 if unknown."""

    margin: Floats
    y: Floats


def judged(method: Method, X_pool: Rows) -> Judged:
    """What the method's model says of everyone.

    `method` has adopted the answers so far, with their places in the pool as `positions`.
    """
    log, n = method.log_, X_pool.shape[0]
    trained, rows, labels = [np.flatnonzero(log.z)], [take(log.X, log.z)], [log.y[log.z]]
    for batch in method.rounds_:
        assert batch.positions is not None
        trained.append(log.m + batch.positions)
        rows.append(batch.X)
        labels.append(batch.y)
    at, y = np.concatenate(trained), np.zeros(log.m + n)
    y[at] = np.concatenate(labels)
    model: Any = method.model_
    with threadpool_limits(1):  # sums in one order, whatever the number of cores
        margin = np.concatenate([model.decision_function(log.X), _of_pool(model, X_pool)])
    margin[at] = honest_margins(method, stack(rows), y[at], np.arange(len(at)))
    return Judged(margin, y)


def _of_pool(model: Any, X_pool: Rows) -> Floats:
    """The margins of a pool. Of a large one some rows are judged, and each other is taken to be like one of those."""
    n = X_pool.shape[0]
    if n <= LOOK_AT:
        return np.asarray(model.decision_function(X_pool))
    rng = np.random.default_rng(0)  # the same rows each time: what changes between rounds is the model
    looked_at = np.sort(rng.choice(n, LOOK_AT, replace=False))
    found: Floats = model.decision_function(take(X_pool, looked_at))
    margin: Floats = found[rng.integers(LOOK_AT, size=n)]
    margin[looked_at] = found
    return margin


def population_error_of(
    method: Method, everyone: Judged, asked: Iterable[AskedRow], *, measure: str = "error", level: float = 0.95
) -> PopulationEstimate:
    """A measure of the method's model on the population, with an interval.

    Raises `InputError` where no label came at random: nothing revealed in the log, no audited row answered.
    """
    log = method.log_
    design = Design(log.z, log.q0, len(everyone.y) - log.m, rounds_of(asked))
    found = population(design, everyone.margin, everyone.y, measure=measure, level=level)
    return replace(found, q0_estimated=log.q0_estimated)
