"""The error of a campaign's model on the whole population, from its log and from what was asked, answered or not."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

import numpy as np

from unskew.estimates import Audit, Design, PopulationEstimate, population
from unskew.methods.base import Method
from unskew.methods.report import honest_margins
from unskew.rows import Rows, stack


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


def population_error_of(
    method: Method, X_pool: Rows, asked: Iterable[AskedRow], *, measure: str = "error", level: float = 0.95
) -> PopulationEstimate:
    """A measure of the method's model on the population, with an interval.

    `method` has adopted the answers so far, with their places in the pool as `positions`. Raises `InputError` where no
    label came at random: nothing revealed in the log, no audited row answered.
    """
    log = method.log_
    design = Design(log.z, log.q0, X_pool.shape[0], rounds_of(asked))
    y = np.zeros(log.m + design.n)
    y[: log.m] = log.y
    trained = [np.flatnonzero(log.z)]
    for batch in method.rounds_:
        assert batch.positions is not None
        trained.append(log.m + batch.positions)
        y[trained[-1]] = batch.y
    margin = honest_margins(method, stack([log.X, X_pool]), y, np.concatenate(trained))
    return replace(population(design, margin, y, measure=measure, level=level), q0_estimated=log.q0_estimated)
