"""DBALw and DBALwm: disagreement-based active learning with a warm start from the log."""

from unskew.methods.streams.passive import Passive
from unskew.rows import Bools, Floats
from unskew.sampling.weights import largest, mixture


class DBALw(Passive):
    """Query only in the disagreement region, infer elsewhere; importance sampling as in `Passive` (key idea 1)."""

    queries_all = False
    tuned = ("C", "eta")


class DBALwm(DBALw):
    """`DBALw` with multiple importance sampling (eq. 2; key ideas 1 and 2): Algorithm 1 with Q_k = 1."""

    def weigh(self, q0: Floats, Q: Floats | Bools | float, from_log: int, m: float, n: float) -> Floats:
        return mixture((m, n), (q0, Q))  # eq. 2: (m + n) / (m Q0(x) + n Q_k(x)), for log and online rows

    def largest_weight(self, m: float, n: float, xi: float) -> float:
        return largest(m, n, xi)
