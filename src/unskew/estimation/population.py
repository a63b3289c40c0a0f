"""A classifier's error on the whole population, with an interval, estimated from a log and from bought labels.

The log's m rows and the pool's n rows are drawn from the population. Row i of the log was revealed with probability
q0_i. In the pool, each round labelled rows that it chose and rows that it drew from all the others (`Design`). On a
stream, which takes the place of the pool, each row was labelled with a known chance of its own (`StreamDesign`). A
model gives every row a probability p_i of label +1. The estimated mass of label +1 at row i is ::

    a_i = p_i / N + omega_i (t_i - p_i),    omega_i = c_0 z_i / (m q0_i)  in the log,   c_1 w_i  in the pool

with t_i = 1 for label +1 and 0 for label -1, and a_i + b_i = 1/N. So an estimate starts from what the model expects and
is corrected by what the labels say. Any p_i will do: it is unbiased if p_i does not depend on the row's own label (pass
margins that were computed without it). Good p_i leave little for the weights to multiply. docs/theory.md has the proof.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from unskew.errors import EmptyMeasure, InputError, NoRandomLabel
from unskew.estimation.counts import mean_of, variance_of
from unskew.estimation.measures import Measured, Ratio, Slopes, Smooth, measured, slopes_at
from unskew.estimation.sample import Sample, Spread
from unskew.rows import Bools

DISAGREE = 0.01
"""Log and draw disagree if a difference as large as theirs has less than this chance while both are right."""


LOG_AT_MOST = 0.5
"""The most that the log counts beside drawn labels. A log whose propensities are wrong in a way that no test sees can
look far more informative than it is."""


Log = Literal["given", "refuted", "estimated", "earlier", "selected"]
"""How far a log can be trusted to speak for everyone.

- ``"given"``: its propensities are known. It counts beside the drawn labels, as long as the two agree.
- ``"refuted"``: its propensities are given, but do not fit who was labelled (`unskew.sampling.diagnostics.balance`). It
  counts only while there are no drawn labels.
- ``"estimated"``: its propensities were estimated. It counts only while there are no drawn labels.
- ``"earlier"``: its propensities are known, but the pool has grown since. It speaks for those among whom the campaign
  began, and perhaps not for rows that came later. It counts only while there are no drawn labels.
- ``"selected"``: it holds labelled rows only, so it is no sample of everyone. It never counts.
"""


class Side(NamedTuple):
    """What one source of labels says by itself."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PopulationEstimate:
    """An estimated measure on the population: its value, an interval, and what they are based on.

    Attributes
    ----------
    value, low, high : float
    standard_error, level : float
    measure : str
    labels : int
        The number of labels it rests on.
    effective_sample_size : float
        The number of uniformly drawn labels that would carry as much information.
    q0_estimated : bool
        Whether the log's propensities were estimated.
    q0_refuted : bool
        Whether the log's propensities were given and do not fit who was labelled.
    log_share : float or None
        How much the log counts, from 0 to 1; the drawn labels count for the rest. Estimates of versions before 0.4.0 do
        not say it.
    log, draw : Side or None
        What the log's labels and the drawn labels say by themselves, where there are any.
    agreement : float or None
        The chance that log and draw differ at least this much if both are right (a p-value).
    positives, flagged : float or None
        The estimated share of actual positives, and the share of rows that the model predicts to be positive.
    threshold : float
        The probability from which on it does.
    extended : bool
        Whether rows came to the pool after the campaign began. The log may not speak for them.
    """

    value: float
    low: float
    high: float
    standard_error: float
    level: float
    measure: str
    labels: int
    effective_sample_size: float
    q0_estimated: bool = False
    q0_refuted: bool = False
    log_share: float | None = None
    log: Side | None = None
    draw: Side | None = None
    agreement: float | None = None
    positives: float | None = None
    flagged: float | None = None
    threshold: float = 0.5
    extended: bool = False

    @property
    def commoner(self) -> float | None:
        """The error of always saying the commoner class."""
        return None if self.positives is None else min(self.positives, 1.0 - self.positives)

    @property
    def rests_on(self) -> str:
        """The labels behind it, in words."""
        if self.log_share is None:
            return "labels drawn at random"
        if self.log_share == 1.0:
            return "the log, which may not speak for rows that came later" if self.extended else "the log"
        return "the drawn labels" if self.log_share == 0.0 else "the drawn labels and the log"

    @property
    def _origin(self) -> str:
        given = "given, but refuted by who was labelled" if self.q0_refuted else "given"
        return "estimated" if self.q0_estimated else given

    def __str__(self) -> str:
        beside = "" if self.commoner is None or self.measure != "error" else f"; commoner class {self.commoner:.3f}"
        return (
            f"{self.measure.replace('_', ' ')} {self.value:.3f}, {100 * self.level:g} % interval {self.low:.3f} to "
            f"{self.high:.3f} ({self.labels} labels worth {self.effective_sample_size:.0f} drawn evenly; rests on "
            f"{self.rests_on}; q0 {self._origin}{beside})"
        )

    def _repr_html_(self) -> str:
        facts = {
            f"{self.measure.replace('_', ' ')} on everyone": f"<b>{self.value:.3f}</b>",
            f"{100 * self.level:g} % interval": f"{self.low:.3f} to {self.high:.3f}",
            "rests on": f"{self.rests_on}: {self.labels} labels, worth {self.effective_sample_size:.0f} drawn evenly",
            "propensities": self._origin,
        }
        if self.commoner is not None and self.measure == "error":
            facts["always saying the commoner class"] = f"{self.commoner:.3f}"
        return f"<table>{''.join(f'<tr><th>{name}</th><td>{told}</td></tr>' for name, told in facts.items())}</table>"


