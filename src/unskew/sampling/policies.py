"""Logging policies Q0(x): the probability with which the log reveals the label of x.

Each policy is a callable `Q0(X) -> q0` that is deterministic in x. Its random part (the hash of `Uniform`)
is drawn once, from a seed, when the policy is made. The paper's text leaves several constants open, and
the released program fixes them. Where the two differ (`Certainty`), both versions are here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from unskew.descent import Descent
from unskew.errors import InputError, unknown
from unskew.rows import Bools, Floats, Ints, Rows, keys, take

FLOOR = 0.005
"""No policy reveals a label with a smaller probability (protocol.md). Methods are given it as xi_0."""

VARIANTS = ("released", "paper")

CLUSTERS, CLUSTER_SAMPLE = 8, 1000
"""For `BlindSpotPolicy`: the number of clusters, and the number of rows from which they are found."""

Policy = Callable[[Rows], Floats]


@dataclass(frozen=True)
class Identical:
    """Every label is revealed with the same probability.

    >>> Identical()(np.zeros((2, 3))).tolist()
    [0.005, 0.005]
    """

    q: float = FLOOR

    def __call__(self, X: Rows) -> Floats:
        return np.full(X.shape[0], self.q)


@dataclass(frozen=True)
class Uniform:
    """Three groups of about equal size, revealed with probability 0.005, 0.05 and 0.5.

    The group is trunc(1e5 v.x) mod 3, a hash of x with a random v from U(0, 1)^d. It is deterministic in x and
    independent of y, which is all that the paper's text requires.
    """

    v: Floats

    @classmethod
    def draw(cls, n_features: int, random_state: int | np.random.Generator | None = None) -> Self:
        return cls(np.random.default_rng(random_state).random(n_features))

    def __call__(self, X: Rows) -> Floats:
        group = np.trunc(1e5 * np.asarray(X @ self.v)).astype(np.int64) % 3
        return np.array([FLOOR, 0.05, 0.5])[group]


@dataclass(frozen=True)
class Uncertainty:
    """exp(-c r^2), where r is the distance to a coarse linear boundary: labels are known where a model was unsure.

    c is chosen so that the probability is 0.1 at r^2 = s, where `s` is the lower tercile of a sample of r^2
    (the text leaves c open). The probability is never below 0.005.
    """

    w: Floats
    s: float

    @classmethod
    def fit(cls, X: Rows, y: Floats) -> Self:
        """Train the coarse classifier on the first 10 % of the rows, take s from the last 400."""
        w, r2 = _coarse(X, y)
        return cls(w, _scale(r2, len(r2) // 3))

    def __call__(self, X: Rows) -> Floats:
        r2 = np.asarray(X @ self.w) ** 2
        return np.maximum(FLOOR, np.exp(math.log(0.1) * r2 / self.s))


@dataclass(frozen=True)
class Certainty:
    """The probability grows with the distance r to a coarse linear boundary: 0.1 at r^2 = s, at most 1.

    The text says c r^2 (`variant="paper"`); the released program used c r^4 (`variant="released"`). `s` is the
    upper tercile of a sample of r^2. The probability is never below 0.005.
    """

    w: Floats
    s: float
    variant: str = "released"

    @classmethod
    def fit(cls, X: Rows, y: Floats, *, variant: str = "released") -> Self:
        """Train the coarse classifier on the first 10 % of the rows, take s from the last 400."""
        if variant not in VARIANTS:
            raise unknown("variant", variant, VARIANTS)
        w, r2 = _coarse(X, y)
        return cls(w, _scale(r2, len(r2) - 1 - len(r2) // 3), variant)

    def __call__(self, X: Rows) -> Floats:
        ratio = np.asarray(X @ self.w) ** 2 / self.s
        return np.clip(0.1 * (ratio if self.variant == "paper" else ratio**2), FLOOR, 1.0)


@dataclass(frozen=True)
class BlindSpotPolicy:
    """One cluster of the population is hardly ever labelled (0.005), everyone else often (0.5).

    It is the cluster on which a model that never saw its labels makes the most errors. So it shows what a log hides
    when some group was never served. This is not one of the paper's policies.

    A row belongs to the cluster with the greatest W_j.x + b_j, which is the one with the nearest centre.
    `spot` is the number of the blind cluster.
    """

    W: Floats
    b: Floats
    spot: int

    @classmethod
    def fit(cls, X: Rows, y: Floats, random_state: int | np.random.Generator | None = None) -> Self:
        """Find eight clusters by k-means on a sample of 1000 rows, and take the worst of them.

        Features are used as they are. The experiments scale them to [-1, 1]; scaling them to a standard deviation
        of 1 would make clusters out of rare indicators. Candidates hold 5 to 25 % of the rows; if no cluster does, the
        one nearest to an eighth is taken. The model is one pass of the update over all other rows (eta = 1, weights 1).
        """
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        rng = np.random.default_rng(random_state)
        order = rng.permutation(X.shape[0])
        sample = X[order[:CLUSTER_SAMPLE]]
        if (different := len(set(keys(sample)))) < CLUSTERS:
            raise InputError(
                f"a blind spot needs a sample of at least {CLUSTERS} different rows; got {different}. "
                "Add features or rows, or use another policy."
            )
        kmeans = KMeans(CLUSTERS, n_init=1, max_iter=10, random_state=int(rng.integers(2**31)))
        with threadpool_limits(1):  # the same centres on every machine, and faster at this size
            centres = kmeans.fit(sample).cluster_centers_
        # |x - c|^2 = x.x - 2 x.c + c.c, and x.x is the same for every centre
        policy = cls(centres.T, -0.5 * (centres**2).sum(axis=1), 0)
        cluster = policy.cluster(X)
        share = np.bincount(cluster, minlength=CLUSTERS) / X.shape[0]
        candidates = np.flatnonzero((share >= 0.05) & (share <= 0.25))
        if not len(candidates):
            candidates = np.argmin(np.abs(share - 1.0 / CLUSTERS), keepdims=True)
        errors = [_error_unseen(X, y, cluster == j, order) for j in candidates]
        return replace(policy, spot=int(candidates[np.argmax(errors)]))

    def cluster(self, X: Rows) -> Ints:
        """The number of each row's cluster."""
        nearest: Ints = np.asarray(X @ self.W + self.b).argmax(axis=1)
        return nearest

    def __call__(self, X: Rows) -> Floats:
        return np.where(self.cluster(X) == self.spot, FLOOR, 0.5)


