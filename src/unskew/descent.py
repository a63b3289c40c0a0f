"""One weight vector and its clock, updated row by row: the importance-weight-aware update of the released program."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew import _kernels
from unskew.errors import InputError, unknown
from unskew.rows import Bools, Floats, Ints, Rows, all_usable, unusable

LOSSES = {"squared": _kernels.SQUARED, "logistic": _kernels.LOGISTIC, "hinge": _kernels.HINGE}
CLOCKS = ("weight", "rows")

Order: TypeAlias = NDArray[np.intp] | Ints


class Descent:
    """A weight vector w and its clock t, with one update per row.

    The step size is a(t) = sqrt(eta / (eta + t)). The clock t runs on across passes. It counts the
    importance weight seen so far (`clock="weight"`, as released) or the rows (`clock="rows"`, as in
    the paper's text), including the current row.

    Rows are not validated here: `LinearClassifier` and the methods pass arrays that are already checked.

    >>> descent = Descent(2, eta=1.0)
    >>> descent.run(np.array([[1.0, 0.0]]), np.array([1.0]), np.array([3.0]), np.array([0]))
    >>> descent.t, descent.a, descent.w.round(4).tolist()
    (3.0, 0.5, [0.9502, 0.0])
    """

    __slots__ = ("by_weight", "eta", "intercept", "loss", "t", "w")

    def __init__(
        self, n_features: int, eta: float, *, clock: str = "weight", loss: str = "squared", intercept: bool = False
    ) -> None:
        if loss not in LOSSES:
            raise unknown("loss", loss, LOSSES)
        if clock not in CLOCKS:
            raise unknown("clock", clock, CLOCKS)
        if not 0.0 < eta < math.inf:
            raise InputError(f"eta must be positive and finite; got {eta}. Try eta=1.0.")
        self.eta = float(eta)
        self.by_weight = clock == "weight"
        self.loss = LOSSES[loss]
        self.intercept = bool(intercept)
        self.w: Floats = np.zeros(n_features + self.intercept)
        self.t = 0.0

    def reset(self) -> None:
        """Back to w = 0, t = 0."""
        self.w[:] = 0.0
        self.t = 0.0

    def copy(self) -> "Descent":
        """A copy with its own w and clock."""
        twin = object.__new__(Descent)
        twin.eta, twin.by_weight, twin.loss, twin.intercept = self.eta, self.by_weight, self.loss, self.intercept
        twin.w, twin.t = self.w.copy(), self.t
        return twin

    @property
    def a(self) -> float:
        """The step size of the last update, sqrt(eta / (eta + t))."""
        return math.sqrt(self.eta / (self.eta + self.t))

    def run(self, X: Rows, y: Floats, v: Floats, order: Order) -> None:
        """One pass over the rows in the given order, with y in {-1, +1} and importance weights v.

        A row of weight 0 is skipped: neither w nor the clock changes.
        """
        if isinstance(X, np.ndarray):
            self.t = _kernels.pass_dense(self.w, self.t, X, y, v, order, self.eta, self.by_weight, self.loss)
        else:
            self.t = _kernels.pass_csr(
                self.w, self.t, X.data, X.indices, X.indptr, y, v, order,
                self.eta, self.by_weight, self.loss, self.intercept,
            )  # fmt: skip

    def look(self, X: Rows) -> tuple[Floats, Floats]:
        """w.x and x.x of every row, including the intercept's constant feature."""
        n = X.shape[0]
        score, xx = np.empty(n), np.empty(n)
        if isinstance(X, np.ndarray):
            bad = _kernels.look_dense(self.w, X, score, xx)
        else:
            bad = _kernels.look_csr(self.w, X.data, X.indices, X.indptr, score, xx, self.intercept)
        if bad >= 0:
            raise overflowing(X)
        return score, xx

    def judge(self, X: Rows, slope: float) -> tuple[Floats, Bools]:
        """The label of every row, +1.0 or -1.0, and whether |w.x| <= slope x.x. For a descent without intercept."""
        y, inside = np.empty(X.shape[0]), np.empty(X.shape[0], dtype=np.bool_)
        if isinstance(X, np.ndarray):
            bad = _kernels.judge_dense(self.w, X, slope, y, inside)
        else:
            bad = _kernels.judge_csr(self.w, X.data, X.indices, X.indptr, slope, y, inside)
        if bad >= 0:
            raise overflowing(X)
        return y, inside

    def errors(self, X: Rows, y: Floats, v: Floats) -> float:
        """The protocol's `loss`: sum of v over the rows that w gets wrong (w.x * y <= 0)."""
        return float(_kernels.weighted_errors(self.look(X)[0], y, v))


def overflowing(X: Rows) -> InputError:
    """The error for rows that made a sum overflow; it names the first value that cannot be used, or the largest one."""
    if not all_usable(X):
        return unusable(X)
    values = X if isinstance(X, np.ndarray) else X.data
    return InputError(f"x.x must be finite; a value of {np.abs(values).max():g} in X overflows. Scale the features.")
