"""Algorithm 1 itself, on a finite class of classifiers: every V_k is kept, and nothing is approximated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from unskew import theory
from unskew.data import propensities
from unskew.errors import InputError
from unskew.labels import codes
from unskew.methods.rounds import StreamRound
from unskew.methods.stream import StreamMethod
from unskew.rows import Bools, Floats, Ints, Rows, as_rows, stack, take
from unskew.sampling.weights import mixture

BLOCK = 2**22
"""The number of predictions processed at once: 4 MB as bytes, 32 MB as floats."""


@dataclass(frozen=True, eq=False, slots=True)
class Iteration:
    """The state of Algorithm 1 at the end of segment k.

    `V` holds positions in H; `loss` and `Delta` have one value for each of them, l(h, S~_k) and
    Delta_k(h, h_hat). `D` has one value for each row of the domain (of the log if no domain was given).
    Q_k(x) is 1{Q0(x) <= cut}.
    """

    k: int
    m_k: int
    n_k: int
    xi: float
    cut: float
    V: Ints
    D: Bools
    h_hat: int
    loss: Floats
    Delta: Floats

    @property
    def next_V(self) -> Ints:
        """Alg. 1, line 8: V_{k+1}, the h in V_k with l(h, S~_k) <= l(h_hat, S~_k) + Delta_k(h, h_hat)."""
        least_loss = self.loss[np.searchsorted(self.V, self.h_hat)]
        kept: Ints = self.V[self.loss <= least_loss + self.Delta]
        return kept


class Explored(NamedTuple):
    """What is known about segment k before its labels: V_k, D_k (one bool per point), xi_k, Q_k and T_0^(k)."""

    V: Ints
    D: Bools
    xi: float
    cut: float
    part: slice
    seen: int
    """The number of stream rows up to the end of the segment."""


class Exact(NamedTuple):
    """All iterations so far, and the starting point of the last one."""

    history: tuple[Iteration, ...]
    last: Explored


class ExactIDBAL(StreamMethod):
    """Algorithm 1 line by line on a finite class H. Its guarantee: with probability 1 - delta, h* is in V_k for all k.

    The stream is cut into segments of n_k = 1, 2, 4, ... rows (the last one is shorter unless n = 2^K - 1).
    The log is cut into slices of m_0 = m/3 and m_k = alpha n_k rows, alpha = 2m/3n; their running total is rounded
    down. Where that makes m_k < alpha n_k, Q_k(x) = 1{Q0(x) <= xi_k + n_k / m_k} is used in place of
    xi_k + 1/alpha, because Lemma 5 needs it (docs/theory.md). Ties for h_hat go to the first in H.

    The time is that of two products of H's predictions on a segment with a vector, and of the search for
    D_k; no step is quadratic in |H|. 1e5 classifiers on 1e4 points take well under a minute, and
    about 100 MB in addition to the matrix.

    Parameters
    ----------
    H : sequence of classifiers, or array of shape (|H|, points)
        Classifiers are functions of rows, or objects with `predict`, that return bools or the
        log's class values. In a matrix (0/1 or -1/+1, the positive class 1) column j holds every
        classifier's answer on point j. Then X has a single feature: the number j of the row's point.
    delta : float
        One minus the confidence.
    gamma_0 : float, optional
        The constant in Delta_k; `unskew.theory.GAMMA_0` if left out. The guarantee needs that value; smaller
        values shrink V_k sooner.
    domain : (X, q0), optional
        The unlabelled rows over which xi_k = inf of Q0 on D_k is taken. This is exact if they cover all
        points. If left out, the log's rows and the current batch are used, and xi_k is an upper bound.
    random_state : ignored
        Nothing here is random.

    Attributes
    ----------
    history_ : list of `Iteration`, one per segment, k = 0, 1, ...

    Examples
    --------
    Thresholds on five points; the first two points were hardly ever labelled in the log.

    >>> from unskew import LoggedData, run
    >>> rng = np.random.default_rng(0)
    >>> Q0 = np.array([0.05, 0.05, 0.5, 0.5, 0.5])
    >>> H = np.arange(5) >= np.arange(6)[:, None]
    >>> X = rng.integers(5, size=(1527, 1)); y = X[:, 0] >= 1
    >>> z = rng.random(1400) < Q0[X[:1400, 0]]
    >>> log = LoggedData(X[:1400], y[:1400], z, Q0[X[:1400, 0]])
    >>> method = run(ExactIDBAL(H, gamma_0=0.5), log, (X[1400:], Q0[X[1400:, 0]]), y[1400:])
    >>> [len(step.V) for step in method.history_], method.labels_, method.model_.predict([[0], [1]]).tolist()
    ([6, 4, 4, 4, 4, 3, 3, 2], 32, [False, True])
    """

    anytime = False  # alpha = 2m/3n needs n
    first_batch = 1  # n_k = 1, 2, 4, ...

    state_: Exact

    def __init__(
        self,
        H: ArrayLike | Sequence[Any],
        *,
        delta: float = 0.05,
        gamma_0: float | None = None,
        domain: tuple[Any, ArrayLike] | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(random_state=random_state)
        if not 0.0 < delta < 1.0:
            raise InputError(f"delta must be in (0, 1); got {delta}. Try delta=0.05.")
        if gamma_0 is not None and not gamma_0 > 0.0:
            raise InputError(f"gamma_0 must be positive; got {gamma_0}. Leave it out to use the proven value.")
        self.H, self.delta, self.gamma_0, self.domain = H, delta, gamma_0, domain

    @property
    def model_(self) -> "FiniteClassifier":
        """h_hat_k; at the end of the stream, this is the output of line 20."""
        return FiniteClassifier(self._class.member(self.history_[-1].h_hat), self.log_.classes)

    @property
    def history_(self) -> list[Iteration]:
        """The state of Algorithm 1 at the end of each segment."""
        return list(self.state_.history)

    def warm_start(self) -> Exact:
        log = self.log_
        self._class = _as_class(self.H, log.classes)
        if self.domain is None:
            rows, self._domain_q0 = log.X, log.q0
        else:
            rows = as_rows(self.domain[0], name="domain")
            self._domain_q0 = propensities(self.domain[1], rows.shape[0], name="domain q0")
        self._points, self._point_of = self._class.points(rows)
        everywhere = np.ones(self._points.shape[0], dtype=bool)  # line 3: D_0 = X
        V = np.arange(self._class.size)  # line 3: V_0 = H
        first = Explored(V, everywhere, float(self._domain_q0.min()), 1.0, slice(0, log.m // 3), 0)  # T_0^(0)
        nothing = StreamRound(log.X[:0], log.q0[:0], log.y[:0], log.z[:0], log.z[:0], log.q0[:0], first)
        return Exact((self._iteration(0, nothing),), first)

    def choose(self, X: Rows, q0: Floats) -> StreamRound:
        last, before, log, n_k = self.state_.history[-1], self.state_.last, self.log_, len(q0)
        V = last.next_V  # line 8
        points, point_of = self._class.points(X)
        inside = self._divided(V, points)[point_of]  # the batch's rows in D_{k+1}
        D, old = np.zeros_like(before.D), np.flatnonzero(before.D)  # D_{k+1} lies within D_k
        D[old] = self._divided(V, take(self._points, old))
        at_hand = q0[inside] if self.domain is None else q0[:0]
        divided = self._domain_q0[D[self._point_of]]
        xi = float(min(divided.min(initial=1.0), at_hand.min(initial=1.0)))  # line 9
        seen = before.seen + n_k
        upto = log.m // 3 + 2 * log.m * seen // (3 * self.n_) if seen < self.n_ else log.m
        part = slice(before.part.stop, min(upto, log.m))  # T_0^(k+1)
        m_k = part.stop - part.start
        # line 9; where m_k < alpha n_k, Lemma 5 needs n_k / m_k in place of 1 / alpha = 3n / 2m
        cut = xi + max(3 * self.n_ / (2 * log.m), n_k / m_k) if m_k else 1.0
        kept = q0 <= cut  # line 12
        queried = inside & kept  # line 14
        inferred = self._class.answers(np.array([last.h_hat]), points)[0][point_of]
        plan = Explored(V, D, xi, cut, part, seen)
        return StreamRound(X, q0, np.where(inferred, 1.0, -1.0), queried, kept, queried.astype(np.float64), plan)

    def learn(self, batch: StreamRound) -> Exact:
        history = self.state_.history
        return Exact((*history, self._iteration(len(history), batch)), batch.plan)

    def _iteration(self, k: int, batch: StreamRound) -> Iteration:
        """Lines 17-18: S~_k from a slice of the log and a batch. Then lines 5 and 7 on it."""
        log, n_k = self.log_, len(batch.y)
        V, D, xi, cut, part, _ = batch.plan
        m_k = part.stop - part.start
        q0 = np.concatenate((log.q0[part], batch.q0))
        y = np.concatenate((log.y[part], batch.y))
        z = np.concatenate((log.z[part], batch.kept))
        N = max(m_k + n_k, 1)
        v = np.zeros(y.shape)
        v[z] = mixture((m_k, n_k), (q0[z], q0[z] <= cut)) / N if z.any() else 0.0
        points, point_of = self._class.points(stack([log.X[part], batch.X]))
        # l(h, S~_k) = sum of v over y = 1, plus, on each point where h says 1, what that answer costs and saves
        cost = np.bincount(point_of, np.where(y > 0.0, -v, v), points.shape[0]).astype(np.float64)
        loss = v[y > 0.0].sum() + self._sums(V, points, cost)
        h_hat = int(V[np.argmax(loss <= loss.min() + 1e-12)])  # line 7
        share = np.bincount(point_of, np.full(y.shape, 1.0 / N), points.shape[0])
        says = self._class.answers(np.array([h_hat]), points)[0]
        rho = share @ says + self._sums(V, points, np.where(says, -share, share))
        sigma_k = theory.sigma(self._class.size, theory.delta_k(self.delta, k) / 2.0, m_k, n_k, xi)
        gamma_0 = theory.GAMMA_0 if self.gamma_0 is None else self.gamma_0
        Delta = theory.Delta(sigma_k, np.maximum(rho, 0.0), gamma_0)  # line 5
        return Iteration(k, m_k, n_k, xi, cut, V, D[self._point_of], h_hat, loss, Delta)

    def _sums(self, V: Ints, points: Rows | Ints, w: Floats) -> Floats:
        """For each h in V: the sum of w over the points on which h says 1."""
        sums = np.zeros(len(V))
        step = max(BLOCK // max(len(w), 1), 1)
        for i in range(0, len(V), step):
            sums[i : i + step] = self._class.answers(V[i : i + step], points).astype(np.float64) @ w
        return sums

    def _divided(self, V: Ints, points: Rows | Ints) -> Bools:
        """Which of the points lie in DIS(V). A point on which V is known to disagree is not checked again."""
        divided = np.zeros(points.shape[0], dtype=bool)
        left = np.arange(points.shape[0])
        first = self._class.answers(V[:1], points)[0]
        i = 0
        while left.size and i < len(V):
            step = max(BLOCK // left.size, 1)
            differ = (self._class.answers(V[i : i + step], take(points, left)) != first[left]).any(axis=0)
            divided[left[differ]] = True
            left = left[~differ]
            i += step
        return divided


class FiniteClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """One member of H as a fitted scikit-learn classifier."""

    def __init__(self, h: Any, classes: NDArray[Any]) -> None:
        self.h = h
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        return self.classes

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each row."""
        members = _as_class(self.h[None] if isinstance(self.h, np.ndarray) else [self.h], self.classes)
        points, point_of = members.points(as_rows(X))
        positive = members.answers(np.zeros(1, dtype=np.int64), points)[0][point_of]
        predicted: NDArray[Any] = self.classes[positive.astype(np.intp)]
        return predicted


