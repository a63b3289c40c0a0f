"""How large the log and the label budget of a cell are: taken from a passive run on fully labelled data."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unskew.descent import Descent
from unskew.experiments.protocols import TRAINING
from unskew.rows import Floats
from unskew.sampling import policies

ETAS = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0)
BATCHES = 20
REPEATS = 4


@dataclass(frozen=True)
class Sizes:
    """A share `logged_fraction` of the training rows forms the log; curves are compared up to `label_budget` labels."""

    logged_fraction: float
    label_budget: int


def plan(X: Floats, y: Floats, policy: str, rng: np.random.Generator, *, variant: str = "released") -> Sizes:
    """The sizes of one cell (protocol.md, Parameters).

    A passive learner sees all training rows, with their labels, in 20 equal batches. Let e1 be its error after the
    first batch and e_end after the last. The log should reveal as many labels as it takes to reach the error
    e_end + 0.5 (e1 - e_end). The budget is a fifth of the further labels needed to reach e_end + 0.05 (e1 - e_end),
    and at least 100. The learning rate is the one with the smallest mean error over the run (the protocol leaves
    this open).
    """
    errors = np.zeros((len(ETAS), BATCHES))
    reveal_rate = 0.0
    train = int(TRAINING * len(y))
    edges = np.linspace(0, train, BATCHES + 1).astype(int)
    for _ in range(REPEATS):
        order = rng.permutation(len(y))
        X_r, y_r = X[order], y[order]
        q0 = policies.make(policy, X_r[:train], y_r[:train], rng, variant=variant)(X_r[:train])
        reveal_rate += float(q0.mean()) / REPEATS
        for i, eta in enumerate(ETAS):
            errors[i] += _passive(X_r, y_r, edges, eta) / REPEATS
    best = errors[int(np.argmin(errors.mean(axis=1)))]
    log_target, end_target = (_labels_at(best, edges[1:], share) for share in (0.5, 0.05))
    fraction = min(0.6, max(0.1, log_target / (reveal_rate * train)))
    return Sizes(round(fraction, 4), math.ceil(max((end_target - log_target) / 5.0, 100.0)))


def _passive(X: Floats, y: Floats, edges: np.ndarray, eta: float) -> Floats:
    """Test error of one descent after each batch."""
    descent = Descent(X.shape[1], eta)
    train = int(edges[-1])
    errors = np.empty(len(edges) - 1)
    for k, (lo, hi) in enumerate(pairwise(edges.tolist())):
        descent.run(X[lo:hi], y[lo:hi], np.ones(hi - lo), np.arange(hi - lo))
        wrong = np.where(descent.look(X[train:])[0] >= 0.0, 1.0, -1.0) != y[train:]
        errors[k] = np.count_nonzero(wrong) / len(wrong)
    return errors


def _labels_at(errors: Floats, labels: np.ndarray, share: float) -> float:
    """The number of labels at which the curve first reaches e_end + share (e1 - e_end)."""
    target = errors[-1] + share * (errors[0] - errors[-1])
    return float(labels[int(np.argmax(errors <= target))])
