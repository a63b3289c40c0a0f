"""Algorithm 1: every round trains on its own segment, one slice of the log and one online batch."""

import numpy as np

from unskew import _kernels
from unskew.methods.loop import Round
from unskew.methods.streams.linear_method import LinearMethod
from unskew.rows import Bools, Floats, Rows, stack
from unskew.theory.disagreement import LinearTest


class Segments:
    """Algorithm 1 with the linear test in place of V_k; all four methods' `variant="paper"`.

    The candidate set is not kept (appendix, items 2-5): its minimiser is approximated by going on
    from the last w and clock, membership of D_{k+1} by the linear test, and xi_{k+1} by the least
    Q0 among the unlabelled rows at hand, the log's and this batch's, that pass it.
    """

    anytime = False  # alpha = 2m/3n needs n
    first_batch = 1  # n_k = 1, 2, 4, ...

    def __init__(self, method: LinearMethod) -> None:
        self.method = method

    def warm_start(self) -> None:
        method, log = self.method, self.method.log_
        self.alpha = 2.0 * log.m / (3.0 * method.n_)
        self.m_0 = log.m // 3
        self.taken = 0  # log rows used so far
        self.n = 0  # online rows so far
        self.xi = method.xi0_  # line 3
        self.cut = 1.0  # Q_k(x) = 1{Q0(x) <= cut}
        self.cnt = float(self.m_0)
        self.V = method.largest_weight(1.0, 0.0, self.xi)
        self.train(self.m_0, None, 1.0, 0.0)

    def choose(self, X: Rows, q0: Floats) -> Round:
        method = self.method
        self.test = LinearTest(method.C, self.V, method.loss(), self.cnt)
        y, inside = self.test(method.descent_, X)  # line 8: is x in D_{k+1}?
        method.note(inside)
        self.explore(X, q0, inside)
        kept = q0 <= self.cut if method.debiases else None  # line 12: Z_t = Q_{k+1}(X_t)
        wanted = np.ones_like(inside) if method.queries_all else inside
        queried = wanted if kept is None else wanted & kept  # line 14
        return Round(X, q0, y, queried, kept, queried.astype(np.float64))

    def explore(self, X: Rows, q0: Floats, inside: Bools) -> None:
        """Line 9: xi_{k+1} from D_{k+1}, and Q_{k+1} from xi_{k+1}."""
        log = self.method.log_
        self.xi = min(self.least(log.X, log.q0), float(q0[inside].min(initial=1.0)))
        self.cut = self.xi + 1.0 / self.alpha

    def least(self, X: Rows, q0: Floats) -> float:
        """The least propensity inf Q0(x) over those of the rows that lie in the region; 1 where none does."""
        inside = self.test(self.method.descent_, X)[1]
        self.method.note(inside)
        return float(_kernels.least(q0, inside))

    def learn(self, batch: Round) -> None:
        n_k = len(batch.y)
        self.n += n_k
        upto = int(self.m_0 + self.alpha * self.n)  # T_0^(k+1): the next alpha n_k log rows
        self.train(upto, batch, self.alpha, 1.0)  # lines 17-18, then line 7
        self.cnt = (1.0 + self.alpha) * n_k  # m_k + n_k
        self.V = self.method.largest_weight(self.alpha, 1.0, self.xi)

    def train(self, upto: int, batch: Round | None, m: float, n: float) -> None:
        """One pass over the log rows up to `upto` not used yet and the kept rows of the batch."""
        method, log = self.method, self.method.log_
        lo, hi = log.revealed_before[self.taken], log.revealed_before[min(upto, log.m)]
        self.taken = min(upto, log.m)
        X, y, q0 = log.revealed_X[lo:hi], log.revealed_y[lo:hi], log.revealed_q0[lo:hi]
        at = np.arange(lo, hi)
        if batch is not None:
            kept = slice(None) if batch.kept is None else batch.kept
            X = stack([X, batch.X[kept]])
            y, q0 = np.concatenate((y, batch.y[kept])), np.concatenate((q0, batch.q0[kept]))
            online = len(log.revealed_y) + np.arange(self.n - len(batch.y), self.n)
            at = np.concatenate((at, online[kept]))
        Q = q0 <= self.cut if method.debiases else 1.0
        v = method.weigh(q0, Q, hi - lo, m, n)
        method.fit(X, y, v, at)
