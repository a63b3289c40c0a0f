"""Linear classifiers trained by importance-weight-aware online gradient descent."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from unskew import _kernels
from unskew.data import signs
from unskew.descent import LOSSES, Descent, Order, overflowing
from unskew.errors import InputError
from unskew.rows import Floats, Rows, as_weights


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear classifier for two classes, trained online by importance-weight-aware updates.

    A row of importance weight v moves w to where infinitely many gradient steps of total weight v
    lead (Karampatziakis and Langford 2011), w += c x, so that a weight of 2 is the same as the row
    twice and no weight, however large, overshoots the label. With h = v a x.x and p = w.x clipped to
    [-1, 1] ::

        squared     (p - y)^2            c = (y - p) (1 - exp(-2 h)) / x.x
        hinge       max(0, 1 - y w.x)    c = y min(v a, max(0, 1 - y w.x) / x.x)
        logistic    log(1 + exp(-y w.x)) c = y u / x.x,  u + exp(y w.x) (exp(u) - 1) = h

    and the step size a = sqrt(eta / (eta + t)).

    Parameters
    ----------
    loss : "squared", "logistic" or "hinge"
    eta : float
        Learning rate, positive. The larger, the longer steps stay long.
    clock : "weight" or "rows"
        Whether t counts importance weight (as released) or rows (as the paper's text has it).
    fit_intercept : bool
        Add a constant feature. The paper has none: its features are centred.
    passes : int
        How often `fit` visits the rows; `partial_fit` visits them once.
    shuffle : bool
        Whether `fit` draws a random order for every pass. Its rows then count as a weighted set: equal
        rows are merged and their weights added, and the order they came in plays no part.
    random_state : int, Generator or None
        Seeds the order.

    Attributes
    ----------
    classes_ : array of the two class values, the positive one last
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
    t_ : float
        The clock.

    Examples
    --------
    >>> X, y = [[1.0, 0.2], [0.8, -0.4], [-1.0, 0.1], [-0.7, 0.5]], ["paid", "paid", "default", "default"]
    >>> model = LinearClassifier(random_state=0).fit(X, y, sample_weight=[1, 2, 1, 5])
    >>> model.predict([[0.9, 0.0], [-0.9, 0.0]]).tolist(), model.t_
    (['paid', 'default'], 9.0)
    """

    classes_: NDArray[Any]
    n_features_in_: int
    _descent: Descent

    def __init__(
        self,
        *,
        loss: str = "squared",
        eta: float = 1.0,
        clock: str = "weight",
        fit_intercept: bool = False,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.loss = loss
        self.eta = eta
        self.clock = clock
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    @classmethod
    def from_descent(cls, descent: Descent, classes: Sequence[Any] | NDArray[Any]) -> Self:
        """The classifier a descent has reached; what either learns afterwards, the other does not see.

        >>> model = LinearClassifier.from_descent(Descent(2, eta=1.0), ["no", "yes"])
        >>> model.predict([[0.0, 1.0]]).tolist()
        ['yes']
        """
        loss = next(name for name, code in LOSSES.items() if code == descent.loss)
        clock = "weight" if descent.by_weight else "rows"
        model = cls(loss=loss, eta=descent.eta, clock=clock, fit_intercept=descent.intercept)
        model._descent = descent.copy()
        model.classes_ = np.asarray(classes)
        model.n_features_in_ = len(descent.w) - descent.intercept
        return model

    @property
    def coef_(self) -> Floats:
        return self._descent.w[None, : self.n_features_in_].copy()

    @property
    def intercept_(self) -> Floats:
        return self._descent.w[-1:].copy() if self._descent.intercept else np.zeros(1)

    @property
    def t_(self) -> float:
        return self._descent.t

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, in `passes` passes over the rows."""
        if not (isinstance(self.passes, (int, np.integer)) and self.passes >= 1):
            raise InputError(f"passes must be a whole number of at least 1; got {self.passes!r}. Try passes=1.")
        rows, labels, v = self._training(X, y, sample_weight, first=True)
        if not v.any():
            raise InputError("sample_weight must not be zero for every row. Leave it out to count all rows alike.")
        classes = _two_classes(labels[v > 0.0])
        signed = np.where(labels == classes[1], 1.0, -1.0)
        rng = np.random.default_rng(self.random_state)
        order: Order = np.arange(len(v))
        if self.shuffle:
            order, v = _as_set(rows, signed, v, rng)
        descent = self._start()
        for _ in range(self.passes):
            descent.run(rows, signed, v, rng.permutation(order) if self.shuffle else order)
        return self._reached(descent, classes, rows)

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """One pass over further rows, in the order given, going on from the present w and clock.

        `classes`, the two class values, is needed in the first call only, and there only where `y`
        does not show both.
        """
        first = not hasattr(self, "_descent")
        rows, labels, v = self._training(X, y, sample_weight, first=first)
        known = _two_classes(labels if classes is None else np.asarray(classes)) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise InputError(f"classes must stay {known.tolist()}; got {classes}. Leave it out after the first call.")
        descent = self._start() if first else self._descent.copy()
        descent.run(rows, signs(labels, known), v, np.arange(len(v)))
        return self._reached(descent, known, rows)

    def decision_function(self, X: Any) -> Floats:
        """The score w.x of every row, with the intercept."""
        check_is_fitted(self)
        return self._descent.look(_as_rows(validate_data(self, X, reset=False, **_CHECKS)))[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of every row: the positive one where the score is 0 or more."""
        at_or_above: NDArray[np.intp] = (self.decision_function(X) >= 0.0).astype(np.intp)
        return np.asarray(self.classes_[at_or_above])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_descent")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _start(self) -> Descent:
        return Descent(self.n_features_in_, self.eta, clock=self.clock, loss=self.loss, intercept=self.fit_intercept)

    def _training(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool
    ) -> tuple[Rows, NDArray[Any], Floats]:
        """Rows, labels and weights, all checked but for finite rows: those that are not show in w."""
        if first or not self._is_plain(X, y):
            try:
                check_consistent_length(X, y)
            except ValueError as error:
                raise InputError(f"X and y must have one entry a row: {error}. Align them.") from None
            X, y = validate_data(self, X, y, reset=first, **_CHECKS)
            check_classification_targets(y)
        return _as_rows(X), y, as_weights(sample_weight, X.shape[0])

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether these further rows are arrays that can be used as they are: most of a short call's time."""
        return (
            type(X) is type(y) is np.ndarray
            and X.dtype == np.float64
            and X.flags.c_contiguous
            and y.ndim == 1
            and X.shape == (len(y), self.n_features_in_)
            and not hasattr(self, "feature_names_in_")
        )

    def _reached(self, descent: Descent, classes: NDArray[Any], rows: Rows) -> Self:
        """Take over what was learned, unless some value of X was not finite: then w is not, and nothing is kept."""
        if not np.isfinite(descent.w).all():
            raise overflowing(rows)
        self.classes_, self._descent = classes, descent
        return self


_CHECKS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": False}


def _as_rows(X: Any) -> Rows:
    """What validation let through, as rows; finiteness is left to whoever reads them."""
    if isinstance(X, np.ndarray):
        return X
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _two_classes(labels: NDArray[Any]) -> NDArray[Any]:
    found = np.unique(labels)
    if len(found) > 2:
        shown = ", ".join(map(str, found[:4])) + (", ..." if len(found) > 4 else "")
        raise InputError(
            f"Only binary classification is supported. y must have two classes; got {len(found)}: {shown}. "
            "Merge classes or drop the others' rows."
        )
    if len(found) < 2:
        raise InputError(
            f"y must show two classes; got one class: {', '.join(map(str, found))}. "
            "Add rows of the other class, or name both with partial_fit(classes=)."
        )
    return found


def _as_set(X: Rows, y: Floats, v: Floats, rng: np.random.Generator) -> tuple[Order, Floats]:
    """The rows as a weighted set: one position for each distinct (x, y), and weights with theirs summed.

    Positions come sorted by a salted 64-bit hash of the row, so the result depends on the rows and the
    seed, not on how the rows were ordered or repeated; that dense or CSR holds them is all the same.
    """
    salt = rng.integers(0, 2**64, size=X.shape[1] + 1, dtype=np.uint64)
    key = np.where(y > 0.0, salt[-1], np.uint64(0))
    if isinstance(X, np.ndarray):
        _kernels.keys_dense(X.view(np.uint64), salt, key)
    else:
        _kernels.keys_csr(X.data.view(np.uint64), X.indices, X.indptr, salt, key)
    order = np.argsort(key)
    starts = np.flatnonzero(np.diff(key[order], prepend=key[order[0]] + np.uint64(1)))
    first = order[starts]
    merged = v.copy()
    merged[first] = np.add.reduceat(v[order], starts)
    return first[merged[first] > 0.0], merged
