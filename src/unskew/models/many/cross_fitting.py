"""Scores of labelled rows of more than two classes, from models that were fitted without them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from unskew.models.classifiers import fit_weighted
from unskew.models.many.scores import class_scores
from unskew.rows import Floats, Rows, take


def cross_fitted_scores(
    model: Any, X: Rows, labels: NDArray[Any], v: Floats, classes: NDArray[Any], folds: int = 5
) -> Floats:
    """Log-probabilities of labelled rows from copies of a classifier that were fitted without them, fold by fold.

    If the rows outside a fold all have the same class, no classifier can be fitted; Laplace's rule of succession then
    gives that class its share.

    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.repeat(np.eye(3), 10, axis=0); y = np.repeat(["a", "b", "c"], 10)
    >>> found = cross_fitted_scores(LogisticRegression(), X, y, np.ones(30), np.array(["a", "b", "c"]))
    >>> float(np.mean(np.array(["a", "b", "c"])[found.argmax(axis=1)] == y))
    1.0
    """
    found, n = np.empty((len(labels), len(classes))), len(labels)
    for fitted, held in KFold(min(folds, n), shuffle=True, random_state=0).split(labels):
        if len(np.unique(labels[fitted])) < 2:
            counted = 1.0 + len(fitted) * (classes == labels[fitted[0]])
            found[held] = np.log(counted / counted.sum())
        else:
            own = fit_weighted(model, take(X, fitted), labels[fitted], v[fitted])
            found[held] = class_scores(own, take(X, held), classes, len(fitted))
    return found
