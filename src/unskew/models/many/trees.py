"""Trees for more than two classes: a leaf says what share of its labels has each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew.models.trees import DRAWS, TREES, TRIED, UNSEEN, grown, of_parts, parts, shares, single
from unskew.rows import Floats


class ManyTrees:
    """Extremely randomised trees as for two classes (`unskew.models.trees.Trees`), with a share for every class.

    With k trees, the probability of a class is (k p + 1/K) / (k + 1), so that no class is impossible.

    Attributes
    ----------
    trees : the grown trees, as scikit-learn keeps them
    out_of_bag : array
        The log-probabilities of the labelled rows, each from the trees that have not seen it.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2)); y = 1 + (X[:, 0] > 0) + (X.prod(axis=1) > 0)
    >>> trees = ManyTrees(X, y, np.ones(300), 3, seed=0)
    >>> bool(np.mean(trees.out_of_bag.argmax(axis=1) + 1 == y) > 0.85)
    True
    """

    def __init__(self, X: Floats, y: Floats, v: Floats, K: int, *, seed: int) -> None:
        rows, target = single(X), np.eye(K)[np.asarray(y, dtype=np.int64) - 1]
        n, d = X.shape
        said, voters = np.zeros((n, K)), np.zeros(n)
        self.trees: Sequence[Any] = [
            grown(rows, target, v, min(n, DRAWS), min(-(-d // 2), TRIED), [seed, t], said, voters) for t in range(TREES)
        ]
        heard = np.where(voters[:, None] > 0.0, said / np.maximum(voters, 1.0)[:, None], 1.0 / K)
        self.out_of_bag = _softened(heard, UNSEEN * TREES)

    def scores(self, X: Floats) -> Floats:
        """The log-probabilities of all classes for every row."""
        rows = single(X)
        return _softened(np.sum([shares(tree, rows) for tree in self.trees], axis=0) / TREES, TREES)

    def __getstate__(self) -> dict[str, Any]:
        return {"trees": [parts(tree) for tree in self.trees], "out_of_bag": self.out_of_bag}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, trees=[of_parts(*known) for known in state["trees"]])


def _softened(p: Floats, k: float) -> Floats:
    """The log-probabilities of shares p of k votes, with one vote added that is split evenly."""
    return np.asarray(np.log((k * p + 1.0 / p.shape[1]) / (k + 1.0)))
