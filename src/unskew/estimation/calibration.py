"""How far a model's probabilities can be taken at their word: a correction learned from labels it had not seen."""

import numpy as np
from scipy.optimize import minimize

from unskew.models.scores import scale_of
from unskew.renamed import former
from unskew.rows import Floats

PRIOR = 0.5
"""The prior standard deviation of the intercept, and of the logarithm of the slope."""


class Calibration:
    """Probabilities that fit honest predictions: Pr(Y = +1) = 1 / (1 + exp(-(slope margin + intercept))).

    Slope and intercept are fitted to margins that were computed without the row's own label (Platt 1999), with a prior
    that holds them near 1 and 0 while labels are few. A slope above 1 means that the model is less sure than it could
    be, a slope below 1 that it is too sure. If there are more than two classes, Pr(Y = k) is proportional to
    exp(slope l_k + intercept_k), where l_k are log-probabilities.

    Parameters
    ----------
    scores : array
        Scores of the labelled rows (`unskew.models.scores`), each computed without its own label.
    y : array
        Their labels, +1.0 or -1.0; of more than two classes, their numbers 1.0, 2.0, ..., K.

    Examples
    --------
    >>> margin = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0] * 40)
    >>> always_right = Calibration(margin, np.sign(margin))
    >>> bool(always_right.slope > 3.0), always_right.chances(np.zeros(1)).round(3).tolist()
    (True, [0.5])
    >>> scores = np.log(np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], 50, axis=0))
    >>> always_right = Calibration(scores, np.repeat([1.0, 2.0], 50))
    >>> bool(always_right.slope > 1.5), bool(always_right.wrong(scores[:1])[0] < 0.2)
    (True, True)
    """

    slope: float = 1.0

    def __init__(self, scores: Floats, y: Floats) -> None:
        self._scale, each = scale_of(scores), scores.shape[1:]
        self.intercept = np.zeros(each)[()]
        if not len(y):
            return

        def loss(at: Floats) -> tuple[float, Floats]:
            scaled = np.exp(at[0]) * scores
            losses, pull = self._scale.losses(scaled + at[1:], y)
            value = float(losses.sum() + at @ at / (2.0 * PRIOR**2))
            slopes = np.append(pull.ravel() @ scaled.ravel(), pull.sum(axis=0))
            return value, slopes + at / PRIOR**2

        start = np.zeros(1 + self.intercept.size)
        bounds = [(-4.0, 4.0)] * len(start)
        best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
        self.slope, self.intercept = float(np.exp(best[0])), best[1:].reshape(each)[()]

    def chances(self, scores: Floats) -> Floats:
        """The probability of the positive one of two classes, or those of all classes."""
        return self._scale.chances(self.slope * scores + self.intercept)

    def wrong(self, scores: Floats, threshold: float = 0.0) -> Floats:
        """The probability that the label is not the class that is predicted, of two classes at this threshold."""
        return self._scale.others(self.chances(scores), self._scale.predicted(scores, threshold))


__getattr__ = former(__name__, {"ManyCalibration": f"{__name__}:Calibration"})