class _Class(Protocol):
    """The class H: it returns its answers (True: the positive class) on the distinct points among some rows."""

    size: int

    def member(self, h: int) -> Any: ...
    def points(self, X: Rows) -> tuple[Any, Ints]: ...
    def answers(self, V: Ints, points: Any) -> Bools: ...


class _Matrix:
    def __init__(self, P: NDArray[Any]) -> None:
        self.P, self.size = P, len(P)

    def member(self, h: int) -> Any:
        return self.P[h]

    def points(self, X: Rows) -> tuple[Ints, Ints]:
        if not isinstance(X, np.ndarray) or X.shape[1] != 1:
            raise InputError(
                f"with a matrix H, X must have one dense feature, the row's point number; got shape {X.shape}. "
                "Pass X of shape (rows, 1), or H as a sequence of classifiers."
            )
        columns = X[:, 0].astype(np.int64)
        wrong = (columns != X[:, 0]) | (columns < 0) | (columns >= self.P.shape[1])
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"X must hold column numbers of H, 0 to {self.P.shape[1] - 1}; got {X[i, 0]} at row {i}. "
                "Number the points like the columns of H."
            )
        distinct, point_of = np.unique(columns, return_inverse=True)
        return distinct, point_of

    def answers(self, V: Ints, points: Ints) -> Bools:
        narrow = 4 * len(points) < self.P.shape[1]  # otherwise take whole rows first: faster, no more memory
        says: Bools = (self.P[V[:, None], points] if narrow else self.P[V].take(points, axis=1)) > 0
        return says


