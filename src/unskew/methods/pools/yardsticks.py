"""Baselines for `Unskew`: what one would do without this package, with the same model."""

from dataclasses import replace
from typing import Any

import numpy as np

from unskew.methods.learner import Learned, one_thread
from unskew.methods.pools.unskew import Unskew
from unskew.methods.rounds import PoolRound
from unskew.rows import Floats, Ints, Rows


class Yardstick(Unskew):
    """A baseline that picks the rows of a pool in another way and gives every label the same weight."""

    def __init__(
        self, *, drawn: float = 0.0, model: Any = None, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(drawn=drawn, model=model, random_state=random_state)

    def weights(self, known: Learned) -> Floats:
        return np.ones(len(known.y))


class RandomLabels(Yardstick):
    """Draw all rows at random from the pool."""

    def wanted(self, X: Rows, k: int) -> Ints:
        return np.asarray(self._rng.choice(X.shape[0], k, replace=False), dtype=np.int64)

    def pick(self, left: Ints, k: int) -> PoolRound:
        batch, n = super().pick(left, k), len(left)
        return replace(batch, p=np.full(k, k / n), drawn=np.ones(k, dtype=bool), rest=n)


class MarginSampling(Yardstick):
    """Choose the rows of the pool nearest to the boundary, after a warm start on the unweighted log."""

    def wanted(self, X: Rows, k: int) -> Ints:
        with one_thread():
            margin = np.abs(self.state_.model.margin(X))
        return np.asarray(np.argpartition(margin, k - 1)[:k], dtype=np.int64)


class WeightedMarginSampling(MarginSampling):
    """Margin sampling after a warm start that weights the log's labels by 1 / sqrt(q0), scaled to mean 1."""

    def weights(self, known: Learned) -> Floats:
        v = np.ones(len(known.y))
        q0 = self.log_.revealed_q0
        if len(q0):
            v[: len(q0)] = q0**-0.5 / np.mean(q0**-0.5)
        return v
