"""Linear classifiers trained by importance-weight-aware online gradient descent."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew import _kernels
from unskew.descent import LOSSES, Descent, Order, overflowing
from unskew.errors import InputError
from unskew.labels import codes
from unskew.models.inputs import check_some_weight, further_rows, training_rows, two_classes
from unskew.rows import Floats, Rows, all_usable, as_weights

ONE_CLASS = "Add rows of the other class, or name both with partial_fit(classes=)."


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear classifier for two classes, trained online by importance-weight-aware updates.

    A row with importance weight v moves w as infinitely many small gradient steps of total weight v would
    (Karampatziakis and Langford 2011). So a weight of 2 is the same as the row twice, and no weight, however large,
    overshoots the label. The update is w += c x. With h = v a x.x and p = w.x clipped to [-1, 1], ::

        squared     (p - y)^2            c = (y - p) (1 - exp(-2 h)) / x.x
        hinge       max(0, 1 - y w.x)    c = y min(v a, max(0, 1 - y w.x) / x.x)
        logistic    log(1 + exp(-y w.x)) c = y u / x.x,  u + exp(y w.x) (exp(u) - 1) = h

    and the step size is a = sqrt(eta / (eta + t)).

    Parameters
    ----------
    loss : "squared", "logistic" or "hinge"
    eta : float
        Learning rate, positive. With a larger eta the step size decreases more slowly.
    clock : "weight" or "rows"
        Whether t counts importance weight (as in the released program) or rows (as in the paper's text).
    fit_intercept : bool
        Whether to add a constant feature. The paper has none, because its features are centred.
    passes : int
        The number of times that `fit` visits the rows; `partial_fit` visits them once.
    shuffle : bool
        Whether `fit` draws a random order for every pass. The rows then count as a weighted set: equal
        rows are merged and their weights added, and the order in which they were given does not matter.
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
        """The classifier that a descent has reached. Neither is affected by what the other learns later.

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
        check_some_weight(v)
        classes = two_classes(labels[v > 0.0], remedy=ONE_CLASS)
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
        """One pass over further rows, in the given order, starting from the present w and clock.

        However the same rows are cut into calls, the result is the same to the last bit, and that of `fit` with
        `shuffle=False`. So a table that is larger than memory can be learned from batch by batch. A batch may be
        empty. Of a Polars frame, or an Arrow table or record batch, columns are read by name.

        `classes`, the two class values, is needed only in the first call, and only if `y` does not show both.
        """
        first = not hasattr(self, "_descent")
        rows, labels, v = self._training(X, y, sample_weight, first=first, least=0)
        given = labels if classes is None else np.asarray(classes)
        known = two_classes(given, remedy=ONE_CLASS) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
            raise InputError(f"classes must stay {known.tolist()}; got {classes}. Leave it out after the first call.")
        descent = self._start() if first else self._descent.copy()
        descent.run(rows, codes(labels, known), v, np.arange(len(v)))
        return self._reached(descent, known, rows)

    def decision_function(self, X: Any) -> Floats:
        """The score w.x of every row, including the intercept."""
        check_is_fitted(self)
        return self._descent.look(further_rows(self, X))[0]

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
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool, least: int = 1
    ) -> tuple[Rows, NDArray[Any], Floats]:
        """Rows, labels and weights, checked except for the size of values in X: `_reached` does that."""
        if not first and self._is_plain(X, y):
            return X, y, as_weights(sample_weight, X.shape[0])
        return training_rows(self, X, y, sample_weight, first=first, least=least)

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether these rows can be used as they are; the full checks would take most of the time of a short call."""
        return (
            type(X) is type(y) is np.ndarray
            and X.dtype == np.float64
            and X.flags.c_contiguous
            and y.ndim == 1
            and X.shape == (len(y), self.n_features_in_)
            and not hasattr(self, "feature_names_in_")
        )

    def _reached(self, descent: Descent, classes: NDArray[Any], rows: Rows) -> Self:
        """Keep what was learned. If a value of X was not finite or too large, nothing is kept."""
        if not np.isfinite(descent.w).all() or not all_usable(rows):
            raise overflowing(rows)
        self.classes_, self._descent = classes, descent
        return self


def _as_set(X: Rows, y: Floats, v: Floats, rng: np.random.Generator) -> tuple[Order, Floats]:
    """The rows as a weighted set: the position of each distinct (x, y), and weights in which equal rows are summed.

    Positions are sorted by a salted 64-bit hash of the row. So the result depends on the rows and the seed, not on
    the order or repetition of the rows, nor on whether they are dense or sparse.
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
