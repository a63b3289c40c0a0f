"""The weights of models whose scores are added: those that best predict labels not seen (stacking, Wolpert 1992)."""

import numpy as np
from scipy.optimize import minimize

from unskew.models.scores import Scale
from unskew.rows import Floats

FIRST, PULL = 0.8, 4.0
"""As long as labels are few, the first model has about the first weight, and the others share the rest. PULL is
the price, in units of log loss, of a squared distance of 1 from there."""

NO_WEIGHT = 0.01
"""A smaller weight counts as 0."""

WORTH = 0.5
"""A member gets no weight unless the log loss without it would be larger by this much."""


def together(weights: Floats, scores: Floats) -> Floats:
    """The scores of members added up, each times its weight."""
    total: Floats = weights @ scores.reshape(len(scores), -1)
    return total.reshape(scores.shape[1:])


def stacked(honest: Floats, y: Floats, v: Floats, of: Scale) -> Floats:
    """The weights of members with these honest scores of the labels y, an array for each member.

    >>> from unskew.models.scores import LogOdds
    >>> y = np.array([1.0, -1.0] * 20); useless = np.tile([1.0, 1.0, -1.0, -1.0], 10)
    >>> stacked(np.array([2.0 * y, useless]), y, np.ones(40), LogOdds()).round(1).tolist()
    [1.5, 0.0]
    """
    weights, kept = np.zeros(len(honest)), list(range(len(honest)))
    best, loss = _best(honest, y, v, of)
    while len(kept) > 1:
        fewer = [[other for other in kept if other != member] for member in kept[1:]]
        without = [_best(honest[some], y, v, of) for some in fewer]
        least = int(np.argmin([worse for _, worse in without]))
        if without[least][1] >= loss + WORTH:
            break
        kept, (best, loss) = fewer[least], without[least]
    weights[kept] = np.where(best < NO_WEIGHT, 0.0, best)
    return weights if weights.any() else np.eye(len(honest))[0]


def _best(honest: Floats, y: Floats, v: Floats, of: Scale) -> tuple[Floats, float]:
    """The weights of these members, and the log loss that they leave."""
    members, each = len(honest), v.reshape(-1, *[1] * (honest.ndim - 2))
    first = np.ones(1) if members == 1 else np.append(FIRST, np.full(members - 1, (1.0 - FIRST) / (members - 1)))

    def loss(a: Floats) -> tuple[float, Floats]:
        losses, slopes = of.losses(together(a, honest), y)
        pull = honest.reshape(members, -1) @ (each * slopes).ravel()
        return float(v @ losses + PULL * np.sum((a - first) ** 2)), pull + 2.0 * PULL * (a - first)

    best = minimize(loss, first, jac=True, bounds=[(0.0, None)] * members, method="L-BFGS-B").x
    return best, float(v @ of.losses(together(best, honest), y)[0])
