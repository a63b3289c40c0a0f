"""The regime of Passive, DBALw and DBALwm in the released program: keep every row, retrain after every batch."""

import math
from dataclasses import dataclass, replace

import numpy as np

from unskew.methods.rounds import StreamRound
from unskew.methods.streams.linear_method import LinearMethod, LinearState, Tested, still_inside
from unskew.rows import Floats, Growing, Rows
from unskew.theory.disagreement import LinearTest


@dataclass(frozen=True, eq=False)
class Kept(LinearState):
    """All rows so far: the first `from_log` are the log's revealed rows, the others are from the stream."""

    X: Growing
    y: Growing
    q0: Growing
    from_log: int
    rows: int
    n: int
    """The number of online rows so far."""


class Everything:
    """After each batch, one shuffled pass from w = 0, t = 0 over the whole log and every online row.

    A row that was not queried keeps the label that the model of its own round gave it.
    The test of a batch counts all m log rows and the online rows of earlier batches,
    cnt = t = m + n', whatever their weights (protocol.md).
    """

    anytime = True
    first_batch = 10

    def warm_start(self, method: LinearMethod) -> LinearState:
        log = method.log_
        rows = len(log.revealed_y)
        X, y, q0 = (Growing(part) for part in (log.revealed_X, log.revealed_y, log.revealed_q0))
        before = Kept(method.from_zero(), method.tested_before, X, y, q0, rows, rows, 0)
        return self.train(method, before)  # first model: the log alone, weights 1/Q0

    def test(self, method: LinearMethod, X: Rows, q0: Floats) -> Tested:
        state = method.state_
        assert isinstance(state, Kept)
        m, n = method.log_.m, state.n
        V = method.largest_weight(m, n, method.xi0_)
        test = LinearTest(method.C, V, state.fit.loss(), m + n)
        a = math.sqrt(method.eta / (method.eta + m + n))  # t = cnt here
        y, inside = test(state.fit.descent, X, a)
        return Tested(y, inside, np.ones_like(inside), still_inside(state.all_inside, inside))

    def learn(self, method: LinearMethod, batch: StreamRound) -> LinearState:
        state = method.state_
        assert isinstance(state, Kept)
        grown = replace(
            state,
            all_inside=batch.plan,
            X=state.X.extended(state.rows, batch.X),
            y=state.y.extended(state.rows, batch.y),
            q0=state.q0.extended(state.rows, batch.q0),
            rows=state.rows + len(batch.y),
            n=state.n + len(batch.y),
        )
        return self.train(method, grown)

    def train(self, method: LinearMethod, state: Kept) -> Kept:
        rows = state.rows
        v = method.weigh(state.q0.first(rows), 1.0, state.from_log, method.log_.m, state.n)
        fit = method.trained(method.from_zero(), state.X.first(rows), state.y.first(rows), v, np.arange(rows))
        return replace(state, fit=fit)
