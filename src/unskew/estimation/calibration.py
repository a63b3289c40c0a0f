"""How far a model's probabilities can be taken at their word: a correction learned from labels it had not seen."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from unskew.labels import positions
from unskew.rows import Floats

PRIOR = 0.5
"""The prior standard deviation of the intercept, and of the logarithm of the slope."""


class Calibration:
    """Probabilities that fit honest predictions: Pr(Y = +1) = 1 / (1 + exp(-(slope margin + intercept))).

    Slope and intercept are fitted to margins that were computed without the row's own label (Platt 1999), with a prior
    that holds them near 1 and 0 while labels are few. A slope above 1 means that the model is less sure than it could
    be, a slope below 1 that it is too sure.

    Parameters
    ----------
    margin : array
        Log-odds of the labelled rows, each computed without its own label.
    y : array
        Their labels, +1.0 or -1.0.

    Examples
    --------
    >>> margin = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0] * 40)
    >>> always_right = Calibration(margin, np.sign(margin))
    >>> bool(always_right.slope > 3.0), always_right.positive(np.zeros(1)).round(3).tolist()
    (True, [0.5])
    """

    slope: float = 1.0
    intercept: float = 0.0

    def __init__(self, margin: Floats, y: Floats) -> None:
        if not len(y):
            return

        def loss(at: Floats) -> tuple[float, Floats]:
            scaled = np.exp(at[0]) * margin
            signed = y * (scaled + at[1])
            pull = -y * expit(-signed)
            value = float(np.logaddexp(0.0, -signed).sum() + at @ at / (2.0 * PRIOR**2))
            return value, np.array([pull @ scaled, pull.sum()]) + at / PRIOR**2

        found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(-4.0, 4.0), (-4.0, 4.0)]).x
        self.slope, self.intercept = float(np.exp(found[0])), float(found[1])

    def positive(self, margin: Floats) -> Floats:
        """The probability of the positive class."""
        return np.asarray(expit(self.slope * margin + self.intercept))

    def wrong(self, margin: Floats, threshold: float = 0.0) -> Floats:
        """The probability that the label is not what a margin on its side of the threshold says."""
        p = self.positive(margin)
        return np.where(margin >= threshold, 1.0 - p, p)


class ManyCalibration:
    """The same for more than two classes: Pr(Y = k) is proportional to exp(slope l_k + shift_k).

    Parameters
    ----------
    scores : array, a column for each class
        Log-probabilities of the labelled rows, each computed without its own label.
    y : array
        The numbers of their classes, 1.0, 2.0, ..., K.

    Examples
    --------
    >>> scores = np.log(np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], 50, axis=0))
    >>> always_right = ManyCalibration(scores, np.repeat([1.0, 2.0], 50))
    >>> bool(always_right.slope > 1.5), bool(always_right.wrong(scores[:1])[0] < 0.2)
    (True, True)
    """

    slope: float = 1.0

    def __init__(self, scores: Floats, y: Floats) -> None:
        K = scores.shape[1]
        self.shift = np.zeros(K)
        if not len(y):
            return
        rows, at = np.arange(len(y)), positions(y, K)

        def loss(found: Floats) -> tuple[float, Floats]:
            scaled = np.exp(found[0]) * scores
            log_p = log_softmax(scaled + found[1:], axis=1)
            residual = np.exp(log_p)
            residual[rows, at] -= 1.0
            value = -float(log_p[rows, at].sum()) + float(found @ found) / (2.0 * PRIOR**2)
            return value, np.append((residual * scaled).sum(), residual.sum(axis=0)) + found / PRIOR**2

        found = minimize(loss, np.zeros(K + 1), jac=True, method="L-BFGS-B", bounds=[(-4.0, 4.0)] * (K + 1)).x
        self.slope, self.shift = float(np.exp(found[0])), found[1:]

    def probabilities(self, scores: Floats) -> Floats:
        """The probabilities of all classes."""
        return np.asarray(np.exp(log_softmax(self.slope * scores + self.shift, axis=1)))

    def wrong(self, scores: Floats, threshold: float = 0.0) -> Floats:
        """The probability that the label is not the class with the largest score. There is no threshold."""
        p = self.probabilities(scores)
        return np.asarray(1.0 - p[np.arange(len(p)), scores.argmax(axis=1)])
