"""Scores of labelled rows from models that were fitted without them."""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from unskew.errors import InputError
from unskew.models.classifiers import fit_weighted
from unskew.models.scores import scale
from unskew.rows import Floats, Rows, take


def cross_fitted_margins(
    model: Any,
    X: Rows,
    y: Floats,
    v: Floats,
    folds: int = 5,
    *,
    K: int = 2,
    random_state: int | np.random.Generator | None = 0,
) -> Floats:
    """Scores of labelled rows from copies of a classifier that were fitted without them, fold by fold.

    Labels are numbers (`unskew.labels.codes`). The score is the log-odds if the classifier gives probabilities,
    otherwise its `decision_function`; of more than two classes, log-probabilities (`unskew.models.scores`). `v` are the
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
    of, scores = scale(K), []
    state = random_state if isinstance(random_state, int) else np.random.default_rng(random_state).integers(2**31)
    splits = list(KFold(folds, shuffle=True, random_state=int(state)).split(y))
    for fitted, held in splits:
        if len(np.unique(y[fitted])) < 2:
            scores.append(np.stack([of.constant(y[fitted[0]], len(fitted))] * len(held)))
        else:
            own = fit_weighted(model, take(X, fitted), y[fitted], v[fitted])
            scores.append(of.by(own, take(X, held), of.labels, len(fitted)))
    return np.concatenate(scores)[np.argsort(np.concatenate([held for _, held in splits]))]
