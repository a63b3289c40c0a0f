"""What a model believes of the margins of rows: where they are, and how they would move together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unskew.rows import Floats, Ints


@dataclass(frozen=True)
class Belief:
    """Margins with mean `mu` and covariance U'U, where U = `root(rows)` has one column for each of the rows named.

    The root is found when asked for, since most callers look at the mean of many rows and the covariance of few.

    >>> U = np.array([[3.0, 0.0], [4.0, 1.0]])
    >>> Belief(np.zeros(2), lambda rows: U[:, rows]).deviation().tolist()
    [5.0, 1.0]
    """

    mu: Floats
    root: Callable[[Ints], Floats]

    def deviation(self) -> Floats:
        """s: the standard deviation of the margin of every row, above 0."""
        U = self.root(np.arange(len(self.mu)))
        s: Floats = np.sqrt(np.maximum(np.einsum("ij,ij->j", U, U), 1e-12))
        return s
