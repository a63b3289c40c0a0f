"""Baselines for `Unskew`: what one would do without this package, with the same model."""

from typing import Any

import numpy as np

from unskew.estimation.costs import EQUAL, Costs
from unskew.methods.learner import Learned, one_thread
from unskew.methods.pools.unskew import Unskew
from unskew.rows import Floats, Ints, Rows


class Yardstick(Unskew):
    """A baseline that picks the rows of a pool in another way and gives every label the same weight."""

    def __init__(
        self,
        *,
        drawn: float = 0.0,
        costs: Costs = EQUAL,
        model: Any = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(drawn=drawn, costs=costs, model=model, random_state=random_state)

    def weights(self, known: Learned) -> Floats:
        return np.ones(len(known.y))


class RandomLabels(Yardstick):
    """Draw all rows at random from the pool, each with the same chance."""

    def draws_due(self, k: int) -> int:
        return k

    def wrong(self, X: Rows) -> Floats:
        return np.full(X.shape[0], 0.5)

    def cost_of_wrong(self, X: Rows) -> float:
        return 1.0


class MarginSampling(Yardstick):
    """Choose the rows of the pool nearest to the boundary, after a warm start on the unweighted log."""

    def wanted(self, X: Rows, k: int) -> Ints:
        with one_thread():
            margin = np.abs(self.state_.model.margin(X) - self.costs.log_odds)
        return np.asarray(np.argpartition(margin, k - 1)[:k], dtype=np.int64)


class WeightedMarginSampling(MarginSampling):
    """Margin sampling after a warm start that weights the log's labels by 1 / sqrt(q0), scaled to mean 1."""

    def weights(self, known: Learned) -> Floats:
        v = np.ones(len(known.y))
        q0 = self.log_.revealed_q0
        if len(q0):
            v[: len(q0)] = q0**-0.5 / np.mean(q0**-0.5)
        return v
