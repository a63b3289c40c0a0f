"""What a classifier's error on the whole population is, with an interval: from a log and from bought labels.

Log and pool are m and n rows drawn from the population. Of the log, row i was revealed with probability q0_i. Of
the pool, each round labelled some rows it chose and some it drew at random from all the others, the audit.
Whatever the label of a row, a measure gives it a known outcome; an estimate is linear in those of labelled rows::

    value = mean of g over all rows + sum_i omega_i (outcome_i - g_i)

with weights omega fixed by the design (`Design.omega`), never by the outcomes, and g = 0 or what a model expects.
The value is unbiased for margins that do not depend on which labels were bought: pass `leave_one_out` margins.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from unskew import weights
from unskew.errors import InputError, unknown
from unskew.intervals import Part, bernstein, wald
from unskew.rows import Bools, Floats, Ints

ESTIMATORS = ("is", "mis", "clipped", "sn", "dr")
INTERVALS = ("wald", "bernstein")


class Audit(NamedTuple):
    """A round on a pool: positions of the rows chosen, and of those drawn at random from the rows left.

    Both are rows that were answered. Of those asked, some may be `lost` of either kind: skipped, or not answered yet.
    Whether a row is lost must not depend on its label; then the answered ones of a round stand for all it asked.
    """

    chosen: Ints
    drawn: Ints
    chosen_lost: int = 0
    drawn_lost: int = 0


class Stand(NamedTuple):
    """Answered rows, and how many rows asked each stands for."""

    rows: Ints
    each: float


def _stands(answered: list[Ints], lost: list[int]) -> list[Stand]:
    """Who stands for the rows each round asked: its own answered ones, else those of the nearest round with any.

    Rounds differ in the rows they choose and in how many of them are lost, so none stands for another without need.

    >>> [(s.rows.tolist(), s.each) for s in _stands([np.array([4, 7]), np.array([], dtype=int)], [1, 3])]
    [([4, 7], 1.5), ([4, 7], 1.5)]
    """
    some = [k for k, rows in enumerate(answered) if len(rows)]
    found = []
    for k, own in enumerate(answered):
        rows = own if len(own) else answered[min(some, key=lambda j: abs(j - k), default=k)]
        found.append(Stand(rows, (len(own) + lost[k]) / max(len(rows), 1)))
    return found


@dataclass(frozen=True, eq=False)
class Design:
    """How labels came about: m log rows with `z` and `q0`, then n pool rows labelled in `rounds`.

    >>> design = Design(np.array([True, False]), np.array([0.5, 0.5]), 4, (Audit(np.array([3]), np.array([0])),))
    >>> design.labelled.tolist(), design.rest.tolist()
    ([True, False, True, False, False, True], [3])
    """

    z: Bools
    q0: Floats
    n: int = 0
    rounds: tuple[Audit, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "z", np.asarray(self.z, dtype=bool))
        object.__setattr__(self, "q0", np.asarray(self.q0, dtype=np.float64))
        if self.z.shape != self.q0.shape:
            raise InputError(
                f"z and q0 must have one value a row; got shapes {self.z.shape}, {self.q0.shape}. Align them."
            )
        asked = np.concatenate([*(np.concatenate(r[:2]) for r in self.rounds), np.zeros(0, dtype=np.int64)])
        if len(np.unique(asked)) != len(asked):
            raise InputError("a pool row can be labelled once; a position comes twice. Number rows in the whole pool.")
        if len(asked) and not 0 <= asked.min() <= asked.max() < self.n:
            raise InputError(f"positions must be in 0 to {self.n - 1}; got {asked.min()} to {asked.max()}. Check n.")

    @property
    def m(self) -> int:
        return len(self.z)

    @cached_property
    def labelled(self) -> Bools:
        """Which of the m + n rows have a label."""
        mask = np.zeros(self.m + self.n, dtype=bool)
        mask[: self.m] = self.z
        for r in self.rounds:
            mask[self.m + np.concatenate(r[:2])] = True
        return mask

    @cached_property
    def rest(self) -> Ints:
        """r_k: for how many rows the audit of round k stands: those it was drawn from.

        While no chosen row is answered in any round, nothing else can stand for them: they count as not chosen.
        """
        chosen = np.array([len(r.chosen) + r.chosen_lost for r in self.rounds], dtype=np.int64)
        chosen *= any(len(r.chosen) for r in self.rounds)
        drawn = np.array([len(r.drawn) + r.drawn_lost for r in self.rounds], dtype=np.int64)
        return self.n - np.cumsum(chosen) - np.cumsum(drawn) + drawn

    @cached_property
    def drawn(self) -> Ints:
        """Positions in the pool of all audit rows, round after round."""
        return np.concatenate([r.drawn for r in self.rounds]) if self.rounds else np.zeros(0, dtype=np.int64)

    @cached_property
    def rest_of_drawn(self) -> Floats:
        """r_k of every audit row."""
        return np.repeat(self.rest, [len(r.drawn) for r in self.rounds]).astype(np.float64)

    @cached_property
    def log_size(self) -> float:
        """What the log is worth in uniformly drawn labels: m / mean of 1/q0. 0 if it reveals none."""
        return self.m / float(np.mean(1.0 / self.q0)) if self.z.any() else 0.0

    @cached_property
    def pool_size(self) -> float:
        """What the pool is worth in uniformly drawn labels: 1 / (mean of (r_k/n)^2 over A audit rows / A + 1/n)."""
        A = len(self.drawn)
        if self.n and self.labelled[self.m :].all():
            return float(self.n)
        return 1.0 / (float(np.mean((self.rest_of_drawn / self.n) ** 2)) / A + 1.0 / self.n) if A else 0.0

    def shares(self, *, pool: bool) -> tuple[float, float]:
        """c: how much log and pool count, in proportion to their sizes.

        Sizes depend on the design alone. Inverse estimated variances would lean towards whichever source happened to
        show few losses: too low a value, and too narrow an interval.
        """
        sizes = np.array([self.log_size, self.pool_size if pool else 0.0])
        if not sizes.sum() > 0.0:
            where = (
                "revealed in the log or drawn from the pool" if pool else "revealed in the log, the one source of 'is'"
            )
            raise InputError(f"an estimate needs labels that came at random; got 0 {where}. Set audit= above 0.")
        c = sizes / sizes.sum()
        return float(c[0]), float(c[1])

    def standing(self) -> Iterator[tuple[Stand, Stand]]:
        """Who stands for the rows each round chose, and for those it drew (`_stands`)."""
        chosen = _stands([r.chosen for r in self.rounds], [r.chosen_lost for r in self.rounds])
        drawn = _stands([r.drawn for r in self.rounds], [r.drawn_lost for r in self.rounds])
        return zip(chosen, drawn, strict=True)

    @cached_property
    def pool_weights(self) -> Floats:
        """What every pool row counts for in the mean of T_k / n (`omega`)."""
        if self.labelled[self.m :].all():
            return np.full(self.n, 1.0 / self.n)
        w = np.zeros(self.n)
        A = after = len(self.drawn)  # after / A: the share of T_k, T_k+1, ... in the mean
        for r, r_k, (chosen, drawn) in zip(self.rounds, self.rest, self.standing(), strict=True):
            w[chosen.rows] += chosen.each * after
            w[r.drawn] += r_k
            after -= len(r.drawn)
            w[drawn.rows] += drawn.each * after
        return w / (A * self.n)

    def omega(self, v: Floats, *, pool: bool = True) -> Floats:
        """The weight of every row: log rows c_0 z v / m, pool rows c_1 times what they count for in mean_k T_k / n.

        ::

            T_k = sum over rows labelled before k or chosen in k + r_k / a_k sum over the audit rows of k

        unbiased for the pool's total, given the rounds before; T_k counts in proportion to a_k. Where asked rows were
        lost, answered ones stand for them (`standing`).

        >>> design = Design(np.array([True]), np.array([0.5]), 4, (Audit(np.array([3]), np.array([0])),))
        >>> design.omega(np.array([2.0])).round(3).tolist()                 # log; then 3 of 4, 0, 0, 1 of 4
        [0.578, 0.533, 0.0, 0.0, 0.178]
        """
        c_0, c_1 = self.shares(pool=pool)
        of_pool = c_1 * self.pool_weights if c_1 else np.zeros(self.n)
        return np.concatenate([c_0 * self.z * v / max(self.m, 1), of_pool])


class Outcomes(NamedTuple):
    """A measure as mean numerator / mean denominator: what a row adds to each if its label is +1, if it is -1."""

    numerator: tuple[Floats, Floats]
    denominator: tuple[Floats, Floats]


def _error(margin: Floats) -> Outcomes:
    """Pr(h(X) != Y)."""
    says, one = (margin >= 0.0).astype(np.float64), np.ones(len(margin))
    return Outcomes((1.0 - says, says), (one, one))


def _log_loss(margin: Floats) -> Outcomes:
    """E log(1 + exp(-Y margin))."""
    one = np.ones(len(margin))
    return Outcomes((np.logaddexp(0.0, -margin), np.logaddexp(0.0, margin)), (one, one))


def _precision(margin: Floats) -> Outcomes:
    """Pr(Y = +1 | h(X) = +1)."""
    says = (margin >= 0.0).astype(np.float64)
    return Outcomes((says, 0.0 * says), (says, says))


def _recall(margin: Floats) -> Outcomes:
    """Pr(h(X) = +1 | Y = +1)."""
    says = (margin >= 0.0).astype(np.float64)
    return Outcomes((says, 0.0 * says), (np.ones(len(margin)), 0.0 * says))


MEASURES: dict[str, Callable[[Floats], Outcomes]] = {
    "error": _error,
    "log_loss": _log_loss,
    "precision": _precision,
    "recall": _recall,
}


@dataclass(frozen=True, slots=True)
class PopulationEstimate:
    """A measure on the population: its value, an interval, and what they rest on.

    `effective_sample_size` is how many labels drawn uniformly would be worth as much, by the design alone.
    """

    value: float
    low: float
    high: float
    standard_error: float
    level: float
    measure: str
    estimator: str
    interval: str
    labels: int
    effective_sample_size: float
    q0_estimated: bool = False

    def __str__(self) -> str:
        return (
            f"{self.measure.replace('_', ' ')} {self.value:.3f}, {100 * self.level:g} % interval {self.low:.3f} to "
            f"{self.high:.3f} ({self.estimator}, {self.interval}; {self.labels} labels worth "
            f"{self.effective_sample_size:.0f} drawn at random; q0 {'estimated' if self.q0_estimated else 'given'})"
        )


def population(
    design: Design,
    margin: Floats,
    y: Floats,
    *,
    measure: str = "error",
    estimator: str = "dr",
    interval: str = "wald",
    level: float = 0.95,
) -> PopulationEstimate:
    """A measure of a classifier on the population.

    Parameters
    ----------
    design : Design
        How the labels came about.
    margin : array of length m + n
        The classifier's margin at every row of log and pool; where it was trained on the row's label, the margin it
        would have without (`laplace.leave_one_out`, `cross_fitted_margins`).
    y : array of length m + n
        +1.0 or -1.0 where labelled; anything elsewhere.
    measure : str
        ``"error"``, ``"log_loss"``, ``"precision"`` or ``"recall"``.
    estimator : str
        What g and the log's weights v are:

        - ``"is"``: g = 0, v = 1/q0, the log alone.
        - ``"mis"``: g = 0, v = 1/q0, log and pool. Of a pool, Q(x) is not known at the log's rows, so sources are
          mixed in fixed shares; where every Q_b is, `risk.multiple_importance_sampling` mixes row by row.
        - ``"clipped"``: the same with v = min(1/q0, sqrt(m)): biased, less variable.
        - ``"sn"``: g = the log's self-normalised mean at every row, so that the log's weights have mean 1.
        - ``"dr"``: g = the outcome expected if Pr(Y = +1 | x) = 1 / (1 + exp(-margin)). Any g is unbiased; a good
          one leaves little to weigh.
    interval : "wald" or "bernstein"
        Normal approximation, with Wilson's correction for few draws and few losses; or an empirical Bernstein bound
        (Maurer and Pontil 2009), which leans on no normal limit and is several times as wide.
    level : float
        In (0, 1).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> margin = rng.normal(0, 4, 500); y = np.where(rng.random(500) < expit(margin), 1.0, -1.0)
    >>> q0 = np.where(margin > 0, 0.9, 0.2); z = rng.random(500) < q0
    >>> print(population(Design(z, q0), margin, y))
    error 0.086, 95 % interval 0.042 to 0.140 (dr, wald; 272 labels worth 159 drawn at random; q0 given)
    """
    for name, asked, known in (
        ("measure", measure, tuple(MEASURES)), ("estimator", estimator, ESTIMATORS), ("interval", interval, INTERVALS),
    ):  # fmt: skip
        if asked not in known:
            raise unknown(name, asked, list(known))
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be in (0, 1); got {level}. The usual one is 0.95.")
    rows = design.m + design.n
    margin, y = np.asarray(margin, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not margin.shape == y.shape == (rows,):
        raise InputError(
            f"margin and y must have one value for each of {rows} rows of log and pool; got shapes {margin.shape}, "
            f"{y.shape}. Put the log's rows first."
        )
    for i in np.flatnonzero(~np.isfinite(margin))[:1]:
        raise InputError(f"margin must be finite; got {margin[i]} at row {i}. Clip the model's margins.")
    for i in np.flatnonzero(design.labelled & (np.abs(y) != 1.0))[:1]:
        raise InputError(f"y must be +1 or -1 where labelled; got {y[i]} at row {i}. Map the two classes to these.")
    v = weights.importance(design.q0)
    if estimator == "clipped":
        v = weights.clip(v, math.sqrt(max(design.m, 1)))
    pool = estimator != "is"
    omega = design.omega(v, pool=pool)
    pairs = MEASURES[measure](margin)
    p = expit(margin)

    def estimate(pair: tuple[Floats, Floats]) -> tuple[float, Floats]:
        x = np.where(design.labelled, np.where(y > 0.0, *pair), 0.0)
        g = np.zeros(rows)
        if np.array_equal(*pair):  # the same whatever the label: known at every row
            g = pair[0]
        elif estimator == "dr":
            g = p * pair[0] + (1.0 - p) * pair[1]
        elif estimator == "sn" and design.z.any():
            g = np.full(rows, np.average(x[: design.m][design.z], weights=v[design.z]))
        return float(g.mean() + omega @ (x - g)), g

    (numerator, g_n), (denominator, g_d) = estimate(pairs.numerator), estimate(pairs.denominator)
    if not denominator > 0.0:
        raise InputError(
            f"{measure} is a share of rows of some kind; got {max(denominator, 0.0):.3g} of the population estimated "
            "to be of it. Label more rows."
        )
    ratio = numerator / denominator
    # The ratio's delta method: its error is about the mean of (numerator - ratio denominator) / denominator.
    if_plus, if_minus = ((a - ratio * b) / denominator for a, b in zip(pairs.numerator, pairs.denominator, strict=True))
    g = (g_n - ratio * g_d) / denominator
    residual = np.where(design.labelled, np.where(y > 0.0, if_plus, if_minus) - g, 0.0)
    ends = (np.minimum(if_plus, if_minus) - g, np.maximum(if_plus, if_minus) - g)
    c_0, c_1 = design.shares(pool=pool)
    parts = [(c_0, _log_part(design, residual, ends, v))] if c_0 else []
    covariance = float(omega @ ((g - g.mean()) * residual))  # of g and the residual at a row
    rows_variance = max(float(g.var()) + 2.0 * covariance, 0.0) / rows
    if c_1:
        parts.append((c_1, _pool_part(design, residual, ends)))
        rows_variance += c_1 * float(omega[design.m :] @ residual[design.m :] ** 2) / design.n
    below, above = (wald if interval == "wald" else bernstein)(parts, rows_variance, level)
    top = math.inf if measure == "log_loss" else 1.0
    value = min(max(ratio, 0.0), top)  # before its interval: one around a value outside would have no width left
    return PopulationEstimate(
        value,
        max(value - below, 0.0),
        min(value + above, top),
        math.sqrt(sum(c**2 * part.variance for c, part in parts) + rows_variance),
        level,
        measure,
        estimator,
        interval,
        int(np.count_nonzero(omega)),
        design.log_size + (design.pool_size if pool else 0.0),
    )


def _log_part(design: Design, residual: Floats, ends: tuple[Floats, Floats], v: Floats) -> Part:
    """Terms z_i v_i residual_i, one a row of the log."""
    low, high = (end[: design.m] for end in ends)
    t = design.z * v * residual[: design.m]
    width = math.sqrt(float(np.average((high - low) ** 2, weights=design.q0 * v**2)))
    span = max(float((v * high).max()), 0.0) - min(float((v * low).min()), 0.0)
    mid = float((low + high).mean()) / 2.0
    return Part(float(t.mean()), _variance(t, width), design.m, span, design.log_size, mid, width)


def _pool_part(design: Design, residual: Floats, ends: tuple[Floats, Floats]) -> Part:
    """Terms (known_k + r_k residual_i) / n, one an audit row: each alone is unbiased for the pool's mean."""
    low, high = (end[design.m :] for end in ends)
    x, A = residual[design.m :], len(design.drawn)
    if design.labelled[design.m :].all():
        return Part(float(x.mean()), 0.0, design.n, 0.0, math.inf, 0.0, 0.0)
    known, lost, after, sums = 0.0, 0.0, A, []
    for r, (chosen, drawn) in zip(design.rounds, design.standing(), strict=True):
        known += chosen.each * float(x[chosen.rows].sum())
        sums += [known] * len(r.drawn)
        u = design.pool_weights[r.chosen]
        lost += float(u @ (u - after / (A * design.n)))  # less what they would count for if none were lost
        after -= len(r.drawn)
        known += drawn.each * float(x[drawn.rows].sum())
    share = design.rest_of_drawn / design.n
    i = design.drawn
    open_part = share * x[i]
    t = np.array(sums) / design.n + open_part
    width = math.sqrt(float(np.mean((share * (high[i] - low[i])) ** 2)))
    span = float(np.ptp(np.array(sums))) / design.n + float(share.max()) * float(high.max() - low.min())
    mid = float(np.mean(share * (low[i] + high[i]))) / 2.0
    chosen_x = np.concatenate([x[r.chosen] for r in design.rounds])
    spread = float(chosen_x.var(ddof=1)) if len(chosen_x) > 1 else width**2 / 4.0
    variance = _variance(t, width) + lost * spread  # sampling without replacement: the answered of the chosen
    return Part(float(open_part.mean()), variance, A, span, A, mid, width)


def _variance(t: Floats, width: float) -> float:
    """The variance of mean(t); of a single term, the largest there can be."""
    return float(t.var(ddof=1)) / len(t) if len(t) > 1 else width**2 / 4.0
