"""Margins of labelled rows from models that were fitted without them."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from unskew.errors import InputError
from unskew.rows import Floats, Rows, take


def cross_fitted_margins(
    model: Any, X: Rows, y: Floats, v: Floats, folds: int = 5, *, random_state: int | np.random.Generator | None = 0
) -> Floats:
    """Margins of labelled rows from copies of a classifier that were fitted without them, fold by fold.

    The margin is the log-odds where the classifier gives probabilities, else its `decision_function`. `v` are the
    weights of the fit. Rows outside a fold must show both classes.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[-1.0], [1.0]] * 20); y = X[:, 0]
    >>> float(np.mean(np.sign(cross_fitted_margins(LogisticRegression(), X, y, np.ones(40))) == y))
    1.0
    """
    if not 2 <= folds <= len(y):
        raise InputError(f"folds must be between 2 and the {len(y)} labelled rows; got {folds}. Take 5, or label more.")
    margin = np.empty(len(y))
    state = random_state if isinstance(random_state, int) else np.random.default_rng(random_state).integers(2**31)
    for fitted, held in KFold(folds, shuffle=True, random_state=int(state)).split(y):
        if len(np.unique(y[fitted])) < 2:
            raise InputError(f"each fold must leave both classes; got one in {len(fitted)} rows. Label more rows.")
        copied = clone(model).fit(take(X, fitted), y[fitted], sample_weight=v[fitted])
        margin[held] = margins(copied, take(X, held))
    return margin


def margins(model: Any, X: Rows) -> Floats:
    """A fitted classifier's margin: log-odds where it gives probabilities, else its `decision_function`.

    >>> from sklearn.dummy import DummyClassifier
    >>> margins(DummyClassifier().fit([[0], [1], [2], [3]], [1, 1, 1, 0]), np.zeros((1, 1))).round(2).tolist()
    [1.1]
    """
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    p = np.clip(model.predict_proba(X)[:, 1], 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(p) - np.log1p(-p))
