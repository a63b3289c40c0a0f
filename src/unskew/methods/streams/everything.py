"""The released regime of Passive, DBALw and DBALwm: keep everything, retrain after every batch."""

import math

import numpy as np

from unskew.methods.loop import Round
from unskew.methods.streams.linear_method import LinearMethod
from unskew.rows import Floats, Rows, grown
from unskew.theory.disagreement import LinearTest


class Everything:
    """After each batch, one shuffled pass from w = 0, t = 0 over the whole log and every online row.

    A row that was not queried carries the label the model of its own round gave it, for good.
    The test of a batch counts all m log rows and the online rows of earlier batches,
    cnt = t = m + n', whatever the weights (protocol.md).
    """

    anytime = True
    first_batch = 10

    def __init__(self, method: LinearMethod) -> None:
        self.method = method

    def warm_start(self) -> None:
        log = self.method.log_
        self.X: Rows = log.revealed_X
        self.y: Floats = log.revealed_y
        self.q0: Floats = log.revealed_q0
        self.from_log = self.rows = len(self.y)
        self.n = 0  # online rows so far
        self.train()  # first model: the log alone, weights 1/Q0

    def choose(self, X: Rows, q0: Floats) -> Round:
        method = self.method
        m, n = method.log_.m, self.n
        V = method.largest_weight(m, n, method.xi0_)
        test = LinearTest(method.C, V, method.loss(), m + n)
        a = math.sqrt(method.eta / (method.eta + m + n))  # t = cnt here
        y, inside = test(method.descent_, X, a)
        method.note(inside)
        queried = np.ones_like(inside) if method.queries_all else inside
        return Round(X, q0, y, queried, p=queried.astype(np.float64))

    def learn(self, batch: Round) -> None:
        self.X = grown(self.X, self.rows, batch.X)
        self.y = grown(self.y, self.rows, batch.y)
        self.q0 = grown(self.q0, self.rows, batch.q0)
        self.rows += len(batch.y)
        self.n += len(batch.y)
        self.train()

    def train(self) -> None:
        method, rows = self.method, self.rows
        v = method.weigh(self.q0[:rows], 1.0, self.from_log, method.log_.m, self.n)
        method.from_zero()
        method.fit(self.X[:rows], self.y[:rows], v, np.arange(rows))
