"""Algorithm 1: every round trains on its own segment, which is one slice of the log and one online batch."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unskew import _kernels
from unskew.methods.rounds import StreamRound
from unskew.methods.streams.linear_method import Fit, LinearMethod, LinearState, Tested, still_inside
from unskew.rows import Bools, Floats, Rows, stack
from unskew.theory.disagreement import LinearTest


@dataclass(frozen=True, eq=False)
class Segment(LinearState):
    """The state of Algorithm 1 after a segment."""

    alpha: float
    m_0: int
    taken: int
    """The number of log rows used so far."""
    n: int
    """The number of online rows so far."""
    xi: float
    cut: float
    """Q_k(x) = 1{Q0(x) <= cut}."""
    cnt: float
    V: float


class Exploration(NamedTuple):
    """What `test` decided about the round: the test, xi_{k+1}, and the cut of Q_{k+1}."""

    test: LinearTest
    xi: float
    cut: float
    all_inside: bool


class Segments:
    """Algorithm 1 with the linear test in place of V_k: `variant="paper"` of all four methods.

    The candidate set is not kept (appendix, items 2-5). Its minimiser is approximated by continuing
    from the last w and clock, membership in D_{k+1} by the linear test, and xi_{k+1} by the least
    Q0 among the unlabelled rows of the log and of this batch that pass the test.
    """

    anytime = False  # alpha = 2m/3n needs n
    first_batch = 1  # n_k = 1, 2, 4, ...
    all_up_to = 0.0  # the text's test has no exception for few rows

    def warm_start(self, method: LinearMethod) -> LinearState:
        m, xi = method.log_.m, method.xi0_  # line 3
        m_0 = m // 3
        fit = self.train(method, method.from_zero(), slice(0, m_0), None, 0, 1.0, 1.0, 0.0)
        return Segment(
            fit=fit,
            all_inside=method.tested_before,
            alpha=2.0 * m / (3.0 * method.n_),
            m_0=m_0,
            taken=m_0,
            n=0,
            xi=xi,
            cut=1.0,
            cnt=float(m_0),
            V=method.largest_weight(1.0, 0.0, xi),
        )

    def test(self, method: LinearMethod, X: Rows, q0: Floats) -> Tested:
        state = method.state_
        assert isinstance(state, Segment)
        test = LinearTest(method.C, state.V, state.fit.loss(), state.cnt, all_up_to=self.all_up_to)
        y, inside = test(state.fit.descent, X)  # line 8: is x in D_{k+1}?
        plan = self.explore(method, state, test, q0, inside)
        kept = q0 <= plan.cut if method.debiases else np.ones_like(inside)  # line 12: Z_t = Q_{k+1}(X_t)
        return Tested(y, inside, kept, plan)

    def explore(self, method: LinearMethod, state: Segment, test: LinearTest, q0: Floats, inside: Bools) -> Exploration:
        """Line 9: xi_{k+1} from D_{k+1}, and Q_{k+1} from xi_{k+1}."""
        log = method.log_
        least, all_inside = self.least(test, state.fit, log.X, log.q0, still_inside(state.all_inside, inside))
        xi = min(least, float(q0[inside].min(initial=1.0)))
        return Exploration(test, xi, xi + 1.0 / state.alpha, all_inside)

    def least(self, test: LinearTest, fit: Fit, X: Rows, q0: Floats, before: bool) -> tuple[float, bool]:
        """The least propensity, inf Q0(x), among the rows that lie in the region; 1 if none does."""
        inside = test(fit.descent, X)[1]
        return float(_kernels.least(q0, inside)), still_inside(before, inside)

    def learn(self, method: LinearMethod, batch: StreamRound) -> LinearState:
        state, plan, n_k = method.state_, batch.plan, len(batch.y)
        assert isinstance(state, Segment)
        xi, all_inside = self.next_xi(method, state, batch)
        alpha, n = state.alpha, state.n + n_k
        upto = self.upto(method, state, n)  # T_0^(k+1): the next alpha n_k log rows
        part = slice(state.taken, upto)
        fit = self.train(method, state.fit, part, batch, state.n, plan.cut, alpha, 1.0)  # lines 17-18, then line 7
        return Segment(
            fit=fit,
            all_inside=all_inside,
            alpha=alpha,
            m_0=state.m_0,
            taken=upto,
            n=n,
            xi=xi,
            cut=plan.cut,
            cnt=(1.0 + alpha) * n_k,  # m_k + n_k
            V=method.largest_weight(alpha, 1.0, xi),
        )

    def upto(self, method: LinearMethod, state: Segment, n: int) -> int:
        """The end of the log slice that belongs to the first n online rows; the last one ends at m (section 3.2)."""
        m = method.log_.m
        return m if n >= method.n_ else min(int(state.m_0 + state.alpha * n), m)

    def next_xi(self, method: LinearMethod, state: Segment, batch: StreamRound) -> tuple[float, bool]:
        """The xi to use from now on, and whether all tested rows were in the region."""
        return batch.plan.xi, batch.plan.all_inside

    def train(
        self,
        method: LinearMethod,
        fit: Fit,
        part: slice,
        batch: StreamRound | None,
        seen: int,
        cut: float,
        m: float,
        n: float,
    ) -> Fit:
        """One pass over a slice of the log and the kept rows of a batch, after `seen` online rows."""
        log = method.log_
        lo, hi = log.revealed_before[part.start], log.revealed_before[part.stop]
        X, y, q0 = log.revealed_X[lo:hi], log.revealed_y[lo:hi], log.revealed_q0[lo:hi]
        at = np.arange(lo, hi)
        if batch is not None:
            kept = batch.kept if method.debiases else slice(None)
            X = stack([X, batch.X[kept]])
            y, q0 = np.concatenate((y, batch.y[kept])), np.concatenate((q0, batch.q0[kept]))
            online = len(log.revealed_y) + np.arange(seen, seen + len(batch.y))
            at = np.concatenate((at, online[kept]))
        Q = q0 <= cut if method.debiases else 1.0
        v = method.weigh(q0, Q, hi - lo, m, n)
        return method.trained(fit, X, y, v, at)