class _Functions:
    def __init__(self, H: Sequence[Any], classes: NDArray[Any]) -> None:
        self.H, self.classes, self.size = H, classes, len(H)

    def member(self, h: int) -> Any:
        return self.H[h]

    def points(self, X: Rows) -> tuple[Rows, Ints]:
        return X, np.arange(X.shape[0])

    def answers(self, V: Ints, points: Rows) -> Bools:
        said = np.empty((len(V), points.shape[0]), dtype=bool)
        for i, h in enumerate(V if points.shape[0] else ()):
            member = self.H[h]
            answer = np.asarray(member.predict(points) if hasattr(member, "predict") else member(points))
            if answer.shape != said.shape[1:]:
                raise InputError(
                    f"a classifier must give one answer per row; H[{h}] gave shape {answer.shape} "
                    f"for {said.shape[1]} rows. Return a vector."
                )
            said[i] = answer if answer.dtype == bool else codes(answer, self.classes) > 0.0
        return said


def _as_class(H: Any, classes: NDArray[Any]) -> _Class:
    if not isinstance(H, np.ndarray) and len(H) and all(callable(h) or hasattr(h, "predict") for h in H):
        return _Functions(H, classes)
    P = np.asarray(H)
    if P.ndim != 2 or 0 in P.shape or P.dtype.kind not in "biuf":
        raise InputError(
            f"H must hold classifiers or be a matrix of their predictions on points; got shape {P.shape} of {P.dtype}. "
            "Pass functions, objects with predict, or such a matrix."
        )
    if P.dtype != bool:
        negative = -1 if P.min() < 0 else 0
        for i in range(0, len(P), step := max(BLOCK // P.shape[1], 1)):
            wrong = (P[i : i + step] != 1) & (P[i : i + step] != negative)
            if wrong.any():
                row, column = np.unravel_index(np.argmax(wrong), wrong.shape)
                raise InputError(
                    f"H must hold 0 and 1, or -1 and +1; got {P[i + row, column]} at row {i + row}, column {column}. "
                    "Recode the predictions."
                )
    return _Matrix(P)
