"""Other ways for `Unskew` to pick rows and to weight labels; docs/method.md compares them with it.

PYTHONPATH=examples unskew reproduce --methods Unskew,rules:Doubtful,rules:AllChosen,rules:Unweighted
"""

import numpy as np

from unskew import BayesianLogistic, Unskew
from unskew.methods import MarginSampling
from unskew.models.belief import doubtful


class Doubtful(Unskew):
    """Choose the rows whose own sign is least certain, by |mu| / s, ignoring all other rows; each pick shrinks s."""

    def wanted(self, X, k):
        return doubtful(self.belief(X), k)


class AllChosen(Unskew):
    """Choose all rows and draw none at random, to see what the draw costs."""

    def __init__(self, *, random_state=None):
        super().__init__(drawn=0.0, random_state=random_state)


class Unweighted(Unskew):
    """Give every label the same weight, whatever its source."""

    def weights(self, known):
        return np.ones(len(known.y))


class Logistic(Unskew):
    """Learn with the first member alone, and take all columns as amounts, as before 0.5.0."""

    def __init__(self, *, random_state=None):
        super().__init__(model=BayesianLogistic(few=0), random_state=random_state)


class LogisticMargin(MarginSampling):
    """Margin sampling with that model."""

    def __init__(self, *, random_state=None):
        super().__init__(model=BayesianLogistic(few=0), random_state=random_state)
