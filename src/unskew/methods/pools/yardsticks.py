"""What one would run without this package, on the same model: the yardsticks for `Unskew`."""

from dataclasses import replace
from typing import Any

import numpy as np

from unskew.errors import InputError
from unskew.methods.loop import Round
from unskew.methods.pools.unskew import Unskew
from unskew.rows import Floats, Ints, Rows


class Yardstick(Unskew):
    """Rows of a pool picked in another way, every label counting once."""

    def __init__(self, *, model: Any = None, random_state: int | np.random.Generator | None = None) -> None:
        super().__init__(audit=0.0, model=model, random_state=random_state)

    def choose(self, X: Rows, q0: Floats) -> Round:
        raise InputError(
            f"{type(self).__name__} picks from a pool, not from a stream. Say how many rows: ask(X, q0, k)."
        )

    def weights(self) -> Floats:
        return np.ones(len(self._y))


class RandomLabels(Yardstick):
    """Labels for rows of the pool drawn at random: all of them audit."""

    def wanted(self, X: Rows, k: int) -> Ints:
        return np.asarray(self._rng.choice(X.shape[0], k, replace=False), dtype=np.int64)

    def pick(self, X: Rows, q0: Floats, k: int) -> Round:
        batch, n = super().pick(X, q0, k), len(q0)
        return replace(batch, p=np.full(k, k / n), audit=np.ones(k, dtype=bool), rest=n)


class MarginSampling(Yardstick):
    """The rows of the pool nearest to the boundary, from a warm start that takes the log as it is."""

    def wanted(self, X: Rows, k: int) -> Ints:
        margin = np.abs(self._model.decision_function(X))
        return np.asarray(np.argpartition(margin, k - 1)[:k], dtype=np.int64)


class WeightedMarginSampling(MarginSampling):
    """Margin sampling from a warm start that weighs the log's labels by 1 / sqrt(q0), mean 1."""

    def weights(self) -> Floats:
        v = np.ones(len(self._y))
        q0 = self.log_.revealed_q0
        if len(q0):
            v[: len(q0)] = q0**-0.5 / np.mean(q0**-0.5)
        return v


class StreamedUnskew(Unskew):
    """`Unskew` on rows that come by once, for the experiments, which give a pool to whoever takes one."""

    pools = False
