"""IDBAL: the paper's method. Warm start, multiple importance sampling, a debiasing query strategy."""

from unskew.methods.dbal import DBALwm
from unskew.methods.linear_method import Regime
from unskew.methods.segments import Segments
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

    def warm_start(self) -> None:
        super().warm_start()
        self.seen: list[tuple[Rows, Floats]] = []

    def explore(self, X: Rows, q0: Floats, inside: Bools) -> None:
        """Line 9 as released: Q_{k+1} from the last round's xi; then xi from the first (1 + alpha) b train rows."""
        self.cut = self.xi + 1.0 / self.alpha
        self.seen.append((X, q0))
        log, left = self.method.log_, int((1.0 + self.alpha) * len(q0))
        self.xi = 1.0
        for rows, q in [(log.X, log.q0), *self.seen]:  # train rows are the log's, then the stream's
            self.xi = min(self.xi, self.test.least(self.method.descent_, rows[:left], q[:left]))
            left -= len(q)
            if left <= 0:
                break
