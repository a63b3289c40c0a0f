"""What a model believes about the margins of rows: their means, their covariances, and which labels would settle them.

The last is how `Unskew` picks rows. Margins have means mu and covariances C = U U', with s_t^2 = C_tt. The sign of row
t is wrong with probability e_t = Phi(-|mu_t| / s_t). The label of row i measures the margin of row i with precision
c_i = p_i (1 - p_i). It removes a share r_it of the variance of the margin of row t. Summed over all rows t, the label
settles ::

    sum_t e_t r_it,    r_it = c_i C_it^2 / ((1 + c_i s_i^2) s_t^2)

which is c_i / (1 + c_i s_i^2) u_i' M u_i with one small matrix M = sum_t (e_t / s_t^2) u_t u_t', so that no pair of
rows is ever formed. The covariances of a small committee are too rough for this; there, rows are picked by their own
|mu_i| / s_i.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from unskew.rows import Floats, Ints

TINY = 1e-12

FEW, CANDIDATES = 200, 20
"""The number of candidates that are compared exactly: 20 for each row of the batch, and at least 200."""

Some = NDArray[np.floating[Any]]
"""Numbers in single or double precision."""


@dataclass(frozen=True)
class Belief:
    """Margins with mean `mu` and covariance U'U, where U = `root(rows)` has one column for each of the given rows.

    The root is computed on demand, since most callers need the mean of many rows and the covariance of only a few.

    >>> U = np.array([[3.0, 0.0], [4.0, 1.0]])
    >>> Belief(np.zeros(2), lambda rows: U[:, rows]).deviation().tolist()
    [5.0, 1.0]
    """

    mu: Floats
    root: Callable[[Ints], Floats]

    def deviation(self) -> Floats:
        """s: the standard deviation of the margin of every row, above 0."""
        U = self.root(np.arange(len(self.mu)))
        s: Floats = np.sqrt(np.maximum(np.einsum("ij,ij->j", U, U), TINY))
        return s


def at_stake(mu: Some, U: Some, wrong: Some | None = None) -> Floats:
    """The matrix M, as a mean over these rows; U has one row for each of them.

    `wrong` is the chance that the label is on the other side of the margin, if that is not e_t.

    >>> at_stake(np.zeros(2), np.array([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    variance = np.maximum(np.einsum("ij,ij->i", U, U), TINY)
    e = ndtr(-np.abs(mu) / np.sqrt(variance)) if wrong is None else wrong
    w = e / variance / len(mu)
    return np.asarray(U.T @ (U * w[:, None]), dtype=np.float64)


def settled(mu: Some, U: Some, M: Floats) -> Floats:
    """What the label of each row would settle."""
    c = expit(mu) * expit(-mu)
    variance = np.einsum("ij,ij->i", U, U)
    return np.asarray(c / (1.0 + c * variance) * np.einsum("ij,ij->i", U @ M.astype(U.dtype, copy=False), U))


class _Labelled:
    """One margin of some rows, as it is once some of them are labelled.

    S is the covariance of the coordinates of U, at first the identity. A label subtracts g h h' from it (Sherman and
    Morrison)::

        h = S u_i,    g = c_i / (1 + c_i s_i^2),    s_j^2 = u_j' S u_j,    Q_j = u_j' S M S u_j
    """

    def __init__(self, mu: Floats, U: Floats, M: Floats) -> None:
        self.U, self.M, self.c = U, M, expit(mu) * expit(-mu)
        self.S, self.variance = np.eye(U.shape[1]), np.einsum("ij,ij->i", U, U)
        self.Q = np.einsum("ij,ij->i", U @ M, U)

    def score(self) -> Floats:
        """What the label of each row would settle now."""
        return np.asarray(self.c / (1.0 + self.c * self.variance) * self.Q)

    def label(self, i: int) -> None:
        """From now on, row i is labelled."""
        U, M, S, c = self.U, self.M, self.S, self.c
        h = S @ U[i]
        g, Mh = c[i] / (1.0 + c[i] * self.variance[i]), M @ h
        along, across = (U @ np.column_stack((h, S @ Mh))).T
        self.variance = np.maximum(self.variance - g * along**2, 0.0)
        self.Q = np.maximum(self.Q - 2.0 * g * along * across + g * g * (h @ Mh) * along**2, 0.0)
        S -= g * np.outer(h, h)


def pick(margins: list[tuple[Floats, Floats, Floats]], k: int) -> Ints:
    """Choose k of these rows, one after the other: each settles the most, given that those before it are labelled.

    Of two classes there is one margin (mu, U, M). Of more there is one for each, and a label settles some of all.

    >>> U = np.array([[20.0, 0.0], [19.0, 0.0], [0.0, 1.0]])
    >>> pick([(np.zeros(3), U, at_stake(np.zeros(3), U))], 2).tolist()              # 0 also settles 1
    [0, 2]
    """
    labelled = [_Labelled(*margin) for margin in margins]
    picked = np.empty(k, dtype=np.int64)
    for j in range(k):
        score = np.asarray(sum(margin.score() for margin in labelled))
        score[picked[:j]] = -np.inf
        i = picked[j] = int(np.argmax(score))
        for margin in labelled:
            margin.label(i)
    return picked


def foremost(score: Some, k: int) -> Ints:
    """The candidates for a batch of k: the rows with the highest scores, in order of their positions."""
    n = max(FEW, CANDIDATES * k)
    return np.arange(len(score)) if len(score) <= n else np.sort(np.argpartition(-score, n)[:n])


def doubtful(belief: Belief, k: int, threshold: float = 0.0) -> Ints:
    """The k rows least certain to be on their side of the threshold t, by |mu - t| / s, one after the other.

    Each label shrinks s around it.

    >>> U = np.array([[20.0, 19.0, 0.0], [0.0, 0.0, 3.0]])
    >>> doubtful(Belief(np.full(3, 0.1), lambda rows: U[:, rows]), 3).tolist()          # 0 also settles 1
    [0, 2, 1]
    """
    near = foremost(-np.abs(belief.mu - threshold) / belief.deviation(), k)
    mu, U = np.abs(belief.mu[near] - threshold), belief.root(near)
    c = expit(belief.mu[near]) * expit(-belief.mu[near])
    picked = np.empty(k, dtype=np.int64)
    for j in range(k):
        variance = np.maximum(np.einsum("ij,ij->j", U, U), TINY)
        i = picked[j] = int(np.argmin(mu / np.sqrt(variance)))
        shrink = (1.0 - 1.0 / np.sqrt(1.0 + c[i] * variance[i])) / variance[i]
        U = U - np.outer(shrink * U[:, i], U[:, i] @ U)  # Sherman and Morrison, of the root
        mu[i] = np.inf  # not twice
    return np.asarray(near[picked])
