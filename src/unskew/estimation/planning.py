"""What further labels would do to the interval of the error, and how many of them a wanted width needs."""

import math
from bisect import bisect_left
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from unskew.errors import InputError
from unskew.estimation.ahead import Ahead, Needed
from unskew.estimation.everyone import Everyone
from unskew.estimation.measures import measured
from unskew.estimation.population import LOG_AT_MOST, PopulationEstimate
from unskew.rows import Floats, Ints
from unskew.sampling.draws import EVENLY, doubt, spread

WIDTHS = (0.02, 0.01)
"""The half-widths that people are told about."""

SLICES = 1000
"""More rows are put in order and cut into this number of slices, which stand for them."""


def worth_of_draws(wrong: Floats, n: int, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Some numbers of next labels, and for each what a draw among them adds to 1 / variance on average: n^2 / spread.

    `wrong` is the chance that the model is wrong, at each row without a label, and `counts` is the number of such rows
    that each stands for (`unskew.estimation.counts`). Rows get their labels about as in a race
    (`unskew.sampling.draws`): at time t, row i is still without one with chance exp(-t w_i). The fewer rows are left,
    the smaller is the spread of a draw.

    >>> labels, worth = worth_of_draws(np.full(300, 0.5), 300)
    >>> np.interp([0, 150, 299], labels, worth).round().tolist()                  # 4 n / (rows left) for even draws
    [4.0, 8.0, 1204.0]
    """
    left = len(wrong) if counts is None else round(counts.sum())
    if not left:
        return np.zeros(1), np.zeros(1)
    cuts = np.linspace(0, left, min(left, SLICES) + 1).astype(np.int64)
    each = np.diff(cuts)
    e = _slices(wrong, cuts, counts) / each
    w = doubt(e) * len(e)
    last = np.log(left + 1.0) / EVENLY  # by then, not even one row is left
    stay = each * np.exp(-np.outer(np.expm1(np.linspace(0.0, np.log1p(last), 200)), w))
    labels = left - stay.sum(axis=1)
    root = 1.0 / np.sqrt(np.maximum((stay @ w) * (stay @ (e * (1.0 - e) / w)), 1e-100))
    added = np.cumsum(np.diff(labels) * root[1:] * root[:-1])  # exact where the spread is a square of the rows left
    now = n**2 / max(_spread(wrong, counts), 1e-300)
    return labels, now * np.append(1.0, added / labels[1:] / root[0] ** 2)


def _slices(wrong: Floats, cuts: Ints, counts: Floats | None) -> Floats:
    """The sum of each slice of the rows in order, where the slices are cut after these numbers of rows.

    >>> _slices(np.array([0.5, 0.1]), np.array([0, 2, 4]), np.array([3.0, 1.0])).tolist()       # 0.1, 0.5, 0.5, 0.5
    [0.6, 1.0]
    """
    if counts is None:
        return np.asarray(np.add.reduceat(np.sort(wrong), cuts[:-1]))
    order = np.argsort(wrong, kind="stable")
    rows, total = (np.cumsum(np.append(0.0, x[order])) for x in (counts, counts * wrong))
    return np.diff(np.interp(cuts, rows, total))


def _spread(wrong: Floats, counts: Floats | None) -> float:
    """The spread of a draw in proportion to doubt among these rows (`unskew.sampling.draws.spread`)."""
    if counts is None:
        return spread(wrong, doubt(wrong))
    variance, every = wrong * (1.0 - wrong), counts.sum()
    total = float((counts * np.sqrt(variance)).sum())
    w = (1.0 - EVENLY) * np.sqrt(variance) / max(total, 1e-300) + EVENLY / every
    return float((counts * variance / w).sum())


class Widths:
    """What further labels would do to the interval of the error.

    The drawn labels so far leave a variance 1 / I, where I sums n^2 / spread over the draws (`unskew.sampling.draws`).
    The log adds 1 / V_log where it counts. With d further draws by the present model, the estimate's variance is ::

        V(d) = 1 / (1 / V_log + I + sum of n^2 / spread over these draws) + rows

    unless the log would count for more than half (`population.LOG_AT_MOST`). Rows are drawn from those that are left,
    so the spread falls as the pool runs out (`worth_of_draws`). Once every row has a label, only the last term remains.
    It is there because log and pool are themselves a sample. Where the labels of log or draw show another variance than
    the model expects of them, their part changes in proportion. A model that goes on learning needs fewer labels than
    this, one that is too sure of itself needs more.

    Parameters
    ----------
    everyone : Everyone
        The rows as judged by the present model, with a pool.
    drawn : float
        The share of all labels that is drawn.
    level : float
        The confidence level, in (0, 1).
    """

    def __init__(self, everyone: Everyone, drawn: float, *, level: float = 0.95) -> None:
        if not 0.0 < drawn <= 1.0:
            raise InputError(f"an interval needs drawn labels, so drawn must be in (0, 1]; got {drawn}. Try 0.5.")
        design = everyone.design
        self.everyone, self.drawn, self.level = everyone, drawn, level
        self._sample, what, wrong = everyone.of_error()
        self._slopes = measured(what, self._sample.masses((0.0, 0.0)))[1]
        log, draw = self._sample.anticipated(self._slopes)
        self._by_log = 1.0 / log if self.now is not None and self.now.log_share else 0.0
        self._by_draw = 1.0 / draw if draw > 0.0 else math.inf
        shown = self._sample.spread(self._slopes, (1.0, 1.0))
        self._of_log = shown.log.variance
        self._worse = shown.draw.variance / draw if 0.0 < draw < math.inf else 1.0
        unlabelled = ~design.labelled[design.m :]
        wrong = wrong[design.m :][unlabelled]
        counts = None if design.counts is None else design.counts[unlabelled]
        self._unlabelled = design.n - int(np.count_nonzero(~unlabelled))
        self._of_rows = self._sample.of_rows(self._slopes)
        self.left = self._unlabelled - sum(r.chosen_lost + r.drawn_lost for r in design.rounds)
        self._worth = worth_of_draws(wrong, design.n, counts)

    @cached_property
    def now(self) -> PopulationEstimate | None:
        """The estimate now, unless the first drawn label replaces it: by then an untrusted log no longer counts."""
        design = self.everyone.design
        if design.measures_pool or (design.z.any() and self.everyone.log == "given"):
            return self.everyone.estimate(level=self.level)
        return None

    def draws(self, labels: int) -> int:
        """How many of the next labels are drawn, so that their share of all labels is `drawn`."""
        design = self.everyone.design
        before, bought = design.draws, design.n - self._unlabelled
        bought -= sum(len(r.chosen) for r in design.rounds if r.before)
        return min(max(round(self.drawn * (bought + labels)) - before, 0), labels)

    def half_width(self, labels: int) -> float:
        """Half the width that the interval should have after this number of further labels."""
        by_draw = math.inf
        if labels < self._unlabelled:
            by_draw = self._by_draw + self.draws(labels) * float(np.interp(labels, *self._worth))
        if self._by_log + by_draw == 0.0:
            return math.inf
        c = 1.0
        if by_draw:
            draw = 1.0 / by_draw + self._of_rows
            c = min(draw / (1.0 / self._by_log + draw), LOG_AT_MOST) if self._by_log else 0.0
        rows = self._sample.spread(self._slopes, (c, 1.0 - c)).rows
        variance = c**2 * self._of_log + rows
        variance += (1.0 - c) ** 2 * self._worse / by_draw if by_draw else 0.0
        return float(ndtri(0.5 + self.level / 2.0)) * math.sqrt(variance)

    def labels_for(self, half_width: float) -> Needed:
        """The number of further labels that bring the interval to +- `half_width`."""
        if not 0.0 < half_width < 1.0:
            raise InputError(f"half_width must be in (0, 1); got {half_width}. For +-2 points, pass 0.02.")
        if self.now is not None and self.now.high - self.now.low <= 2.0 * half_width:
            return Needed(half_width, 0, 0)
        labels = bisect_left(range(self.left + 1), True, key=lambda labels: self.half_width(labels) <= half_width)
        return Needed(half_width, labels, self.draws(labels)) if labels <= self.left else Needed(half_width, None, None)

    def ahead(self, left: int) -> Ahead:
        """What is to be expected if `left` further labels may be bought."""
        return Ahead(left, self.half_width(left), tuple(map(self.labels_for, WIDTHS)))