def population(
    sample: Sample,
    what: Ratio | Smooth,
    *,
    name: str = "error",
    level: float = 0.95,
    log: Log = "given",
    log_share: float | None = None,
    group: Bools | None = None,
) -> PopulationEstimate:
    """Estimate a measure on the population (`unskew.estimation.everyone.Everyone.estimate` for the usual way).

    Log and draw count in inverse proportion to the variances that the model expects of them, not to what their labels
    show: otherwise the source that happened to show few errors would count for more. If the two differ by more than
    chance explains, the log is left out: its propensities can be wrong, those of the draw cannot. The test has a level
    of 1 %, because it is made in every round.

    Parameters
    ----------
    sample : Sample
        The rows of log and pool, their labels, and what the model says of them.
    what : Ratio or Smooth
        The measure, from `unskew.estimation.measures`.
    name : str
        What it is called.
    level : float
        The confidence level, in (0, 1).
    log : str
        How far the log can be trusted (`Log`).
    log_share : float, optional
        How much the log counts, instead of what is said above: so that several estimates rest on the same labels.
    group : array of bool, optional
        The rows that the measure is about, if it is not about everyone (`unskew.estimation.measures.restricted`).
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be in (0, 1); got {level}. The usual level is 0.95.")
    design, z = sample.design, float(ndtri(0.5 + level / 2.0))
    has_log, has_draw = bool(design.z.any()) and log != "selected", design.measures_pool
    if group is not None:  # a source that has no row of the group says nothing about it
        has_log, has_draw = has_log and bool(group[: design.m].any()), has_draw and bool(group[design.m :].any())
    if not (has_log or has_draw):
        got = "got 0 of them"
        if design.draws and design.unmeasured:
            got = f"none was drawn since the pool was extended, so nothing is known of {design.unmeasured:,} new rows"
        raise NoRandomLabel(
            f"an estimate needs labels drawn at random; {got}, and the log {_silent(log)}. "
            "Set drawn= above 0, and answer drawn rows."
        )
    # c of E5. One source alone counts fully. Of two, the log counts only if it is trusted and agrees with the draw.
    c, agreement = (1.0, 0.0) if not has_draw else (0.0, 1.0), None
    if has_log and has_draw:
        together = _shares(sample, what, name)
        _, slopes = _at(sample, what, name, together)
        found, (by_log, by_draw) = sample.spread(slopes, (1.0, 1.0)), sample.means(slopes)
        # Both corrections of E5 estimate the same mean of d, independently: their difference has mean 0 and the
        # sum of their variances. `agreement` is its two-sided normal p-value.
        apart, expected = (by_log - by_draw) ** 2, found.log.variance + found.draw.variance
        agreement = math.erfc(math.sqrt(apart / expected / 2.0)) if expected > 0.0 else float(apart == 0.0)
        if log == "given" and agreement >= DISAGREE:
            c = together
    if log_share is not None:
        c = log_share, 1.0 - log_share

    @cache
    def side(at: tuple[float, float]) -> tuple[Side, float]:
        return _interval(sample, what, name, at, z, of_all=group is None)

    def alone(at: tuple[float, float]) -> Side | None:
        try:
            return side(at)[0]
        except EmptyMeasure:  # this source has no row of the kind or of the group
            return None

    (value, low, high), variance = side(c)
    masses = sample.masses(c)
    _, slopes = _at(sample, what, name, c)
    used = np.repeat([c[0] > 0.0, c[1] > 0.0], [design.m, design.held])
    plus, minus = masses if group is None else (masses.plus[group], masses.minus[group])
    return PopulationEstimate(
        value,
        low,
        high,
        math.sqrt(variance),
        level,
        name,
        int(np.count_nonzero(design.labelled & used)),
        _worth(sample, slopes, c, variance),
        q0_estimated=log in ("estimated", "selected"),
        q0_refuted=log == "refuted",
        log_share=c[0],
        log=alone((1.0, 0.0)) if has_log else None,
        draw=alone((0.0, 1.0)) if has_draw else None,
        agreement=agreement,
        positives=min(max(float(plus.sum() / (plus + minus).sum()), 0.0), 1.0),
        extended=design.strata is not None,
    )


def _silent(log: Log) -> str:
    return "shows only those who were picked" if log == "selected" else "reveals none"


def _shares(sample: Sample, what: Ratio | Smooth, name: str) -> tuple[float, float]:
    """How much log and draw count, by the variances that the model expects: c_0 and c_1 of E5.

    They were expected before the labels came. Variances that the labels show would favour the source that happened
    to show few errors, and bias the estimate downwards.
    """
    _, slopes = measured(what, sample.masses((0.0, 0.0)), name)
    log, draw = sample.anticipated(slopes)
    draw += sample.of_rows(slopes)  # that of the log includes its rows
    c = min(draw / (log + draw), LOG_AT_MOST) if log + draw > 0.0 else 0.0
    return c, 1.0 - c


def _at(sample: Sample, what: Ratio | Smooth, name: str, c: tuple[float, float]) -> Measured:
    """The value and its slopes where log and draw count c; what the model expects if the labels show none to divide by.

    At a rare class, the corrections by labels can outweigh the few positives that the model expects.
    """
    try:
        return measured(what, sample.masses(c), name)
    except EmptyMeasure:
        return measured(what, sample.masses((0.0, 0.0)), name)


def _interval(
    sample: Sample, what: Ratio | Smooth, name: str, c: tuple[float, float], z: float, *, of_all: bool
) -> tuple[Side, float]:
    """The value and its interval where log and draw count c; and the variance.

    The error of everyone has a normal interval: rows are drawn to measure just this, so no label counts for very much.
    In other measures a few labels can, and then the variance grows with the value. So the interval of a skewed
    estimate, whose ends are a little further on the side of the tail, is tried too, and the further end counts.
    """
    value, slopes = _at(sample, what, name, c)
    here = sample.spread(slopes, c)  # delta method: the slopes take the place of x
    low, high = least, most = _range(what, name)
    inside = min(max(value, least), most)  # corrections by labels can carry an estimate beyond what can be
    spread: Spread | None = here
    if isinstance(what, Ratio) and np.ptp(what.bottom) > 0.0:  # otherwise the bottom is known
        spread = _of_ratio(sample, what, inside, most, c)
    if spread is not None:
        ends = _ends(z, spread.variance(c), 0.0)
        # The third cumulant is itself uncertain, so the skewed interval may widen the normal one, never narrow it.
        if not (of_all and name == "error"):
            skewed = _ends(z, spread.variance(c), spread.skew(c))
            ends = min(ends[0], skewed[0]), max(ends[1], skewed[1])
        low, high = value + ends[0], value + ends[1]
    return Side(inside, min(max(low, least), inside), max(min(high, most), inside)), here.variance(c)


def _ends(z: float, variance: float, slope: float) -> tuple[float, float]:
    """Where (d / z)^2 = variance + slope d (E9): how far below and above the value the interval ends.

    `slope` is how fast the variance grows with the value: the third cumulant, divided by the variance. If it is 0,
    the interval is normal. For a share of n rows it is (1 - 2 share) / n, and this is nearly Wilson's interval (1927).

    >>> [round(end, 2) for end in _ends(2.0, 1.0, 0.0)], [round(end, 2) for end in _ends(2.0, 1.0, 0.5)]
    ([-2.0, 2.0], [-1.24, 3.24])
    """
    half = math.sqrt(variance + (z * slope / 2.0) ** 2)
    return z * (z * slope / 2.0 - half), z * (z * slope / 2.0 + half)


def _range(what: Ratio | Smooth, name: str) -> tuple[float, float]:
    """The least and the largest value there can be. A ratio of sums is at most the largest ratio of a row."""
    if isinstance(what, Ratio):
        some = [(top[bottom > 0.0] / bottom[bottom > 0.0]).max(initial=0.0) for top, bottom in zip(*what, strict=True)]
        return 0.0, float(max(some))
    most = math.inf if name.endswith(("log_loss", "cost")) else 1.0
    return -most if name.startswith("difference") else 0.0, most


def _of_ratio(sample: Sample, what: Ratio, value: float, most: float, c: tuple[float, float]) -> Spread | None:
    """How uncertain a ratio in [0, most] is, for its interval: taken at a value a little nearer to the middle (E6).

    If the bottom is as uncertain as the number of k rows, the value is moved as if half a row more had been found and
    half a row more had been missed. Otherwise a model that found all of three labelled positives would seem to be sure
    to find every other. It is None if the labels do not show that there is anything to divide by.
    """
    bottom = what.bottom.of(sample.masses(c))
    if not bottom > 0.0:
        return None
    one_in_k = sample.spread(Slopes(what.bottom.plus / bottom, what.bottom.minus / bottom), c).variance(c)
    nearer = (value + one_in_k * most / 2.0) / (1.0 + one_in_k)
    return sample.spread(slopes_at(what, nearer, bottom), c)


def _worth(sample: Sample, slopes: Slopes, c: tuple[float, float], variance: float) -> float:
    """The number of evenly drawn labels that would leave the same variance."""
    design, delta = sample.design, slopes.plus - slopes.minus
    rows = sample.p * slopes.plus + (1.0 - sample.p) * slopes.minus
    one = mean_of(sample.doubt * delta**2, design.all_counts) + variance_of(rows, design.all_counts)
    of_labels = variance - sample.spread(slopes, c).rows
    most = float(design.log.n + design.n)
    return min(one / of_labels, most) if of_labels > 0.0 else most
