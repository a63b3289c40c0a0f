"""Rows that stand for others: figures over all rows of a pool, from a sample of them.

Row j of the sample stands for counts[j] rows. Where counts are None, every row is there and stands for itself.
"""

import numpy as np
from numpy.typing import ArrayLike

from unskew.errors import InputError
from unskew.rows import Bools, Floats


def mean_of(x: Floats | Bools, counts: Floats | None) -> float:
    """The mean of x over all rows."""
    return float(x.mean()) if counts is None else float((counts * x).sum() / counts.sum())


def variance_of(x: Floats, counts: Floats | None) -> float:
    """The variance of x over all rows.

    >>> variance_of(np.array([0.0, 1.0]), np.array([3.0, 1.0])), variance_of(np.array([0.0, 0.0, 0.0, 1.0]), None)
    (0.1875, 0.1875)
    """
    return float(x.var()) if counts is None else mean_of((x - mean_of(x, counts)) ** 2, counts)


def variance_of_total(x: Floats, counts: Floats | None) -> float:
    """The variance of the sum of x over all rows, which is there because some of them stand for others.

    A row that stands for u rows is in the sample with chance 1 / u. So the variance of u x is (u - 1) x^2, and there
    are u such rows. Only the distance from the mean matters, because the counts add up to the number of all rows.

    >>> variance_of_total(np.array([0.0, 1.0, 1.0, 0.0, 0.5]), np.full(5, 2.0))       # 10^2 (1 - 5 / 10) variance / 5
    2.0
    """
    if counts is None or not (others := counts > 1.0).any():
        return 0.0
    u, x = counts[others], x[others]
    return float((u * (u - 1.0) * (x - mean_of(x, u)) ** 2).sum())


def checked_counts(values: ArrayLike, n: int) -> Floats:
    """Counts as an array, if they can stand for the n rows of a pool."""
    counts = np.asarray(values, dtype=np.float64)
    if counts.ndim != 1:
        raise InputError(f"counts must have one value per held row of the pool; got shape {counts.shape}. Flatten it.")
    for i in np.flatnonzero(~(counts >= 1.0))[:1]:
        raise InputError(f"counts must be at least 1; got {counts[i]} at row {i}. Every held row stands for itself.")
    if not abs(counts.sum() - n) <= 1e-9 * n:
        raise InputError(f"counts must add up to the {n} rows of the pool; got {counts.sum()}. Scale those above 1.")
    return counts
