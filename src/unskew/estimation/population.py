"""A classifier's error on the whole population, with an interval, estimated from a log and from bought labels.

The log's m rows and the pool's n rows are drawn from the population. Row i of the log was revealed with probability
q0_i. In the pool, each round labelled some rows that it chose and some that it drew at random from all the others.
A measure gives a row a known outcome for either label. An estimate is linear in the outcomes of labelled rows::

    value = mean of g over all rows + sum_i omega_i (outcome_i - g_i)

The weights omega are fixed by the design (`Design.omega`), never by the outcomes; g is 0 or the outcome that a model
expects. The value is unbiased if margins do not depend on which labels were bought: pass `leave_one_out` margins.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from unskew.errors import EmptyMeasure, InputError, unknown
from unskew.estimation.design import Design
from unskew.estimation.intervals import Part, bernstein, wald
from unskew.estimation.measures import MEASURES
from unskew.rows import Floats
from unskew.sampling import weights

ESTIMATORS = ("is", "mis", "clipped", "sn", "dr")
INTERVALS = ("wald", "bernstein")


@dataclass(frozen=True, slots=True)
class PopulationEstimate:
    """An estimated measure on the population: its value, an interval, and what they are based on.

    `effective_sample_size` is the number of uniformly drawn labels that would carry as much information. It depends on
    the design alone.
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

    def _repr_html_(self) -> str:
        facts = {
            f"{self.measure.replace('_', ' ')} on everyone": f"<b>{self.value:.3f}</b>",
            f"{100 * self.level:g} % interval": f"{self.low:.3f} to {self.high:.3f}",
            "rests on": f"{self.labels} labels, worth {self.effective_sample_size:.0f} drawn at random",
            "estimator": f"{self.estimator}, {self.interval} interval",
            "propensities": "estimated: read the interval as approximate" if self.q0_estimated else "given",
        }
        return f"<table>{''.join(f'<tr><th>{name}</th><td>{told}</td></tr>' for name, told in facts.items())}</table>"


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
    """Estimate a measure of a classifier on the population.

    Parameters
    ----------
    design : Design
        How the labels came about.
    margin : array of length m + n
        The classifier's margin at every row of log and pool. At a row whose label it was trained on, the margin it
        would have without that label (`laplace.leave_one_out`, `cross_fitted_margins`).
    y : array of length m + n
        +1.0 or -1.0 where labelled; any value elsewhere.
    measure : str
        ``"error"``, ``"log_loss"``, ``"precision"`` or ``"recall"``.
    estimator : str
        Which g and which log weights v are used:

        - ``"is"``, importance sampling: g = 0, v = 1/q0, the log alone.
        - ``"mis"``, multiple importance sampling: g = 0, v = 1/q0, log and pool. For a pool, Q(x) is not known at the
          log's rows, so the sources are mixed in fixed shares.
        - ``"clipped"``: the same with v = min(1/q0, sqrt(m)): biased, but less variable.
        - ``"sn"``, self-normalised: g = the log's self-normalised mean at every row, so that the log's weights have
          mean 1.
        - ``"dr"``, doubly robust: g = the outcome expected if Pr(Y = +1 | x) = 1 / (1 + exp(-margin)). The estimate is
          unbiased for any g; a good g leaves small residuals for the weights to multiply.
    interval : "wald" or "bernstein"
        Normal approximation, with Wilson's correction for few draws and few losses; or an empirical Bernstein bound
        (Maurer and Pontil 2009), which does not rely on a normal limit and is several times as wide.
    level : float
        The confidence level, in (0, 1).

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
        raise InputError(f"level must be in (0, 1); got {level}. The usual level is 0.95.")
    rows = design.m + design.n
    margin, y = np.asarray(margin, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not margin.shape == y.shape == (rows,):
        raise InputError(
            f"margin and y must have one value for each of the {rows} rows of log and pool; got shapes {margin.shape}, "
            f"{y.shape}. Put the log's rows first."
        )
    for i in np.flatnonzero(~np.isfinite(margin))[:1]:
        raise InputError(f"margin must be finite; got {margin[i]} at row {i}. Clip the model's margins.")
    for i in np.flatnonzero(design.labelled & (np.abs(y) != 1.0))[:1]:
        raise InputError(f"y must be +1 or -1 where labelled; got {y[i]} at row {i}. Map the two classes to +1 and -1.")
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
        if np.array_equal(*pair):  # the outcome does not depend on the label, so it is known at every row
            g = pair[0]
        elif estimator == "dr":
            g = p * pair[0] + (1.0 - p) * pair[1]
        elif estimator == "sn" and design.z.any():
            g = np.full(rows, np.average(x[: design.m][design.z], weights=v[design.z]))
        return float(g.mean() + omega @ (x - g)), g

    (numerator, g_n), (denominator, g_d) = estimate(pairs.numerator), estimate(pairs.denominator)
    if not denominator > 0.0:
        raise EmptyMeasure(
            f"{measure} needs a positive denominator; got an estimated {max(denominator, 0.0):.3g} of the population. "
            "Label more rows."
        )
    ratio = numerator / denominator
    # Delta method: the error of the ratio is about the mean of (numerator - ratio denominator) / denominator.
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
    value = min(max(ratio, 0.0), top)  # first: an interval around a value outside [0, top] could end up empty
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
    """The log's part: terms z_i v_i residual_i, one per row of the log."""
    low, high = (end[: design.m] for end in ends)
    t = design.z * v * residual[: design.m]
    width = math.sqrt(float(np.average((high - low) ** 2, weights=design.q0 * v**2)))
    span = max(float((v * high).max()), 0.0) - min(float((v * low).min()), 0.0)
    mid = float((low + high).mean()) / 2.0
    return Part(float(t.mean()), _variance(t, width), design.m, span, design.log_size, mid, width)


def _pool_part(design: Design, residual: Floats, ends: tuple[Floats, Floats]) -> Part:
    """The pool's part: terms (known_k + r_k residual_i) / n, one per drawn row, each unbiased for the pool's mean."""
    low, high = (end[design.m :] for end in ends)
    x, A = residual[design.m :], len(design.drawn)
    if design.labelled[design.m :].all():
        return Part(float(x.mean()), 0.0, design.n, 0.0, math.inf, 0.0, 0.0)
    known, lost, after, sums = 0.0, 0.0, A, []
    for r, (chosen, drawn) in zip(design.rounds, design.standing(), strict=True):
        known += chosen.each * float(x[chosen.rows].sum())
        sums += [known] * len(r.drawn)
        u = design.pool_weights[r.chosen]
        lost += float(u @ (u - after / (A * design.n)))  # minus the weight they would have if none were lost
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
    variance = _variance(t, width) + lost * spread  # the answered rows sample the chosen ones without replacement
    return Part(float(open_part.mean()), variance, A, span, A, mid, width)


def _variance(t: Floats, width: float) -> float:
    """The variance of mean(t); for a single term, the largest possible variance."""
    return float(t.var(ddof=1)) / len(t) if len(t) > 1 else width**2 / 4.0
