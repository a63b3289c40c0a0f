"""IDBAL: the paper's method. Warm start, multiple importance sampling, a debiasing query strategy."""

from unskew.data import LoggedData
from unskew.methods.loop import Round
from unskew.methods.streams.dbal import DBALwm
from unskew.methods.streams.linear_method import Regime
from unskew.methods.streams.segments import Segments
from unskew.rows import Bools, Floats, Rows


class IDBAL(DBALwm):
    """`DBALwm` that also leaves out the rows the log covers well (key ideas 1, 2 and 3; Algorithm 1).

    Rows with Q_k(x) = 1{Q0(x) <= xi_k + 1/alpha} = 0 are neither queried nor inferred.
    """

    debiases = True

    def regime(self) -> Regime:
        return Segments(self) if self.variant == "paper" else ReleasedSegments(self)


class ReleasedSegments(Segments):
    """The segments of the released program: batches of 10, 20, 40, ..., and line 9 one round late."""

    first_batch = 10

    def explore(self, X: Rows, q0: Floats, inside: Bools) -> None:
        """Line 9 as released: Q_{k+1} comes from the last round's xi."""
        self.cut = self.xi + 1.0 / self.alpha

    def learn(self, batch: Round) -> None:
        if self.n + len(batch.y) < self.method.n_:
            self.xi = self.least_among(int((1.0 + self.alpha) * len(batch.y)))  # for the next round
        super().learn(batch)

    def least_among(self, left: int) -> float:
        """`least` over the first so many train rows: the log's and then the stream's."""
        xi = 1.0
        parts: tuple[LoggedData | Round, ...] = (self.method.log_, *self.method.rounds_)
        for part in parts:
            xi = min(xi, self.least(part.X[:left], part.q0[:left]))
            left -= len(part.q0)
            if left <= 0:
                break
        return xi
