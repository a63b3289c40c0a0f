"""Everyone: all rows of log, stream and pool, each with scores that were computed without the row's own label.

This is the one place where scores, labels and the sampling design come together. Methods, campaigns and `unskew audit`
all use it to estimate how good a classifier is on the population. A measure of one class is that of two classes: this
one, and the others. Of two classes, a measure is that of the positive one unless another is named.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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
from unskew.estimation.measures import MEASURES, Ratio, Smooth, Total, cost, difference, error, mean, restricted
from unskew.estimation.population import Log, PopulationEstimate, Side, population
from unskew.estimation.sample import Sample, Valued
from unskew.labels import positions
from unskew.models.scores import Scale, scale_of
from unskew.rows import Bools, Floats, Ints
from unskew.sampling.diagnostics import balance, balance_of_doubt

THRESHOLDS = tuple(expit(np.linspace(-4.6, 4.6, 25)).tolist())
"""From 0.01 to 0.99, in equal steps of log-odds: a rare class is decided at small probabilities."""


WITHOUT_THRESHOLD = ("log_loss", "auc")
"""Measures that do not depend on which rows are flagged."""

OF_ALL, OF_A_CLASS = ("error", "log_loss"), ("error", "precision", "recall", "f1")
"""If there are more than two classes: the measures of all of them together, and those of one against the others."""

A_HAIR = 1e-6
"""A wanted recall puts the threshold this far below a row, so that rounding does not put the row on the other side."""


class AtThreshold(NamedTuple):
    """Recall and precision where a row is flagged from this probability on; None if there is nothing to divide by."""

    threshold: float
    recall: Side | None
    precision: Side | None


class ClassEstimate(NamedTuple):
    """What is known of one class: its share of everyone, how much of it is found, and how often it is rightly said.

    A measure that has no value is None: no row of the class was found, or it is never predicted.
    """

    share: float
    recall: PopulationEstimate | None
    precision: PopulationEstimate | None


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
    """Every row with the classifier's scores and the label (0 where unknown), and the sampling design of the labels.

    Scores are log-odds, or log-probabilities of more than two classes (`unskew.models.scores`).

    >>> from scipy.special import expit
    >>> rng = np.random.default_rng(0)
    >>> margin = rng.normal(0, 4, 500); y = np.where(rng.random(500) < expit(margin), 1.0, -1.0)
    >>> q0 = np.where(margin > 0, 0.9, 0.2); z = rng.random(500) < q0
    >>> print(Everyone(Design(z, q0), margin, y).estimate())
    error 0.089, 95 % interval 0.044 to 0.133 (272 labels worth 199 drawn evenly; rests on the log; q0 given; ...)
    >>> p = rng.dirichlet([0.3, 0.3, 0.3], 600); y = 1.0 + (rng.random(600)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    >>> q0 = np.where(p[:, 0] > 0.3, 0.9, 0.3); z = rng.random(600) < q0
    >>> everyone = Everyone(Design(z, q0), np.log(p), np.where(z, y, 0.0))
    >>> round(sum(cell.value for row in everyone.confusion() for cell in row), 6)
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
        """Combine scores and labels.

        Parameters
        ----------
        design : Design
            How the labels came about.
        margin : array, one value or one row of values per row
            The classifier's scores.
        labelled : array of int
            Positions of the rows that the classifier was trained on.
        y, held_out : array, one value or row of values for each labelled row
            Their labels (`unskew.labels.codes`), and the scores they would have if their own label were left out of
            training.
        log : str
            How far the log can be trusted (`Log`).
        costs : Costs
            What wrong decisions cost.
        """
        margin, labels = np.array(margin, dtype=np.float64), np.zeros(len(margin))
        margin[labelled], labels[labelled] = held_out, y
        return cls(design, margin, labels, log, costs)

    def trusting(self, log: LoggedData) -> "Everyone":
        """The same, with how far this log can be trusted, of whose rows the first ones are."""
        return replace(self, log=trust(log, self.scale.of_foremost(self.margin[: log.m])))

    @cached_property
    def scale(self) -> Scale:
        """How rows are scored."""
        return scale_of(self.margin)

    @property
    def K(self) -> int:
        """The number of classes."""
        return self.scale.K

    @property
    def positive(self) -> int | None:
        """The position of the positive class, which measures are of if no class is named; None if there are more."""
        return 1 if self.K == 2 else None

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that can be estimated if no class is named."""
        return OF_ALL if self.positive is None else tuple(MEASURES)

    @cached_property
    def predicted(self) -> Ints:
        """The position of the class that is predicted for each row."""
        return self.scale.predicted(self.margin, self.costs.log_odds)

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
    def p(self) -> Floats:
        """Calibrated probabilities of the positive class, or of all classes."""
        return self.calibration.chances(self.margin)

    def against_rest(self, k: int) -> Sample:
        """The rows with the class at position k as +1 and the others as -1, ready for any measure."""
        if not 0 <= k < self.K:
            raise InputError(f"of must be a position from 0 to {self.K - 1}; got {k}. Count classes from 0.")
        return Sample(self.design, *self.scale.against_rest(self.p, self.y, k))

    def doubts(self, rows: Ints) -> Floats:
        """The chance that the labels of these rows are wrong, as far as the classifier can say without them."""
        return self.scale.others(self.p[rows], positions(self.y[rows], self.K))

    def of_error(self) -> tuple[Sample, Ratio, Floats]:
        """The rows, their error as a measure, and the chance that the classifier is wrong at each of them."""
        wrong = self.scale.others(self.p, self.predicted)
        if self.positive is not None:
            return (
                self._sample(self.positive),
                error(self._said(self.margin, self.positive, self.costs.log_odds)),
                wrong,
            )
        # Of more classes, "as predicted" and "not as predicted" are two, of which the first is always said
        right = np.where(self.y == self.predicted + 1.0, 1.0, -1.0)
        return Sample(self.design, 1.0 - wrong, right), error(np.ones(len(right))), wrong

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
            ``"error"``, ``"log_loss"``, ``"precision"``, ``"recall"``, ``"f1"``, ``"balanced_error"``, ``"auc"`` or
            ``"cost"``, the mean cost of a row. Of more than two classes, ``"error"`` or ``"log_loss"``; and of one of
            them, ``"precision"``, ``"recall"``, ``"f1"``, or ``"error"``, the share of everyone who is wrongly taken
            for it or not recognised.
        of : int, optional
            The position of the class. Of two classes, the positive one if left out.
        level : float
            The confidence level, in (0, 1).
        threshold : float
            A row is predicted to be positive if its probability is at least this. By default, as the costs say: 0.5 if
            both errors cost the same. Of more than two classes, the likeliest is predicted.
        where : array of bool, one value per row, optional
            The group of rows to measure; everyone if left out.
        against : array like the scores, optional
            The scores of another classifier. The estimate is then how much larger the measure is for this classifier
            than for the other one, on the same labels.
        log_share : float, optional
            How much the log counts, from 0 to 1, as in an earlier estimate that this one is to be compared with.
        """
        if threshold is not None and not 0.0 < threshold < 1.0:
            raise InputError(f"threshold must be in (0, 1); got {threshold}. The usual threshold is 0.5.")
        self._check(measure, of, threshold)
        shift = self.costs.log_odds if threshold is None else float(np.log(threshold / (1.0 - threshold)))
        group = checked_group(where, len(self.margin))
        other = None if against is None else np.asarray(against, dtype=np.float64)
        if other is not None:
            _check_rows(self.design, other, self.y, like=self.margin)
        k = self.positive if of is None else of
        name = measure if other is None else f"difference in {measure}"
        sample, what = self._of_all(measure, other) if k is None else self._of_class(measure, k, shift, other)
        if group is not None:
            what = restricted(what, group.astype(np.float64))
        estimate = population(sample, what, name=name, level=level, log=self.log, log_share=log_share, group=group)
        if self.positive is None:
            return replace(estimate, positives=None if of is None else estimate.positives)
        share = estimate.log_share or 0.0
        used, counts = np.repeat([share > 0.0, share < 1.0], [self.design.m, self.design.held]), self.design.all_counts
        used = used if group is None else used & group
        flagged = mean_of(
            (self.scale.predicted(self.margin, shift) == k)[used], None if counts is None else counts[used]
        )
        return replace(estimate, flagged=flagged, threshold=float(expit(shift)))

    def _check(self, measure: str, of: int | None, threshold: float | None) -> None:
        """Refuse a measure, a class or a threshold that means nothing here."""
        if self.positive is not None and of is None:
            return  # `_named` knows all measures
        if threshold is not None and self.positive is None:
            raise InputError(f"a threshold tells two classes apart; there are {self.K}. Leave it out.")
        known = OF_ALL if of is None else OF_A_CLASS
        if measure in known:
            return
        if of is None and measure in OF_A_CLASS:
            raise InputError(f"{measure} is that of one class, and there are {self.K}. Name the class.")
        whose = f"all {self.K} classes" if of is None else "a class against the others"
        raise InputError(f"measures of {whose} are {', '.join(known)}; got {measure!r}. Name one of them.")

    def _of_class(self, measure: str, k: int, shift: float, other: Floats | None) -> tuple[Sample, Ratio | Smooth]:
        """A measure of one class, and the rows; or how much larger it is than with these other scores."""
        what = self._named(measure, self.margin, k, shift)
        if other is not None:
            what = difference(what, self._named(measure, other, k, shift), measure)
        return self._sample(k), what

    def _named(self, measure: str, margin: Floats, k: int, shift: float) -> Ratio | Smooth:
        """The measure of that name for a classifier with these scores, where errors cost this much."""
        said = self.scale.margin_of(margin, k) if measure in WITHOUT_THRESHOLD else self._said(margin, k, shift)
        if measure == "cost":
            return cost(said, self.costs)
        if measure not in MEASURES:
            raise unknown("measure", measure, [*MEASURES, "cost"])
        return MEASURES[measure](said)

    def _said(self, margin: Floats, k: int, shift: float) -> Floats:
        """+1.0 where the class at position k is predicted, -1.0 elsewhere."""
        return np.where(self.scale.predicted(margin, shift) == k, 1.0, -1.0)

    @cached_property
    def _sample(self) -> Callable[[int], Sample]:
        """`against_rest`, which remembers the last class."""
        return lru_cache(maxsize=1)(self.against_rest)

    def _of_all(self, measure: str, other: Floats | None) -> tuple[Sample, Ratio | Smooth]:
        """A measure of all classes together, of more than two, and the rows."""
        if measure == "error" and other is None:
            return self.of_error()[:2]
        losses = self._losses(measure, self.margin)
        if other is not None:
            return self._valued(losses - self._losses(measure, other)), mean
        every, most = np.ones(len(losses)), float(losses.max())
        return self._valued(losses / most), Ratio(Total(most * every, 0.0 * every), Total(every, every))

    def _valued(self, values: Floats) -> Valued:
        at = np.where(self.design.labelled, positions(self.y, self.K), 0)
        return Valued(self.design, values, self.p, at)

    def _losses(self, measure: str, margin: Floats) -> Floats:
        """What the classifier loses at each row if its class is this one."""
        if measure == "log_loss":
            return -margin
        losses = np.ones(margin.shape)
        losses[np.arange(len(margin)), self.scale.predicted(margin)] = 0.0
        return losses

    @cached_property
    def _log_share(self) -> float | None:
        """How much the log counts for the error."""
        return self.estimate().log_share

    def of_class(self, k: int) -> ClassEstimate:
        """The share of a class among everyone, its recall and its precision."""
        share = self._share(self._sample(k), np.ones(len(self.y)))

        def estimate(measure: str) -> PopulationEstimate | None:
            with suppress(EmptyMeasure):
                return self.estimate(measure, of=k)
            return None

        return ClassEstimate(share.value, estimate("recall"), estimate("precision"))

    def confusion(self) -> list[list[Side]]:
        """The share of everyone that has the class of the row and is predicted to have the class of the column.

        All cells are estimated from the same labels, so they add up to 1.
        """
        said = [(self.predicted == j).astype(np.float64) for j in range(self.K)]
        return [[self._share(self._sample(k), rows) for rows in said] for k in range(self.K)]

    def _share(self, sample: Sample, rows: Floats) -> Side:
        """The share of everyone who is of these rows and of the sample's class."""
        every = np.ones(len(rows))
        what = Ratio(Total(rows, 0.0 * rows), Total(every, every))
        estimate = population(sample, what, name="share", log=self.log, log_share=self._log_share)
        return Side(estimate.value, estimate.low, estimate.high)

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
        found = np.cumsum(self.calibration.chances(margin) * (1.0 if counts is None else counts[order]))
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


def _check_rows(design: Design, margin: Floats, y: Floats, like: Floats | None = None) -> None:
    """Whether there are finite scores for every row, shaped `like` others, and a usable label where labelled."""
    rows, scale = design.m + design.held, scale_of(margin)
    whole = margin.shape[:1] == y.shape == (rows,)
    if not whole or (like is not None and margin.shape != like.shape):
        raise InputError(
            f"margin and y must have one value for each of the {rows} rows of log and pool; got shapes {margin.shape}, "
            f"{y.shape}. Put the log's rows first."
        )
    for i in np.flatnonzero(~np.isfinite(margin.reshape(rows, -1)).all(axis=1))[:1]:
        raise InputError(f"margin must be finite; got {margin[i]} at row {i}. Clip the model's margins.")
    for i in np.flatnonzero(design.labelled & ~np.isin(y, scale.labels))[:1]:
        raise InputError(f"y must be {scale.labels_named} where labelled; got {y[i]} at row {i}. {scale.remedy}")
