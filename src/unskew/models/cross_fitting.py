"""Margins of labelled rows from models that were fitted without them."""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from unskew.errors import InputError
from unskew.models.classifiers import fit_weighted, margins
from unskew.rows import Floats, Rows, take


def cross_fitted_margins(
    model: Any, X: Rows, y: Floats, v: Floats, folds: int = 5, *, random_state: int | np.random.Generator | None = 0
) -> Floats:
    """Margins of labelled rows from copies of a classifier that were fitted without them, fold by fold.

    The margin is the log-odds if the classifier gives probabilities, otherwise its `decision_function`. `v` are the
    weights of the fit. If the n rows outside a fold all have the same class, no classifier can be fitted; Laplace's
    rule of succession then gives that class the log-odds log(n + 1).

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[-1.0], [1.0]] * 20); y = X[:, 0]
    >>> float(np.mean(np.sign(cross_fitted_margins(LogisticRegression(), X, y, np.ones(40))) == y))
    1.0
    """
    if not 2 <= folds <= len(y):
        raise InputError(f"folds must be between 2 and the {len(y)} labelled rows; got {folds}. Use 5, or label more.")
    if len(np.unique(y)) < 2:
        raise InputError(f"y must show both classes; got one in {len(y)} rows. Label more rows.")
    margin = np.empty(len(y))
    state = random_state if isinstance(random_state, int) else np.random.default_rng(random_state).integers(2**31)
    for fitted, held in KFold(folds, shuffle=True, random_state=int(state)).split(y):
        if len(np.unique(y[fitted])) < 2:
            margin[held] = y[fitted[0]] * np.log(len(fitted) + 1.0)
        else:
            margin[held] = margins(fit_weighted(model, take(X, fitted), y[fitted], v[fitted]), take(X, held))
    return margin
