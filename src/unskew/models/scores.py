"""Scores of rows, by which classes are predicted: one number a row for two classes, K numbers a row for K classes.

The score for two classes is the log-odds of the second one, the positive one. Scores for more are
log-probabilities, a column for each class. Labels are as `unskew.labels.codes` writes them. What can
be done with scores is a method of their `Scale`, so who works with them need not ask how many
classes there are.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logit

from unskew.labels import positions
from unskew.models.classifiers import margins
from unskew.rows import Floats, Ints, Rows


class Scale(ABC):
    """What scores mean, and what follows from them, for K classes.

    `labels` are the numbers that stand for classes, and `labels_named` and `remedy` say so.
    """

    labels_named: str
    remedy: str

    def __init__(self, K: int, labels: Floats) -> None:
        self.K, self.labels = K, labels

    @abstractmethod
    def signs(self, y: Floats) -> list[Floats]:
        """Labels as those of one or more problems with the two classes +1.0 and -1.0."""

    @abstractmethod
    def joined(self, columns: list[Floats]) -> Floats:
        """Scores from the log-odds of each of these problems."""

    @abstractmethod
    def normalised(self, scores: Floats) -> Floats:
        """Scores as log-odds, or as logarithms of probabilities that add up to 1 in every row."""

    @abstractmethod
    def targets(self, y: Floats) -> Floats:
        """Labels as numbers whose means are the shares of classes."""

    @abstractmethod
    def of_shares(self, p: Floats) -> Floats:
        """Scores from the shares of classes."""

    @abstractmethod
    def losses(self, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
        """The log loss of each label, and its slopes in the scores."""

    @abstractmethod
    def chances(self, scores: Floats) -> Floats:
        """The probability of the positive one of two classes, or those of all classes."""

    @abstractmethod
    def of_probabilities(self, p: Floats) -> Floats:
        """Scores from the probabilities of all classes, which are above 0."""

    @abstractmethod
    def probabilities(self, scores: Floats) -> Floats:
        """The probabilities of all classes, one column for each."""

    @abstractmethod
    def predicted(self, scores: Floats, threshold: float = 0.0) -> Ints:
        """The position of the predicted class. Two classes may be told apart at another threshold."""

    @abstractmethod
    def others(self, p: Floats, at: Ints) -> Floats:
        """The chance that the class is not the one at this position, given `chances`."""

    @abstractmethod
    def against_rest(self, p: Floats, y: Floats, k: int) -> tuple[Floats, Floats]:
        """The probability of the class at position k, and labels: +1.0 for it, -1.0 for others, 0.0."""

    @abstractmethod
    def margin_of(self, scores: Floats, k: int) -> Floats:
        """The log-odds of the class at position k."""

    @abstractmethod
    def of_foremost(self, scores: Floats) -> Floats:
        """One number for each row that tells how sure the scores are."""

    @abstractmethod
    def contrast(self, scores: list[Floats]) -> list[Floats]:
        """The log-odds of one class against another by several models: the two likeliest by the first."""

    @abstractmethod
    def by(self, model: Any, X: Rows, classes: NDArray[Any], labels: int) -> Floats:
        """Scores by a fitted scikit-learn classifier, which has learned this number of labels."""

    @abstractmethod
    def limited(self, scores: Floats, labels: int) -> Floats:
        """Such scores, no surer than that number of labels can make anybody (Laplace's rule of succession)."""

    @abstractmethod
    def constant(self, y: float, labels: int) -> Floats:
        """The score of any row if this number of labels show one class only (Laplace's rule of succession)."""


class LogOdds(Scale):
    """Two classes."""

    labels_named, remedy = "+1 or -1", "Map the two classes to +1 and -1."

    def __init__(self) -> None:
        super().__init__(2, np.array([-1.0, 1.0]))

    def signs(self, y: Floats) -> list[Floats]:
        return [y]

    def joined(self, columns: list[Floats]) -> Floats:
        return columns[0]

    def normalised(self, scores: Floats) -> Floats:
        return scores

    def targets(self, y: Floats) -> Floats:
        return np.asarray(y > 0.0, dtype=np.float64)

    def of_shares(self, p: Floats) -> Floats:
        return np.asarray(logit(p))

    def losses(self, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
        signed = y * scores
        return np.logaddexp(0.0, -signed), -y * expit(-signed)

    def chances(self, scores: Floats) -> Floats:
        return np.asarray(expit(scores))

    def of_probabilities(self, p: Floats) -> Floats:
        return np.asarray(logit(p[:, 1]))

    def probabilities(self, scores: Floats) -> Floats:
        positive = expit(scores)
        return np.column_stack([1.0 - positive, positive])

    def predicted(self, scores: Floats, threshold: float = 0.0) -> Ints:
        return np.asarray(scores >= threshold).astype(np.intp)

    def others(self, p: Floats, at: Ints) -> Floats:
        return np.where(at > 0, 1.0 - p, p)

    def against_rest(self, p: Floats, y: Floats, k: int) -> tuple[Floats, Floats]:
        return (p, y) if k else (1.0 - p, -y)

    def margin_of(self, scores: Floats, k: int) -> Floats:
        return scores if k else -scores

    def of_foremost(self, scores: Floats) -> Floats:
        return scores

    def contrast(self, scores: list[Floats]) -> list[Floats]:
        return scores

    def by(self, model: Any, X: Rows, classes: NDArray[Any], labels: int) -> Floats:
        return margins(model, X, classes[1])

    def limited(self, scores: Floats, labels: int) -> Floats:
        return np.clip(scores, -np.log(labels + 1.0), np.log(labels + 1.0))

    def constant(self, y: float, labels: int) -> Floats:
        return np.asarray(y * np.log(labels + 1.0))


class LogProbabilities(Scale):
    """More than two classes."""

    SURE = 1e-9
    """Probabilities are kept this far from 0 and 1 where their log-odds are taken."""

    remedy = "Number the classes."

    def __init__(self, K: int) -> None:
        super().__init__(K, np.arange(1.0, K + 1.0))
        self.labels_named = f"1 to {K}"

    def signs(self, y: Floats) -> list[Floats]:
        return [np.where(y == label, 1.0, -1.0) for label in self.labels]

    def joined(self, columns: list[Floats]) -> Floats:
        return self.normalised(np.column_stack(columns))

    def normalised(self, scores: Floats) -> Floats:
        return np.asarray(log_softmax(scores, axis=1))

    def targets(self, y: Floats) -> Floats:
        return np.eye(self.K)[positions(y, self.K)]

    def of_shares(self, p: Floats) -> Floats:
        return np.asarray(np.log(p))

    def losses(self, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
        log_p, each = log_softmax(scores, axis=1), (np.arange(len(y)), positions(y, self.K))
        slopes = np.exp(log_p)
        slopes[each] -= 1.0
        return -log_p[each], slopes

    def chances(self, scores: Floats) -> Floats:
        return np.exp(self.normalised(scores))

    def of_probabilities(self, p: Floats) -> Floats:
        return np.asarray(np.log(p))

    def probabilities(self, scores: Floats) -> Floats:
        return np.exp(scores)

    def predicted(self, scores: Floats, threshold: float = 0.0) -> Ints:
        return np.asarray(scores.argmax(axis=1))

    def others(self, p: Floats, at: Ints) -> Floats:
        return np.asarray(1.0 - p[np.arange(len(p)), at])

    def against_rest(self, p: Floats, y: Floats, k: int) -> tuple[Floats, Floats]:
        return p[:, k], np.where(y == k + 1.0, 1.0, -1.0)

    def margin_of(self, scores: Floats, k: int) -> Floats:
        return self._log_odds(np.exp(scores[:, k]))

    def of_foremost(self, scores: Floats) -> Floats:
        return self._log_odds(np.exp(scores.max(axis=1)))

    def contrast(self, scores: list[Floats]) -> list[Floats]:
        first, second, _ = gaps(scores[0])
        rows = np.arange(len(first))
        return [each[rows, first] - each[rows, second] for each in scores]

    def by(self, model: Any, X: Rows, classes: NDArray[Any], labels: int) -> Floats:
        return class_scores(model, X, classes, labels)

    def limited(self, scores: Floats, labels: int) -> Floats:
        return scores

    def constant(self, y: float, labels: int) -> Floats:
        counted = 1.0 + labels * (np.arange(self.K) == y - 1.0)
        return np.asarray(np.log(counted / counted.sum()))

    def _log_odds(self, p: Floats) -> Floats:
        return np.asarray(logit(np.clip(p, self.SURE, 1.0 - self.SURE)))


def scale(K: int) -> Scale:
    """How rows of K classes are scored."""
    return LogOdds() if K == 2 else LogProbabilities(K)


def scale_of(scores: Floats) -> Scale:
    """How these rows are scored: by one number each, or by a column for each class."""
    return LogOdds() if scores.ndim == 1 else LogProbabilities(scores.shape[1])


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
        apart = np.column_stack((-margin, margin)) / 2.0 if margin.ndim == 1 else margin
        p = np.exp(log_softmax(apart, axis=1))
    every = np.zeros((len(p), len(classes)))
    for j, name in enumerate(model.classes_):
        every[:, int(np.flatnonzero(classes == name)[0])] = p[:, j]
    return every


def class_scores(model: Any, X: Rows, classes: NDArray[Any], labels: int) -> Floats:
    """The log-probabilities of all classes by a fitted scikit-learn classifier, one column for each class.

    With n labels, a probability is at least about 1 / (n + K) (Laplace's rule of succession): pure leaves would claim
    that a class is impossible, and so would a classifier that has not seen it.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1]], ["a", "c"])
    >>> np.exp(class_scores(model, np.zeros((1, 1)), np.array(["a", "b", "c"]), 2)).round(2).tolist()
    [[0.4, 0.2, 0.4]]
    """
    p = class_probabilities(model, X, classes)
    return np.asarray(np.log((labels * p + 1.0) / (labels * p.sum(axis=1, keepdims=True) + len(classes))))
