"""IDBAL, the paper's method: warm start, multiple importance sampling, and a debiasing query strategy."""

from unskew.data import LoggedData
from unskew.methods.rounds import StreamRound
from unskew.methods.streams.dbal import DBALwm
from unskew.methods.streams.linear_method import LinearMethod, Regime, still_inside
from unskew.methods.streams.segments import Exploration, Segment, Segments
from unskew.rows import Bools, Floats
from unskew.theory.disagreement import LinearTest


class IDBAL(DBALwm):
    """`DBALwm` that also leaves out rows that the log covers well (key ideas 1, 2 and 3; Algorithm 1).

    Rows with Q_k(x) = 1{Q0(x) <= xi_k + 1/alpha} = 0 are not queried, and no label is inferred for them.
    Where each line of Algorithm 1 stands::

        lines 3, 7     Segments.warm_start: xi_0, and the first model from the log's first third
        lines 4, 10    StreamMethod.ask: the next n_{k+1} = 2 n_k rows
        line 8         Segments.test: is x in D_{k+1}?
        lines 9, 12    Segments.explore, Segments.test: xi_{k+1}, and Z_t = Q_{k+1}(X_t)
        line 14        LinearMethod.choose: query inside D_{k+1}, infer outside
        lines 17-18    Segments.learn: a slice of the log and the kept rows,
                       weighted by eq. 2 (DBALwm.weigh)
    """

    debiases = True

    def regime(self) -> Regime:
        return Segments() if self.variant == "paper" else ReleasedSegments()


class ReleasedSegments(Segments):
    """The segments of the released program: batches of 10, 20, 40, ... rows, and line 9 one round late."""

    first_batch = 10
    all_up_to = 3.0  # protocol.md

    def upto(self, method: LinearMethod, state: Segment, n: int) -> int:
        """The end of a slice as released: always rounded down, so the last one may end one row before m."""
        return min(int(state.m_0 + state.alpha * n), method.log_.m)

    def explore(self, method: LinearMethod, state: Segment, test: LinearTest, q0: Floats, inside: Bools) -> Exploration:
        """Line 9 as released: Q_{k+1} uses the xi of the previous round."""
        return Exploration(test, state.xi, state.xi + 1.0 / state.alpha, still_inside(state.all_inside, inside))

    def next_xi(self, method: LinearMethod, state: Segment, batch: StreamRound) -> tuple[float, bool]:
        """Xi for the next round: `least` over the first (1 + alpha) n_k training rows, log first, then stream."""
        plan: Exploration = batch.plan
        if state.n + len(batch.y) >= method.n_:
            return plan.xi, plan.all_inside
        xi, all_inside, left = 1.0, plan.all_inside, int((1.0 + state.alpha) * len(batch.y))
        parts: tuple[LoggedData | StreamRound, ...] = (method.log_, *method.rounds_)
        for part in parts:
            least, all_inside = self.least(plan.test, state.fit, part.X[:left], part.q0[:left], all_inside)
            xi = min(xi, least)
            left -= len(part.q0)
            if left <= 0:
                break
        return xi, all_inside
