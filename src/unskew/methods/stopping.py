"""When to stop buying labels: the error is known well enough, or the next labels are expected to gain too little."""

import math
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, ndtr, ndtri, owens_t

from unskew.errors import InputError, NoRandomLabel
from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import EQUAL, Costs
from unskew.methods.loop import Method
from unskew.methods.prospect import AHEAD, Prospect, least_worth
from unskew.models.belief import Belief
from unskew.rows import Floats, Ints, stack, take

LOOK_AT = 10_000
"""In a larger pool, the gain is averaged over this number of rows."""

OF_EACH_CLASS = 10
"""No gain is estimated before each class has this number of labels: until then the model may be wrongly sure."""

BETTER = 0.9
"""No gain is estimated before the model's errors cost less than this part of what flagging nobody or everybody costs:
if all errors cost the same, before it errs less than this part of the error of always saying the commoner class."""

TINY = 1e-300
"""Stands for 0 where something is divided by it."""


@dataclass(frozen=True)
class Stop:
    """The reason to stop buying labels, in words, and the figures behind it."""

    reason: str
    labels: int
    value: float
    threshold: float

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class StoppingRule:
    """Decides when to stop buying labels; call it after each `tell`.

    By default, it stops when the next 50 labels are expected to gain less than a fiftieth of what the labels so far
    have gained. Less than 0.025 percentage points is never worth 50 labels, and half a point always is.

    Parameters
    ----------
    width : float, optional
        Stop when the 95 % interval of the population error is no wider than this.
    gain : float, optional
        Stop when each of the next labels is expected to lower the error by less than this; the mean cost of a row, if
        errors differ in what they cost; if a recall is wanted, when each is worth fewer false alarms a row than this.

    Examples
    --------
    >>> from unskew import LoggedData, StoppingRule, Unskew
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (900, 2)); y = X[:, 0] > 0.3 * X[:, 1]
    >>> log = LoggedData(X[:100], y[:100], X[:100, 1] > 0.5, 0.5)
    >>> method, rule = Unskew(random_state=0).start(log, X[100:]), StoppingRule()
    >>> while (stop := rule(method)) is None:
    ...     asked = method.ask(10)
    ...     _ = method.tell(y[100:][asked])
    >>> print(stop)
    after 50 labels the next 50 are expected to lower the error by 0.0... points, less than 0.0...
    """

    width: float | None = None
    gain: float | None = None

    def __post_init__(self) -> None:
        if self.width is not None and not 0.0 < self.width < 1.0:
            raise InputError(f"width must be in (0, 1); got {self.width}. Try 0.1.")
        if self.gain is not None and not 0.0 < self.gain < math.inf:
            raise InputError(f"gain must be a positive number; got {self.gain}. Try 5e-05.")

    def __call__(self, method: Method) -> Stop | None:
        """The reason to stop now, or None."""
        labels = method.labels_
        if self.width is not None and (wide := _width(method)) is not None and wide <= self.width:
            said = f"the 95 % interval of the error is {wide:.3f} wide, no wider than {self.width:g}"
            return Stop(f"after {labels} labels {said}", labels, wide, self.width)
        if self.width is not None and self.gain is None:
            return None
        found = prospect(method)
        if found is None:
            return None
        least = found.least if self.gain is None else self.gain * found.labels
        if not found.labels:
            return Stop(f"after {labels} labels no row of the pool is left", labels, 0.0, 0.0)
        if found.gain >= least:
            return None
        gain, needed = found.amount(found.gain, 2), found.amount(least, 2).split()[0]
        said = f"the next {found.labels} are expected to {found.words(gain)}, less than {needed}"
        return Stop(f"after {labels} labels {said}", labels, found.each, least / found.labels)


def _width(method: Method) -> float | None:
    """The width of the error's interval; None before the first randomly drawn label, as after a cold start."""
    try:
        found = method.error()
    except NoRandomLabel:
        return None
    return found.high - found.low


def expected_gain(method: Method) -> float | None:
    """How much each of the next labels is expected to lower the population error; None while that cannot be said.

    If errors differ in what they cost, it is the mean cost of a row that they lower.

    Compare it with the cost of a label. `prospect` says where it comes from.
    """
    found = prospect(method)
    return None if found is None else found.each


