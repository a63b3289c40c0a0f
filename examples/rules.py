"""Other ways for `Unskew` to pick rows and to weigh labels, beside which docs/method.md shows it.

PYTHONPATH=examples unskew reproduce --methods Unskew,rules:Half,rules:Near,rules:Unaudited,rules:Unweighted
"""

import numpy as np

from unskew import Unskew


class Unaudited(Unskew):
    """All labels chosen, none drawn at random: what the audit costs."""

    def __init__(self, *, random_state=None):
        super().__init__(audit=0.0, random_state=random_state)


class Half(Unskew):
    """|mu| / sqrt(s): half way, in logarithms, between margin sampling and `Unskew`."""

    def doubt(self, mu, s):
        return np.abs(mu) / np.sqrt(s)


class Near(Unskew):
    """The most doubtful, but only of the rows nearest to the boundary: five times as many as wanted, 50 at least."""

    def doubtful(self, X, k):
        margin = np.abs(self._model.belief(X).mu)
        wanted = min(max(50, 5 * k), len(margin))
        near = np.argpartition(margin, wanted - 1)[:wanted]
        return near[super().doubtful(X[near], k)]


class Unweighted(Unskew):
    """Every label counts once, whatever its source."""

    def weights(self):
        return np.ones(len(self._y))
