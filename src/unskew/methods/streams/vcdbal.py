"""VCDBAL: the authors' follow-up. Variance is controlled by clipping weights and by regularising."""

import math

import numpy as np

from unskew.errors import InputError
from unskew.methods.loop import Round
from unskew.methods.streams.dbal import DBALwm
from unskew.methods.streams.everything import Everything
from unskew.methods.streams.linear_method import Regime
from unskew.rows import Floats, Rows, grown, take
from unskew.sampling.weights import mixture
from unskew.theory.disagreement import LinearTest

PASSES = 3
"""Training passes a batch (protocol.md)."""

FEW_LABELS = 10
"""With fewer labels bought than this nothing is clipped (protocol.md)."""


class VCDBAL(DBALwm):
    """Variance-controlled disagreement-based active learning from a log.

    Yan, Chaudhuri and Javidi, "The Label Complexity of Active Learning from Observational Data",
    NeurIPS 2019. Log and stream are weighted as one mixture of all rounds, v(x) = N / sum_b n_b Q_b(x);
    rows with v > M are left out; the model minimises sum v l + sqrt(C sum (v l)^2); and only rows that the
    log covers badly, Q0(x) < 2n/m, are candidates for a query (`Controlled` has the details).

    The paper leaves choices open. Here n counts the batch at hand, so that the first batch has candidates.
    A candidate that is not queried carries the label of the model of its round; any other row is left
    out, as in `IDBAL`. Batches hold 10, 20, 40, ... rows as for the other methods, not 1.5 times as many
    each time, so that curves compare. There is no `variant="paper"`.

    >>> import numpy as np
    >>> from unskew import LoggedData, VCDBAL
    >>> log = LoggedData([[1.0], [-1.0], [0.5], [-0.5]], y=[1, 0, 1, 0], q0=[0.9, 0.9, 0.1, 0.1])
    >>> method = VCDBAL(C=10.0, eta=1.0, random_state=0).start(log, n=2)
    >>> method.ask(np.array([[0.2]]), q0=[0.9]).tolist()  # not below 2n/m = 0.5
    []
    >>> method.tell([]).ask(np.array([[0.2]]), q0=[0.9]).tolist()  # below 2n/m = 1
    [0]
    """

    def regime(self) -> Regime:
        if self.variant != "released":
            raise InputError(f"VCDBAL has no variant {self.variant!r}; it is run as released. Leave variant out.")
        return Controlled(self)


class Controlled(Everything):
    """After each batch, three passes over the log and all candidates so far, going on from the last w and clock.

    A step on a row is scaled by 1 + sqrt(C) v l / sqrt(sum (v l)^2), which makes it a step on the regularised
    objective. l is the squared loss of the row at the start of the pass, so the sum is that of one model, and
    the scaled step is the usual update with the scaled weight; the clock counts that weight.

    The test is `LinearTest` with the second moment of the errors, sum v^2, where Algorithm 1 has its bound
    V sum v, and with M for the largest weight; cnt = t = m + n, n the stream rows of earlier batches::

        |2 w.x| / (a(t) x.x) / t  <=  sqrt(C sum_errors v^2) / t + C M log(t) / t
    """

    def warm_start(self) -> None:
        self.sizes: list[int] = []  # n_b of each round
        self.cuts: list[float] = []  # and its Q_b(x) = 1{Q0(x) < cut}
        super().warm_start()

    def choose(self, X: Rows, q0: Floats) -> Round:
        method = self.method
        t = method.log_.m + self.n
        test = LinearTest(method.C, self.M, self.second_moment() / self.M, t)
        y, inside = test(method.descent_, X, math.sqrt(method.eta / (method.eta + t)))
        self.cut = 2.0 * (self.n + len(q0)) / method.log_.m
        candidates = q0 < self.cut
        return Round(X, q0, y, inside & candidates, candidates)

    def learn(self, batch: Round) -> None:
        assert batch.kept is not None
        self.sizes.append(len(batch.y))
        self.cuts.append(self.cut)
        self.n += len(batch.y)
        self.X = grown(self.X, self.rows, take(batch.X, batch.kept))
        self.y = grown(self.y, self.rows, batch.y[batch.kept])
        self.q0 = grown(self.q0, self.rows, batch.q0[batch.kept])
        self.rows += int(np.count_nonzero(batch.kept))
        self.train()

    def train(self) -> None:
        method, rows = self.method, self.rows
        X, y = self.X[:rows], self.y[:rows]
        self.M = self.clip_level()
        v = self.weights(self.q0[:rows])
        v[v > self.M] = 0.0  # left out: a pass skips rows of weight 0
        for _ in range(PASSES):
            p = np.clip(method.descent_.look(X)[0], -1.0, 1.0)
            vl = v * (p - y) ** 2
            norm = math.sqrt(vl @ vl) or 1.0
            method.fit(X, y, v * (1.0 + math.sqrt(method.C) / norm * vl), np.arange(rows))
        self.v = v

    def weights(self, q0: Floats) -> Floats:
        """v(x) = N / sum_b n_b Q_b(x) over the log, b = 0, and all rounds so far, whichever source x is from."""
        return mixture((self.method.log_.m, *self.sizes), (q0, *(q0 < cut for cut in self.cuts)))

    def clip_level(self) -> float:
        """M: the least M with Pr[v(x) >= M] <= C M / (m + n), over the rows of the log.

        It is an infimum: the rows of weight M may be too many, and any larger M enough. No weight is
        below 1, so neither is M. protocol.md has (m + n) / (m Q0(x) + n) for v(x), which is the same where
        x was a candidate in every round. Elsewhere v is larger, up to twice, and with that M a log of one
        propensity for all could lose every row.
        """
        method, m, n = self.method, self.method.log_.m, self.n
        if method.labels_ < FEW_LABELS:
            return 2.0 * method.largest_weight(m, n, method.xi0_)
        u = np.sort(self.weights(method.log_.q0))[::-1]
        k = np.arange(1, m + 1)
        with np.errstate(divide="ignore"):  # C = 0
            enough = np.divide(k * (m + n), method.C * m)  # k of the m rows reach M: k/m <= C M / (m + n)
        above_rest = np.append(u[1:], 0.0)  # and the others do not
        return max(1.0, min(float(u[0]), float(np.maximum(enough, above_rest).min())))

    def second_moment(self) -> float:
        """Sum of v^2 over the rows of the last fit that the model gets wrong."""
        rows = self.rows
        return self.method.descent_.errors(self.X[:rows], self.y[:rows], self.v**2)
