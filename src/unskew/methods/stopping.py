"""When to stop buying labels: the error is known well enough, or the next labels are expected to gain too little."""

from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit, ndtr, owens_t

from unskew.errors import InputError, NoRandomLabel
from unskew.methods.loop import Method
from unskew.models.belief import Belief
from unskew.rows import Floats, Ints, stack, take

LOOK_AT = 10_000
"""In a larger pool, the gain is averaged over this number of rows."""

AHEAD = 20
"""The gain is estimated for this number of next labels."""

OF_EACH_CLASS = 10
"""No gain is estimated before each class has this number of labels: until then the model may be wrongly sure."""

GAIN = 5e-5
"""By default, stop when the next 200 labels are expected to lower the error by less than one percentage point."""

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

    Parameters
    ----------
    width : float, optional
        Stop when the 95 % interval of the population error is no wider than this.
    gain : float, optional
        Stop when each of the next labels is expected to lower the error by less than this. If neither is given, the
        gain is 5e-5: one percentage point of error for 200 labels.

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
    after 30 labels each of the next is expected to lower the error by ...e-05, less than 5.0e-05
    """

    width: float | None = None
    gain: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("width", self.width), ("gain", self.gain)):
            if value is not None and not 0.0 < value < 1.0:
                raise InputError(f"{name} must be in (0, 1); got {value}. Try {'0.1' if name == 'width' else GAIN}.")

    def __call__(self, method: Method) -> Stop | None:
        """The reason to stop now, or None."""
        labels = method.labels_
        if self.width is not None and (wide := _width(method)) is not None and wide <= self.width:
            said = f"the 95 % interval of the error is {wide:.3f} wide, no wider than {self.width:g}"
            return Stop(f"after {labels} labels {said}", labels, wide, self.width)
        least = GAIN if self.width is None and self.gain is None else self.gain
        if least is not None and (each := expected_gain(method)) is not None and each < least:
            said = f"each of the next is expected to lower the error by {each:.1e}, less than {least:.1e}"
            return Stop(f"after {labels} labels {said}", labels, each, least)
        return None


def _width(method: Method) -> float | None:
    """The width of the error's interval; None before the first randomly drawn label, as after a cold start."""
    try:
        found = method.error()
    except NoRandomLabel:
        return None
    return found.high - found.low


def expected_gain(method: Method) -> float | None:
    """How much each of the next labels is expected to lower the population error; None before 10 of each class.

    In the model's belief, margins are N(mu, s^2). After the labels it would ask for next, they are N(mu', s'^2), where
    s' is known beforehand and mu' is N(mu, s^2 - s'^2). A row's error falls if mu' has the opposite sign of mu::

        gain(x) = Phi(-g) - 2 T(g, h),    g = |mu| / sqrt(c + s^2),   h = sqrt((c + s'^2) / (s^2 - s'^2)),   c = 8 / pi

    Here T is Owen's T function, and the logistic curve is approximated by Phi(margin / sqrt(c)). The result is the mean
    over the pool. Compare it with the cost of a label. It can only be as good as the model's belief: if the model is
    too sure, the result is too small.
    """
    seen = method.observed()
    X, labelled = seen.parts[-1], seen.labelled  # the pool
    if seen.design.n:
        labelled = labelled[labelled >= seen.design.m] - seen.design.m
    else:
        X = stack(seen.parts)  # for a stream, all rows so far
    rows = np.arange(X.shape[0])
    if len(rows) > LOOK_AT:
        rows = np.sort(np.random.default_rng(0).choice(rows, LOOK_AT, replace=False))
    belief = method.belief(take(X, rows))
    if min(np.count_nonzero(seen.y > 0.0), np.count_nonzero(seen.y < 0.0)) < OF_EACH_CLASS:
        return None
    new = np.flatnonzero(~np.isin(rows, labelled))
    k = min(AHEAD, len(new))
    if k == 0:
        return 0.0
    asked = new[copy(method).wanted(take(X, rows[new]), k)]  # a copy, so that the method's own draws do not change
    return float(gains(belief, asked).mean()) / k


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
