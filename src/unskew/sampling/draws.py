"""Draws from a pool: a fixed number of rows, each with a known chance, in one pass and without any order of the rows.

A row gets a random number from a hash of the round's seed and its place in the pool, so a draw does not depend on how
the pool is cut into blocks. The numbers run a race: the row with the least E_i / w_i wins, where E_i is exponential.
The first place goes to row i with chance w_i / sum of all w, exactly. The second place goes to one of the other rows in
the same way, and so on (successive sampling).
"""

from typing import NamedTuple

import numpy as np

from unskew.rows import Floats, Ints

EVENLY = 0.1
"""The share of every draw that is uniform, so that no row is out of reach, however sure the model is of it."""


class Draw(NamedTuple):
    """The rows drawn, in the order of their turns, and the chance with which each was drawn when its turn came."""

    rows: Ints
    p: Floats


def doubt(wrong: Floats, cost: Floats | float = 1.0, evenly: float = EVENLY) -> Floats:
    """The weights of a draw in proportion to doubt, with sum 1, from the chance that the model is wrong at each row.

    ::

        w_i = (1 - evenly) d_i / sum_j d_j + evenly / n,    d_i = cost_i sqrt(e_i (1 - e_i))

    d_i is the standard deviation of what row i costs (Neyman's allocation, 1934). It gives the least variance for the
    estimate of the mean cost; if all errors cost the same, that is the error.

    >>> doubt(np.array([0.5, 0.1, 0.0])).round(3).tolist()
    [0.596, 0.371, 0.033]
    """
    n, spread = len(wrong), deviation(wrong, cost)
    total = float(spread.sum())
    return (1.0 - evenly) * spread / total + evenly / n if total > 0.0 else np.full(n, 1.0 / n)


def deviation(wrong: Floats, cost: Floats | float = 1.0) -> Floats:
    """d_i: the standard deviation of what each row costs."""
    return np.asarray(cost * np.sqrt(wrong * (1.0 - wrong)))


def race(w: Floats, numbers: Floats, k: int) -> Draw:
    """The first k of a race: the rows with the least `numbers` / w, and their chances w_i / (sum of the w still left).

    >>> race(np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.3, 5.0]), 2)
    Draw(rows=array([1, 0]), p=array([0.3       , 0.71428571]))
    """
    keys = numbers / w
    first = np.argpartition(keys, k - 1)[:k] if 0 < k < len(keys) else np.arange(k)
    rows = first[np.argsort(keys[first], kind="stable")]
    before = np.cumsum(w[rows]) - w[rows]
    return Draw(rows, w[rows] / np.maximum(w.sum() - before, w[rows]))


def stand_for(p: Floats) -> Floats:
    """For each row drawn in a round, the number of rows it stands for, from the chances p_1, ..., p_a at the turns.

    For any x that does not depend on the draw, x_i / p_j plus the x of the rows drawn before is an unbiased estimate of
    the sum of x over all rows (Des Raj 1956). The mean of these a estimates gives the row of turn j the weight ::

        (1 / p_j + a - j) / a

    >>> stand_for(np.array([1 / 10, 1 / 9])).tolist()                       # two of ten rows, drawn evenly
    [5.5, 4.5]
    """
    a = len(p)
    return np.asarray((1.0 / p + np.arange(a - 1, -1, -1)) / max(a, 1))


def spread(wrong: Floats, w: Floats) -> float:
    """The variance that one drawn label leaves in the estimated number of wrong rows, if the model is right about them.

    ::

        sum_j w_j  sum_i e_i (1 - e_i) / w_i

    It is known before the draw. Rounds count in proportion to their number of draws over this.

    >>> spread(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    1.0
    """
    return float(w.sum() * (wrong * (1.0 - wrong) / w).sum())
