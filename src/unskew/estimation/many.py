"""Everyone, where there are more than two classes: the error, what is known of each class, and the confusion matrix.

A measure of one class is that of two classes, "this one" and "another" (`unskew.estimation.measures`). The error is
that of two classes too, "as predicted" and "not as predicted", of which the first is always said. So estimates,
intervals and the design of the labels are those of `unskew.estimation.population`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from unskew.data import LoggedData
from unskew.errors import EmptyMeasure, InputError
from unskew.estimation.calibration import ManyCalibration
from unskew.estimation.costs import EQUAL, Costs
from unskew.estimation.design import Design
from unskew.estimation.everyone import checked_group, still, trust
from unskew.estimation.measures import MEASURES, Masses, Measured, Ratio, Slopes, Smooth, Total, restricted
from unskew.estimation.population import Log, PopulationEstimate, Side, population
from unskew.estimation.sample import Sample, Valued
from unskew.labels import positions
from unskew.rows import Floats, Ints

OF_ALL, OF_A_CLASS = ("error", "log_loss"), ("error", "precision", "recall", "f1")
"""The measures of all classes together, and those of one class against the others."""

SURE = 1e-9
"""Probabilities are kept this far from 0 and 1 where their log-odds are taken."""


class ClassEstimate(NamedTuple):
    """What is known of one class: its share of everyone, how much of it is found, and how often it is rightly said.

    A measure that has no value is None: no row of the class was found, or it is never predicted.
    """

    share: float
    recall: PopulationEstimate | None
    precision: PopulationEstimate | None


@dataclass(frozen=True, eq=False)
class ManyEveryone:
    """Every row with the log-probabilities of all classes, the number of its class (0 where unknown), and the design.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([0.3, 0.3, 0.3], 600); y = 1.0 + (rng.random(600)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    >>> q0 = np.where(p[:, 0] > 0.3, 0.9, 0.3); z = rng.random(600) < q0
    >>> found = ManyEveryone(Design(z, q0), np.log(p), np.where(z, y, 0.0))
    >>> print(found.estimate())
    error 0.3..., 95 % interval 0.2... to 0.3... (3... labels worth ... drawn evenly; rests on the log; q0 given)
    >>> round(sum(cell.value for row in found.confusion() for cell in row), 6)
    1.0
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
        rows = self.design.m + self.design.held
        if self.margin.ndim != 2 or len(self.margin) != rows or self.y.shape != (rows,):
            raise InputError(
                f"margin and y must have a row for each of the {rows} rows of log and pool; got shapes "
                f"{self.margin.shape}, {self.y.shape}. Put the log's rows first."
            )
        for i in np.flatnonzero(~np.isfinite(self.margin).all(axis=1))[:1]:
            raise InputError(f"margin must be finite; got {self.margin[i]} at row {i}. Clip the model's probabilities.")
        for i in np.flatnonzero(self.design.labelled & ~np.isin(self.y, np.arange(1, self.K + 1)))[:1]:
            raise InputError(f"y must be 1 to {self.K} where labelled; got {self.y[i]} at row {i}. Number the classes.")

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
    ) -> "ManyEveryone":
        """Combine log-probabilities and labels, as `unskew.estimation.everyone.Everyone.judged` does."""
        margin, labels = np.array(margin, dtype=np.float64), np.zeros(len(margin))
        margin[labelled], labels[labelled] = held_out, y
        return cls(design, margin, labels, log, costs)

    def trusting(self, log: LoggedData) -> "ManyEveryone":
        """The same, with how far this log can be trusted, of whose rows the first ones are."""
        best = np.clip(np.exp(self.margin[: log.m].max(axis=1)), SURE, 1.0 - SURE)
        return replace(self, log=trust(log, logit(best)))

    @property
    def K(self) -> int:
        """The number of classes."""
        return int(self.margin.shape[1])

    @cached_property
    def predicted(self) -> Ints:
        """The position of the class that is predicted for each row."""
        return np.asarray(self.margin.argmax(axis=1))

    def labelled_alone(self) -> "ManyEveryone":
        """The labelled rows alone, each counting once: how good the classifier looks if the others are forgotten."""
        known = self.design.labelled
        alone = Design(np.ones(int(known.sum()), dtype=bool), np.ones(int(known.sum())))
        return ManyEveryone(alone, self.margin[known], self.y[known])

    @cached_property
    def calibration(self) -> ManyCalibration:
        """How far the probabilities can be taken at their word, learned from the labels that count."""
        known = self.design.labelled.copy()
        if self.log != "given" and self.design.measures_pool:
            known[: self.design.m] = False
        return ManyCalibration(self.margin[known], self.y[known])

    @cached_property
    def p(self) -> Floats:
        """Calibrated probabilities of all classes."""
        return self.calibration.probabilities(self.margin)

    def doubts(self, rows: Ints) -> Floats:
        """The chance that the labels of these rows are wrong, as far as the classifier can say without them."""
        return np.asarray(1.0 - self.p[rows, self.y[rows].astype(np.intp) - 1])

    def of_error(self) -> tuple[Sample, Ratio, Floats]:
        """The rows, their error as a measure, and the chance that the classifier is wrong at each of them."""
        right = self.p[np.arange(len(self.y)), self.predicted]
        y = np.where(self.y == self.predicted + 1.0, 1.0, -1.0)
        what = MEASURES["error"](np.ones(len(y)))  # "as predicted" is always said
        assert isinstance(what, Ratio)
        return Sample(self.design, right, y), what, 1.0 - right

    def estimate(
        self,
        measure: str = "error",
        *,
        of: int | None = None,
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
            ``"error"`` or ``"log_loss"``; of one class ``"recall"``, ``"precision"``, ``"f1"``, or ``"error"``, the
            share of everyone who is wrongly taken for it or not recognised.
        of : int, optional
            The position of the class.
        level, where, log_share
            As in `unskew.estimation.everyone.Everyone.estimate`.
        threshold : None
            There is none: the likeliest class is predicted.
        against : array, a row for each row and a column for each class, optional
            The log-probabilities of another classifier. The estimate is then how much larger the measure is for this
            classifier than for the other one, on the same labels.
        """
        known = OF_ALL if of is None else OF_A_CLASS
        if measure not in known:
            if of is None and measure in OF_A_CLASS:
                raise InputError(f"{measure} is that of one class, and there are {self.K}. Name the class.")
            whose = f"all {self.K} classes" if of is None else "a class against the others"
            raise InputError(f"measures of {whose} are {', '.join(known)}; got {measure!r}. Name one of them.")
        if threshold is not None:
            raise InputError(f"a threshold tells two classes apart; there are {self.K}. Leave it out.")
        group = checked_group(where, len(self.y))
        name, what, sample = measure, self._of_class(measure, of), self._against_rest(of)
        if against is not None:
            if of is not None or np.shape(against) != self.margin.shape:
                raise InputError(
                    f"models are compared by {' or '.join(OF_ALL)} and probabilities of all {self.K} classes; got "
                    f"shape {np.shape(against)}{'' if of is None else ' for one class'}. Compare them as a whole."
                )
            name, what = f"difference in {measure}", _mean
            sample = self._valued(self._losses(measure, self.margin) - self._losses(measure, np.asarray(against)))
        elif measure == "log_loss":
            losses = self._losses(measure, self.margin)
            one, most = np.ones(len(losses)), float(losses.max())
            what, sample = Ratio(Total(most * one, 0.0 * one), Total(one, one)), self._valued(losses / most)
        elif of is None:
            sample, what, _ = self.of_error()
        if group is not None:
            what = restricted(what, group.astype(np.float64))
        found = population(sample, what, name=name, level=level, log=self.log, log_share=log_share, group=group)
        return replace(found, positives=found.positives if of is not None else None)

    def _against_rest(self, of: int | None) -> Sample:
        """The rows with one class as +1 and the others as -1; the first class if none is named."""
        k = of or 0
        if not 0 <= k < self.K:
            raise InputError(f"of must be a position from 0 to {self.K - 1}; got {k}. Count classes from 0.")
        return Sample(self.design, self.p[:, k], np.where(self.y == k + 1.0, 1.0, -1.0))

    def _of_class(self, measure: str, of: int | None) -> Ratio | Smooth:
        return MEASURES[measure](np.where(self.predicted == (of or 0), 1.0, -1.0))

    def _valued(self, values: Floats) -> Valued:
        at = np.where(self.design.labelled, positions(self.y, self.K), 0)
        return Valued(self.design, values, self.p, at)

    def _losses(self, measure: str, margin: Floats) -> Floats:
        """What the classifier loses at each row if its class is this one."""
        if measure == "log_loss":
            return -margin
        found = np.ones(margin.shape)
        found[np.arange(len(margin)), margin.argmax(axis=1)] = 0.0
        return found

    @cached_property
    def _log_share(self) -> float | None:
        """How much the log counts for the error."""
        return self.estimate().log_share

    def of_class(self, k: int) -> ClassEstimate:
        """The share of a class among everyone, its recall and its precision."""
        share = self._share(self._against_rest(k), np.ones(len(self.y)), self._log_share)

        def one(measure: str) -> PopulationEstimate | None:
            try:
                return self.estimate(measure, of=k)
            except EmptyMeasure:
                return None

        return ClassEstimate(share.value, one("recall"), one("precision"))

    def confusion(self) -> list[list[Side]]:
        """The share of everyone that has the class of the row and is predicted to have the class of the column.

        All cells rest on the same labels, so they add up to 1.
        """
        cells = []
        for k in range(self.K):
            sample = self._against_rest(k)
            said = [(self.predicted == j).astype(np.float64) for j in range(self.K)]
            cells.append([self._share(sample, rows, self._log_share) for rows in said])
        return cells

    def _share(self, sample: Sample, rows: Floats, log_share: float | None) -> Side:
        """The share of everyone who is of these rows and of the sample's class."""
        every = np.ones(len(rows))
        what = Ratio(Total(rows, 0.0 * rows), Total(every, every))
        found = population(sample, what, name="share", log=self.log, log_share=log_share)
        return Side(found.value, found.low, found.high)


def _mean(masses: Masses) -> Measured:
    """The mean of a value (`Valued`) over the rows that have a mass."""
    plus, every = float(masses.plus.sum()), float(masses.plus.sum() + masses.minus.sum())
    value = plus / every
    one = np.ones(len(masses.plus))
    return value, Slopes((1.0 - value) / every * one, -value / every * one)
