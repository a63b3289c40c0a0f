"""Scores of rows: one column for each class, whose differences are log-odds of one class against another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from unskew.rows import Floats, Ints, Rows


def log_probabilities(scores: Floats) -> Floats:
    """Scores as logarithms of probabilities that add up to 1 in every row."""
    return np.asarray(log_softmax(scores, axis=1))


def gaps(scores: Floats) -> tuple[Ints, Ints, Floats]:
    """For each row the class with the largest score, the second, and how far they are apart.

    >>> gaps(np.array([[0.5, 3.0, 2.0]]))
    (array([1]), array([2]), array([1.]))
    """
    rows, last = np.arange(len(scores)), scores.shape[1] - 1
    order = np.argpartition(scores, (last - 1, last), axis=1) if last > 1 else np.argsort(scores, axis=1)
    first, second = order[:, last], order[:, last - 1]
    return first, second, scores[rows, first] - scores[rows, second]


def class_probabilities(model: Any, X: Rows, classes: NDArray[Any]) -> Floats:
    """The probabilities of all classes by a fitted scikit-learn classifier; 0 for a class that it has not seen.

    Where it has no `predict_proba`, its margins are taken for log-odds.
    """
    if hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X), dtype=np.float64)
    else:
        margin = np.asarray(model.decision_function(X), dtype=np.float64)
        p = np.exp(log_probabilities(np.column_stack((-margin, margin)) / 2.0 if margin.ndim == 1 else margin))
    found = np.zeros((len(p), len(classes)))
    for j, name in enumerate(model.classes_):
        found[:, int(np.flatnonzero(classes == name)[0])] = p[:, j]
    return found


def class_scores(model: Any, X: Rows, classes: NDArray[Any], labels: int) -> Floats:
    """The log-probabilities of all classes by a fitted scikit-learn classifier, one column for each class.

    With n labels, a probability is at least about 1 / (n + K) (Laplace's rule of succession): pure leaves would claim
    that a class is impossible, and so would a classifier that has not seen it.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1]], ["a", "c"])
    >>> np.exp(class_scores(model, np.zeros((1, 1)), np.array(["a", "b", "c"]), 2)).round(2).tolist()
    [[0.4, 0.2, 0.4]]
    """
    found = class_probabilities(model, X, classes)
    return np.asarray(np.log((labels * found + 1.0) / (labels * found.sum(axis=1, keepdims=True) + len(classes))))
