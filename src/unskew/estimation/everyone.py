"""Everyone: all rows of log, stream and pool, each with a margin that was computed without the row's own label.

This is the one place where margins, labels and the sampling design come together. Methods, campaigns and `unskew audit`
all use it to estimate how good a classifier is on the population.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from unskew.data import LoggedData
from unskew.errors import EmptyMeasure, InputError, unknown
from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import EQUAL, LEAST, Costs
from unskew.estimation.counts import mean_of
from unskew.estimation.design import Design
from unskew.estimation.measures import MEASURES, Ratio, Smooth, cost, difference, error, restricted
from unskew.estimation.population import Log, PopulationEstimate, Side, population
from unskew.estimation.sample import Sample
from unskew.rows import Bools, Floats, Ints
from unskew.sampling.diagnostics import balance, balance_of_doubt

THRESHOLDS = tuple(expit(np.linspace(-4.6, 4.6, 25)).tolist())
"""From 0.01 to 0.99, in equal steps of log-odds: a rare class is decided at small probabilities."""


WITHOUT_THRESHOLD = ("log_loss", "auc")
"""Measures that do not depend on which rows are flagged."""

A_HAIR = 1e-6
"""A wanted recall puts the threshold this far below a row, so that rounding does not put the row on the other side."""


class AtThreshold(NamedTuple):
    """Recall and precision where a row is flagged from this probability on; None if there is nothing to divide by."""

    threshold: float
    recall: Side | None
    precision: Side | None


REFUTED = 0.001
"""Given propensities are refuted if a log as uneven as this one has less than this chance while they are right."""


def trust(log: LoggedData, margin: Floats) -> Log:
    """How far a log can be trusted to speak for everyone, given a classifier's log-odds of its rows.

    Those of labelled rows are computed without their own label.
    """
    if log.only_labelled:
        return "selected"
    if log.q0_estimated:
        return "estimated"
    return "refuted" if log.z.any() and min(balance(log), balance_of_doubt(log, margin)) < REFUTED else "given"


def still(log: Log, design: Design) -> Log:
    """How far the log can be trusted beside this pool: one that grew has rows for which the log may not speak."""
    return "earlier" if log == "given" and design.strata is not None else log


@dataclass(frozen=True, eq=False)
class Everyone:
    """Every row with the classifier's log-odds and the label (0 where unknown), and the sampling design of the labels.

    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> margin = rng.normal(0, 4, 500); y = np.where(rng.random(500) < expit(margin), 1.0, -1.0)
    >>> q0 = np.where(margin > 0, 0.9, 0.2); z = rng.random(500) < q0
    >>> print(Everyone(Design(z, q0), margin, y).estimate())
    error 0.089, 95 % interval 0.044 to 0.133 (272 labels worth 199 drawn evenly; rests on the log; q0 given; ...)
    """

    design: Design
    margin: Floats
    y: Floats
    log: Log = "given"
    costs: Costs = EQUAL

    def __post_init__(self) -> None:
        for name in ("margin", "y"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "log", still(self.log, self.design))
        _check_rows(self.design, self.margin, self.y)

    @classmethod
    def judged(
        cls,
        design: Design,
        margin: Floats,
        labelled: Ints,
        y: Floats,
        held_out: Floats,
        *,
        log: Log = "given",
        costs: Costs = EQUAL,
    ) -> "Everyone":
        """Combine margins and labels.

        Parameters
        ----------
        design : Design
            How the labels came about.
        margin : array, one value per row
            The classifier's log-odds.
        labelled : array of int
            Positions of the rows that the classifier was trained on.
        y, held_out : array, one value for each labelled row
            Their labels, +1.0 or -1.0, and the log-odds they would have if their own label were left out of training.
        log : str
            How far the log can be trusted (`Log`).
        costs : Costs
            What wrong decisions cost.
        """
        margin, labels = np.array(margin, dtype=np.float64), np.zeros(len(margin))
        margin[labelled], labels[labelled] = held_out, y
        return cls(design, margin, labels, log, costs)

    def labelled_alone(self) -> "Everyone":
        """The labelled rows alone, each counting once: how good the classifier looks if the others are forgotten."""
        known = self.design.labelled
        alone = Design(np.ones(int(known.sum()), dtype=bool), np.ones(int(known.sum())))
        return Everyone(alone, self.margin[known], self.y[known], costs=self.costs)

    @cached_property
    def calibration(self) -> Calibration:
        """How far the classifier's probabilities can be taken at their word, learned from the labels that count.

        The labels of a log whose propensities are not known teach the classifier, but do not judge it.
        """
        known = self.design.labelled.copy()
        if self.log != "given" and self.design.measures_pool:
            known[: self.design.m] = False
        return Calibration(self.margin[known], self.y[known])

    @cached_property
    def sample(self) -> Sample:
        """The rows with their calibrated probabilities, ready for any measure."""
        return Sample(self.design, self.calibration.positive(self.margin), self.y)

    def doubts(self, rows: Ints) -> Floats:
        """The chance that the labels of these rows are wrong, as far as the classifier can say without them."""
        positive = self.calibration.positive(self.margin[rows])
        return np.where(self.y[rows] > 0.0, 1.0 - positive, positive)

    def of_error(self) -> tuple[Sample, Ratio, Floats]:
        """The rows, their error as a measure, and the chance that the classifier is wrong at each of them."""
        shift = self.costs.log_odds
        return self.sample, error(self.margin - shift), self.calibration.wrong(self.margin, shift)

    def estimate(
        self,
        measure: str = "error",
        *,
        level: float = 0.95,
        threshold: float | None = None,
        where: ArrayLike | None = None,
        against: Floats | None = None,
        log_share: float | None = None,
    ) -> PopulationEstimate:
        """Estimate a measure of the classifier on the population.

        Parameters
        ----------
        measure : str
            ``"error"``, ``"log_loss"``, ``"precision"``, ``"recall"``, ``"f1"``, ``"balanced_error"``, ``"auc"`` or
            ``"cost"``, the mean cost of a row.
        level : float
            The confidence level, in (0, 1).
        threshold : float
            A row is predicted to be positive if its probability is at least this. By default, as the costs say: 0.5 if
            both errors cost the same.
        where : array of bool, one value per row, optional
            The group of rows to measure; everyone if left out.
        against : array, one value per row, optional
            The log-odds of another classifier. The estimate is then how much larger the measure is for this classifier
            than for the other one, on the same labels.
        log_share : float, optional
            How much the log counts, from 0 to 1, as in an earlier estimate that this one is to be compared with.
        """
        if threshold is not None and not 0.0 < threshold < 1.0:
            raise InputError(f"threshold must be in (0, 1); got {threshold}. The usual threshold is 0.5.")
        shift = self.costs.log_odds if threshold is None else float(np.log(threshold / (1.0 - threshold)))
        name, moved = measure, 0.0 if measure in WITHOUT_THRESHOLD else shift
        margin = self.margin - moved
        what: Ratio | Smooth = _measure_named(measure, margin, self.costs)
        if against is not None:
            other = np.asarray(against, dtype=np.float64)
            _check_rows(self.design, other, self.y)
            theirs = _measure_named(measure, other - moved, self.costs)
            what, name = difference(what, theirs, measure), f"difference in {measure}"
        group = checked_group(where, len(margin))
        if group is not None:
            what = restricted(what, group.astype(np.float64))
        found = population(
            self.sample,
            what,
            name=name,
            level=level,
            log=self.log,
            log_share=log_share,
            group=group,
        )
        share = found.log_share or 0.0
        used, counts = np.repeat([share > 0.0, share < 1.0], [self.design.m, self.design.held]), self.design.all_counts
        used = used if group is None else used & group
        flagged = mean_of((self.margin - shift)[used] >= 0.0, None if counts is None else counts[used])
        return replace(found, flagged=flagged, threshold=float(expit(shift)))

    def costs_for(self, recall: float) -> Costs:
        """The costs with the largest threshold at which the classifier is expected to find this share of positives.

        What it is expected to find above a threshold is the sum of calibrated probabilities there, over their sum on
        all rows of the pool. Estimates are not used: whoever picks the threshold at which an estimate is high enough
        picks one at which it is too high.

        >>> margin = np.array([3.0, 1.0, 0.0, -1.0, -3.0])
        >>> everyone = Everyone(Design(np.zeros(5, dtype=bool), np.ones(5)), margin, np.zeros(5))
        >>> [round(everyone.costs_for(recall).threshold, 2) for recall in (0.5, 0.85, 0.95)]
        [0.73, 0.5, 0.27]
        """
        of_pool = self.design.n > 0
        margin = self.margin[self.design.m :] if of_pool else self.margin
        counts = self.design.counts if of_pool else self.design.log_counts
        order = np.argsort(margin, kind="stable")[::-1]
        margin = margin[order]
        found = np.cumsum(self.calibration.positive(margin) * (1.0 if counts is None else counts[order]))
        last = margin[min(int(np.searchsorted(found, recall * found[-1])), len(margin) - 1)]
        t = float(np.clip(expit(last - A_HAIR), LEAST, 1.0 - LEAST))
        return Costs(false_positive=t, false_negative=1.0 - t)

    def over_thresholds(self, thresholds: Iterable[float] = THRESHOLDS) -> list[AtThreshold]:
        """Recall and precision with their 95 % intervals, for each threshold.

        Each interval holds for its threshold alone. If you pick the threshold that looks best, its figures are a little
        too good.
        """
        some = list(thresholds)
        sides = (self._sides(measure, some) for measure in ("recall", "precision"))
        return [AtThreshold(t, recall, precision) for t, recall, precision in zip(some, *sides, strict=True)]

    def _sides(self, measure: str, thresholds: list[float]) -> list[Side | None]:
        """A measure at all thresholds, from the labels that count where the costs decide: otherwise it would jump."""
        share = None
        with suppress(EmptyMeasure):
            share = self.estimate(measure).log_share
        found: list[Side | None] = []
        for t in thresholds:
            try:
                e = self.estimate(measure, threshold=t, log_share=share)
                found.append(Side(e.value, e.low, e.high))
            except EmptyMeasure:  # nobody is flagged
                found.append(None)
        return found


def checked_group(where: ArrayLike | None, rows: int) -> Bools | None:
    """A group of rows, if it is one and has a row."""
    if where is None:
        return None
    group = np.asarray(where)
    if group.shape != (rows,) or group.dtype != bool or not group.any():
        raise InputError(
            f"where must be True for some of the {rows} rows of log and pool; got {group.sum()} in shape "
            f"{group.shape}. Pass one bool per row, the log's first."
        )
    return group


def _check_rows(design: Design, margin: Floats, y: Floats) -> None:
    """Whether there is a finite margin for every row and a usable label for every labelled one."""
    rows = design.m + design.held
    if not margin.shape == y.shape == (rows,):
        raise InputError(
            f"margin and y must have one value for each of the {rows} rows of log and pool; got shapes {margin.shape}, "
            f"{y.shape}. Put the log's rows first."
        )
    for i in np.flatnonzero(~np.isfinite(margin))[:1]:
        raise InputError(f"margin must be finite; got {margin[i]} at row {i}. Clip the model's margins.")
    for i in np.flatnonzero(design.labelled & (np.abs(y) != 1.0))[:1]:
        raise InputError(f"y must be +1 or -1 where labelled; got {y[i]} at row {i}. Map the two classes to +1 and -1.")


def _measure_named(name: str, margin: Floats, costs: Costs) -> Ratio | Smooth:
    """The measure of that name for a classifier with these margins, where errors cost this much."""
    if name == "cost":
        return cost(margin, costs)
    if name not in MEASURES:
        raise unknown("measure", name, [*MEASURES, "cost"])
    return MEASURES[name](margin)