POLICIES = ("identical", "uniform", "uncertainty", "certainty")
"""The paper's four policies."""

ALL_POLICIES = (*POLICIES, "blind-spot")


def make(name: str, X: Rows, y: Floats, rng: np.random.Generator, *, variant: str = "released") -> Policy:
    """The policy of that name for training rows X with labels y in {-1, +1}, as in the experiments."""
    if name == "identical":
        return Identical()
    if name == "uniform":
        return Uniform.draw(X.shape[1], rng)
    if name == "uncertainty":
        return Uncertainty.fit(X, y)
    if name == "certainty":
        return Certainty.fit(X, y, variant=variant)
    if name == "blind-spot":
        return BlindSpotPolicy.fit(X, y, rng)
    raise unknown("policy", name, ALL_POLICIES)


def _coarse(X: Rows, y: Floats) -> tuple[Floats, Floats]:
    """The unit normal after one pass over the first 10 % of rows (eta = 1, weights 1); sorted r^2 of the last 400."""
    k = max(1, X.shape[0] // 10)
    descent = Descent(X.shape[1], eta=1.0)
    descent.run(X[:k], y[:k], np.ones(k), np.arange(k))
    length = float(np.linalg.norm(descent.w))
    if length == 0.0:
        raise InputError(
            f"the coarse classifier needs a row that is not all zeros among the first {k}; got none. Shuffle the rows."
        )
    w = descent.w / length
    return w, np.sort(np.asarray(X[-400:] @ w) ** 2)


def _scale(r2: Floats, i: int) -> float:
    """s: entry i of the sorted r^2."""
    if not r2[i] > 0.0:
        raise InputError(
            f"s, entry {i} of {len(r2)} sorted squared distances to the coarse boundary, must be above 0; got {r2[i]}: "
            "too many rows lie on it. Add a feature, or use another policy."
        )
    return float(r2[i])


def _error_unseen(X: Rows, y: Floats, unseen: Bools, order: Ints) -> float:
    """The error on these rows of a model trained on all the others."""
    descent = Descent(X.shape[1], eta=1.0)
    descent.run(X, y, np.where(unseen, 0.0, 1.0), order)
    label, _ = descent.judge(take(X, unseen), 0.0)
    return float(np.mean(label != y[unseen]))
