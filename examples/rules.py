"""Other ways for `Unskew` to pick rows and to weigh labels, beside which docs/method.md shows it.

PYTHONPATH=examples unskew reproduce --methods Unskew,rules:Half,rules:Near,rules:Unaudited,rules:Weighted
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


class Weighted(Unskew):
    """Mixture weights over log and pool, tempered: (N / (m q0(x) + n a))^(1/2), a the share drawn at random; mean 1.

    A label that was bought came with probability 1, and so weighs as a row of the log with q0 = 1 does.
    """

    def weights(self):
        m, n = self.log_.m, self.n_
        q0 = np.concatenate([self.log_.revealed_q0, np.ones(len(self._y) - np.count_nonzero(self.log_.z))])
        v = ((m + n) / (m * q0 + n * self.audit)) ** 0.5
        return v / v.mean() if len(v) else v
