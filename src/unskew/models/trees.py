"""Trees that know what they would say about a labelled row without its own label."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn
from sklearn.tree import ExtraTreeRegressor

from unskew.models.scores import scale
from unskew.rows import Floats, Ints

TREES = 100

TRIED = 30
"""A split is the best of random cuts of half of the columns, and of no more than this number of them."""

DRAWS = 5_000
"""A tree is grown on as many draws as there are labels, and on no more than this number."""

MANY = 1_000
"""From this number of rows on, compiled loops predict, four times as fast. They say the same, to the last bit."""

WIDE = 8191
"""More columns do not fit into the nodes that compiled loops read."""

Packed = tuple[Ints, Any, Floats]
"""Where each tree starts, its nodes, and what they say."""

UNSEEN = 0.37
"""About this share of the trees has not seen a given label: (1 - 1/n)^n, which tends to 1/e."""


class Trees:
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006), each grown on a bootstrap sample of the labels.

    Every split is the best of some random cuts, so a tree takes little time to grow. A leaf says what share of its
    labels has each class, by weight; the trees' mean p is the forest's probability. With k trees and K classes, scores
    are those of (k p + 1/K) / (k + 1), so that no class is impossible.

    For a labelled row, the trees whose samples do not contain it say what the forest would predict without its label
    (out-of-bag, Breiman 1996); this costs no further fit. Trees grow on one thread from their own seeds, so the same
    labels give the same trees everywhere.

    Attributes
    ----------
    trees : the grown trees, as scikit-learn keeps them
    out_of_bag : array
        The scores of the labelled rows (`unskew.models.scores`), each from the trees that have not seen it; of a row
        that every tree has seen, those of equal shares.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2)); y = np.sign(X.prod(axis=1))
    >>> trees = Trees(X, y, np.ones(300), seed=0)
    >>> bool(np.mean((trees.out_of_bag > 0) == (y > 0)) > 0.9)
    True
    """

    _pack: Packed | None = None

    def __init__(self, X: Floats, y: Floats, v: Floats, K: int = 2, *, seed: int) -> None:
        self._scale = scale(K)
        rows, target = single(X), self._scale.targets(y)
        n, d = X.shape
        said, voters = np.zeros(target.shape), np.zeros(n)
        self.trees: Sequence[Any] = [
            grown(rows, target, v, min(n, DRAWS), min(-(-d // 2), TRIED), [seed, t], said, voters) for t in range(TREES)
        ]
        heard = (said.T / np.maximum(voters, 1.0)).T
        heard[voters == 0.0] = 1.0 / K
        self.out_of_bag = self._softened(heard, UNSEEN * TREES)

    def log_odds(self, X: Floats) -> Floats:
        """The scores of every row: the log-odds of the positive class, or log-probabilities of all classes."""
        if len(X) >= MANY and X.shape[1] <= WIDE and self._scale.K == 2:  # compiled loops add up one share
            return self._softened(votes(np.require(X, np.float64, ["C", "W"]), self.packed) / TREES, TREES)
        rows = single(X)
        return self._softened(np.asarray(sum(shares(tree, rows) for tree in self.trees)) / TREES, TREES)

    def _softened(self, p: Floats, k: float) -> Floats:
        """The scores of shares p of k votes, with one vote added that is split evenly."""
        return self._scale.of_shares((k * p + 1.0 / self._scale.K) / (k + 1.0))

    @property
    def packed(self) -> Packed:
        """The trees as compiled loops read them (`unskew._look.votes`)."""
        if self._pack is None:
            self._pack = packed(self.trees)
        return self._pack

    def __getstate__(self) -> dict[str, Any]:
        kept = {"out_of_bag": self.out_of_bag, "_scale": self._scale}
        return {"trees": [parts(tree) for tree in self.trees], **kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, trees=[of_parts(*known) for known in state["trees"]])


def single(X: Floats) -> Any:
    """Rows in single precision, which is all that trees see of them; larger numbers become the largest there is."""
    largest = np.finfo(np.float32).max
    return np.clip(X, -largest, largest).astype(np.float32)


def parts(tree: Any) -> tuple[Any, Any, dict[str, Any]]:
    """What a tree is pickled as: its class and its numbers, with zeros between the fields of a node.

    scikit-learn sets nothing there. In a file, equal trees would differ, and show something of this program's memory.
    """
    kind, sizes, state = tree.__reduce__()
    nodes = np.zeros(state["nodes"].shape, state["nodes"].dtype)  # `zeros_like` would leave the gaps as they are
    for field in nodes.dtype.names:
        nodes[field] = state["nodes"][field]
    return kind, sizes, {**state, "nodes": nodes}


def of_parts(kind: Any, sizes: Any, state: dict[str, Any]) -> Any:
    """A tree from what `parts` gave."""
    tree = kind(*sizes)
    tree.__setstate__(state)
    return tree


def grown(
    rows: Any, target: Floats, v: Floats, draws: int, tried: int, seed: list[int], said: Floats, voters: Floats
) -> Any:
    """One tree; what it says about the rows outside its sample is added to `said`, and 1 to their `voters`."""
    rng, n = np.random.default_rng(seed), len(target)
    drawn = np.bincount(rng.integers(n, size=draws), minlength=n)
    some, others = np.flatnonzero(drawn * v), np.flatnonzero(drawn == 0)
    tree = ExtraTreeRegressor(max_features=tried, random_state=int(rng.integers(2**31)))
    with sklearn.config_context(skip_parameter_validation=True):  # it would take longer than the tree
        # Squared error of 0 and 1 is Gini's index, and its leaves are shares
        tree.fit(rows[some], target[some], sample_weight=(drawn * v)[some], check_input=False)
    said[others] += shares(tree.tree_, rows[others])
    voters[others] += 1.0
    return tree.tree_


def shares(tree: Any, rows: Any) -> Floats:
    """What a tree says about rows: the share of positives, or of each of more than two classes."""
    says: Floats = tree.predict(rows)
    return says[..., 0]


def votes(X: Floats, packed: Packed) -> Floats:
    """The sum of what packed trees say about each row, one tree after the other."""
    from unskew import _look  # compiled loops take a moment to import

    total, said = np.empty(len(X)), np.empty(_look.FELLOWS * _look.GROUPS)
    single = np.empty(len(said) * X.shape[1], dtype=np.float32)
    _look.votes(X, *packed, single.view(np.uint32), single, said, total)
    return total


def packed(trees: Sequence[Any]) -> Packed:
    """Where each tree starts, its nodes, and what they say, as `unskew._look.votes` reads them."""
    from unskew import _look

    start, nodes, values = [0], [], []
    for tree in trees:
        inner = np.flatnonzero(tree.children_left >= 0)
        # The root has no fellow: nothing is in the second place
        place, first = np.zeros(tree.node_count, dtype=np.int64), 2 + 2 * np.arange(len(inner))
        place[tree.children_left[inner]], place[tree.children_right[inner]] = first, first + 1
        node, value = np.zeros(tree.node_count + 1, dtype=_look.NODE), np.zeros(tree.node_count + 1)
        node["threshold"], node["child"][place], value[place] = _look.LEAF, place, tree.value[:, 0, 0]
        node["threshold"][place[inner]] = _ordered(tree.threshold[inner])
        node["column"][place[inner]], node["child"][place[inner]] = tree.feature[inner] * _look.FELLOWS, first
        start.append(start[-1] + len(node))
        nodes.append(node)
        values.append(value)
    return np.array(start), np.concatenate(nodes), np.concatenate(values)


def _ordered(threshold: Floats) -> Any:
    """Whole numbers in the order of the largest single-precision numbers that do not exceed the thresholds.

    >>> _ordered(np.array([-1.0, -0.0, 0.0, 1.0, 1.0 + 1e-12])).tolist()
    [1082130431, 2147483648, 2147483648, 3212836864, 3212836864]
    """
    single = threshold.astype(np.float32)
    single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single) + np.float32(0.0)
    bits = single.view(np.uint32)
    return np.where(single < 0.0, ~bits, bits | np.uint32(1 << 31))