def prospect(method: Method, start: Method | None = None) -> Prospect | None:
    """How much the next labels are expected to lower the population error; None while that cannot be said.

    It cannot be said before there are 10 labels of each class, nor while the model is hardly better than always saying
    the commoner class: it has not found out yet what the label depends on, and expects little of more labels.

    In the model's belief, margins are N(mu, s^2). After the labels it would ask for next, they are N(mu', s'^2), where
    s' is known beforehand and mu' is N(mu, s^2 - s'^2). The logistic curve is approximated by Phi(margin / sqrt(c)),
    with the c that is exact at the threshold t of the costs; c = 8 / pi if that is 1/2. A row is flagged if its
    probability p, or p' after the labels, is at least t::

        gain(x) = (cost of a miss + cost of a false alarm) (E max(p' - t, 0) - max(p - t, 0))
        E max(p' - t, 0) = Pr(Y = +1, p' >= t) - t Pr(p' >= t)

    The first probability is that of two normal variables, which Owen's T function gives. The result is the mean over
    the pool.

    A model that is too sure would expect too little, one that is not sure enough too much. So margins are first
    stretched to fit the labels, each predicted without itself (`unskew.estimation.calibration`).

    Parameters
    ----------
    method : Method
        A method whose model knows how sure it is, such as `Unskew`.
    start : Method, optional
        The same method before its first bought label, if it is at hand; otherwise it is fitted again.
    """
    seen = method.observed()
    X, labelled = seen.parts[-1], seen.labelled  # the pool
    if method.works_on == "pool":
        labelled = labelled[labelled >= seen.design.m] - seen.design.m
    else:
        X = stack(seen.parts)  # for a stream, all rows so far
    rows = np.arange(X.shape[0])
    if len(rows) > LOOK_AT:
        rows = np.sort(np.random.default_rng(0).choice(rows, LOOK_AT, replace=False))
    X = take(X, rows)
    belief = method.belief(X)
    new = np.flatnonzero(~np.isin(rows, labelled))
    k = min(AHEAD, len(new))
    if not k:
        return Prospect(0, 0.0, least_worth(0.0, AHEAD))  # there is nothing left to ask for
    if min(np.count_nonzero(seen.y > 0.0), np.count_nonzero(seen.y < 0.0)) < OF_EACH_CLASS:
        return None
    fit, now, costs = Calibration(method.held_out(seen.X, seen.y), seen.y), method.log_odds(X), method.costs
    p, flagged = fit.chances(now), now >= costs.log_odds
    paid = np.where(flagged, costs.false_positive * (1.0 - p), costs.false_negative * p)
    constant = min(costs.false_negative * float(p.mean()), costs.false_positive * float(1.0 - p.mean()))
    if paid.mean() > BETTER * constant:
        return None
    asked = new[copy(method).wanted(take(X, new), k)]  # a copy, so that the method's own draws do not change
    gain = float(gains(_stretched(belief, fit), asked, costs).mean())
    first = start or _restarted(method)
    before = first.log_odds(X) >= first.costs.log_odds
    both = costs.false_positive + costs.false_negative
    saved = np.where(flagged, 1.0, -1.0) * both * (p - costs.threshold)  # where the prediction changed
    unit = 2.0 * costs.false_positive * costs.false_negative / both  # near the cheaper error, and 1 if both cost 1
    least = least_worth(float(np.mean((before != flagged) * saved)), k, unit)
    if method.recall is not None:  # so much fewer false alarms would be worth the same
        return Prospect(k, gain / costs.false_positive, least / costs.false_positive, "false_alarms")
    return Prospect(k, gain, least, "error" if costs.equal else "cost")


def _stretched(belief: Belief, fit: Calibration) -> Belief:
    return Belief(fit.slope * belief.mu + fit.intercept, lambda rows: fit.slope * belief.root(rows))


def _restarted(method: Method) -> Method:
    """The method as it was before its first bought label."""
    twin = copy(method)
    twin.state_, twin.rounds_, twin.labels_ = twin.warm_start(), [], 0
    twin.decide()
    return twin


def gains(belief: Belief, asked: Ints, costs: Costs = EQUAL) -> Floats:
    """How much the labels of the asked rows are expected to lower the error, or the cost of errors, at every row.

    >>> belief = Belief(np.array([0.0, 0.0, 9.0]), lambda rows: np.eye(3)[:, rows])
    >>> gains(belief, np.array([0])).round(3).tolist()                # only its own row: margins are independent
    [0.076, 0.0, 0.0]
    """
    U, mu = belief.root(np.arange(len(belief.mu))), belief.mu
    variance = np.einsum("ij,ij->j", U, U)
    A, c = U[:, asked], expit(mu[asked]) * expit(-mu[asked])
    L = cholesky(A.T @ A + np.diag(1.0 / np.maximum(c, 1e-12)), lower=True)
    W = solve_triangular(L, A.T @ U, lower=True)
    known = np.minimum(np.einsum("ij,ij->j", W, W), variance)  # s^2 - s'^2, by Woodbury's identity
    t, b = costs.threshold, float(ndtri(costs.threshold))
    link = 8.0 / np.pi if b == 0.0 else (costs.log_odds / b) ** 2
    h = mu / np.sqrt(link + variance)
    k = (mu - b * np.sqrt(link + variance - known)) / np.sqrt(np.maximum(known, TINY))
    after = _both(h, k, np.sqrt(known / (link + variance))) - t * ndtr(k)
    gain: Floats = np.maximum(after - np.maximum(ndtr(h) - t, 0.0), 0.0)
    return (costs.false_positive + costs.false_negative) * gain


def _both(h: Floats, k: Floats, r: Floats) -> Floats:
    """Pr(A <= h, B <= k) of two standard normal variables with correlation r in [0, 1) (Owen 1956).

    >>> _both(np.zeros(2), np.array([0.0, 40.0]), np.array([0.5, 0.5])).round(4).tolist()
    [0.3333, 0.5]
    """
    h, k = np.where(h == 0.0, TINY, h), np.where(k == 0.0, TINY, k)
    root = np.sqrt(1.0 - r**2)
    apart = owens_t(h, (k / h - r) / root) + owens_t(k, (h / k - r) / root)
    return np.asarray((ndtr(h) + ndtr(k)) / 2.0 - apart - np.where(h * k < 0.0, 0.5, 0.0))
