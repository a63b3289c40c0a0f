"""Other ways for `Unskew` to pick rows and to weight labels, beside which docs/method.md shows it.

PYTHONPATH=examples unskew reproduce --methods Unskew,rules:Doubtful,rules:AllChosen,rules:Unweighted
"""

import numpy as np

from unskew import Unskew
from unskew.models.belief import doubtful


class Doubtful(Unskew):
    """The rows whose own sign is least known, |mu| / s, whatever their labels say of others; each pick shrinks s."""

    def wanted(self, X, k):
        return doubtful(self.belief(X), k)


class AllChosen(Unskew):
    """All labels chosen, none drawn at random: what the draw costs."""

    def __init__(self, *, random_state=None):
        super().__init__(drawn=0.0, random_state=random_state)


class Unweighted(Unskew):
    """Every label counts once, whatever its source."""

    def weights(self, known):
        return np.ones(len(known.y))
