"""When to stop buying labels: the error is known well enough, or the next labels are expected to gain too little."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, ndtr, owens_t

from unskew.errors import InputError, NoRandomLabel
from unskew.estimation.calibration import Calibration
from unskew.methods.loop import Method
from unskew.methods.prospect import AHEAD, Prospect, least_worth
from unskew.models.belief import Belief
from unskew.rows import Floats, Ints, stack, take

LOOK_AT = 10_000
"""In a larger pool, the gain is averaged over this number of rows."""

OF_EACH_CLASS = 10
"""No gain is estimated before each class has this number of labels: until then the model may be wrongly sure."""

BETTER = 0.9
"""No gain is estimated before the model errs less than this part of the error of always saying the commoner class."""

LINK = 8.0 / np.pi
"""The logistic curve is close to the normal distribution function with this variance."""


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

    By default, it stops when the next 50 labels are expected to gain less than a twenty-fifth of what the labels so far
    have gained. Less than 0.05 percentage points is never worth 50 labels, and one point always is.

    Parameters
    ----------
    width : float, optional
        Stop when the 95 % interval of the population error is no wider than this.
    gain : float, optional
        Stop when each of the next labels is expected to lower the error by less than this.

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
        for name, value in (("width", self.width), ("gain", self.gain)):
            if value is not None and not 0.0 < value < 1.0:
                raise InputError(f"{name} must be in (0, 1); got {value}. Try {'0.1' if name == 'width' else '5e-05'}.")

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
        said = f"the next {found.labels} are expected to lower the error by {100 * found.gain:.2f} points"
        return Stop(
            f"after {labels} labels {said}, less than {100 * least:.2f}", labels, found.each, least / found.labels
        )


def _width(method: Method) -> float | None:
    """The width of the error's interval; None before the first randomly drawn label, as after a cold start."""
    try:
        found = method.error()
    except NoRandomLabel:
        return None
    return found.high - found.low


def expected_gain(method: Method) -> float | None:
    """How much each of the next labels is expected to lower the population error; None while that cannot be said.

    Compare it with the cost of a label. `prospect` says where it comes from.
    """
    found = prospect(method)
    return None if found is None else found.each


def prospect(method: Method, start: Method | None = None) -> Prospect | None:
    """How much the next labels are expected to lower the population error; None while that cannot be said.

    It cannot be said before there are 10 labels of each class, nor while the model is hardly better than always saying
    the commoner class: it has not found out yet what the label depends on, and expects little of more labels.

    In the model's belief, margins are N(mu, s^2). After the labels it would ask for next, they are N(mu', s'^2), where
    s' is known beforehand and mu' is N(mu, s^2 - s'^2). A row's error falls if mu' has the opposite sign of mu::

        gain(x) = Phi(-g) - 2 T(g, h),    g = |mu| / sqrt(c + s^2),   h = sqrt((c + s'^2) / (s^2 - s'^2)),   c = 8 / pi

    Here T is Owen's T function, and the logistic curve is approximated by Phi(margin / sqrt(c)). The result is the mean
    over the pool.

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
    if min(np.count_nonzero(seen.y > 0.0), np.count_nonzero(seen.y < 0.0)) < OF_EACH_CLASS or not method.costs.equal:
        return None
    fit, now = Calibration(method.held_out(seen.X, seen.y), seen.y), method.log_odds(X)
    positive, wrong = float(fit.positive(now).mean()), fit.wrong(now)
    if wrong.mean() > BETTER * min(positive, 1.0 - positive):
        return None
    asked = new[copy(method).wanted(take(X, new), k)]  # a copy, so that the method's own draws do not change
    gain = float(gains(_stretched(belief, fit), asked).mean())
    before = (start or _restarted(method)).log_odds(X)
    gained = float(np.mean(((before >= 0.0) != (now >= 0.0)) * (1.0 - 2.0 * wrong)))  # where the prediction changed
    return Prospect(k, gain, least_worth(gained, k))


def _stretched(belief: Belief, fit: Calibration) -> Belief:
    return Belief(fit.slope * belief.mu + fit.intercept, lambda rows: fit.slope * belief.root(rows))


def _restarted(method: Method) -> Method:
    """The method as it was before its first bought label."""
    twin = copy(method)
    twin.state_ = twin.warm_start()
    return twin


def gains(belief: Belief, asked: Ints) -> Floats:
    """How much the labels of the asked rows are expected to lower the error at every row.

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
    g = np.abs(mu) / np.sqrt(LINK + variance)
    h = np.sqrt((LINK + variance - known) / np.maximum(known, 1e-300))
    gain: Floats = np.maximum(ndtr(-g) - 2.0 * owens_t(g, h), 0.0)
    return gain
