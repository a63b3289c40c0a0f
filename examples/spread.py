"""Your own query rule on a pool: the rows nearest to the boundary, no two of them close together."""

import numpy as np

from unskew import Unskew


class SpreadOut(Unskew):
    """Choose, among the 20 k rows nearest to the boundary, k rows that are each far from those before."""

    def wanted(self, X, k):
        rows = X if isinstance(X, np.ndarray) else X.toarray()
        near = np.argsort(np.abs(self.score(X)), kind="stable")[: 20 * k]
        picked = [near[0]]
        distance = np.full(len(near), np.inf)
        for _ in range(k - 1):
            distance = np.minimum(distance, np.linalg.norm(rows[near] - rows[picked[-1]], axis=1))
            distance[np.isin(near, picked)] = -1.0  # not twice, also where rows are equal
            picked.append(near[np.argmax(distance)])
        return np.array(picked)
