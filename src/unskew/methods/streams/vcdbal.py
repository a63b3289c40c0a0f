"""VCDBAL, the authors' follow-up method: it controls the variance by clipping weights and by regularisation."""

import math
from dataclasses import dataclass, replace

import numpy as np

from unskew.errors import InputError
from unskew.methods.rounds import StreamRound
from unskew.methods.streams.dbal import DBALwm
from unskew.methods.streams.everything import Everything, Kept
from unskew.methods.streams.linear_method import LinearMethod, LinearState, Regime, Tested
from unskew.rows import Floats, Growing, Rows, take
from unskew.sampling.weights import mixture
from unskew.theory.disagreement import LinearTest

PASSES = 3
"""The number of training passes per batch (protocol.md)."""

ROUND_OFF = 1e-12
"""A sum of (v l)^2 below the square of this is round-off: every row is fitted, and nothing needs regularising."""

FEW_LABELS = 10
"""Nothing is clipped until this number of labels has been bought (protocol.md)."""


class VCDBAL(DBALwm):
    """Variance-controlled disagreement-based active learning from a log.

    Yan, Chaudhuri and Javidi, "The Label Complexity of Active Learning from Observational Data",
    NeurIPS 2019. Log and stream are weighted as one mixture of all rounds, v(x) = N / sum_b n_b Q_b(x);
    rows with v > M are left out; the model minimises sum v l + sqrt(C sum (v l)^2); and only rows that the
    log covers badly, Q0(x) < 2n/m, are candidates for a query (see `Controlled` for details).

    The paper leaves some choices open. Here n includes the current batch, so that the first batch has candidates.
    A candidate that is not queried keeps the label that the model of its round gave it; all other rows are left
    out, as in `IDBAL`. Batches hold 10, 20, 40, ... rows as for the other methods, not 1.5 times as many
    each time, so that curves are comparable. There is no `variant="paper"`.

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
            raise InputError(f"variant of VCDBAL must be 'released'; got {self.variant!r}. Leave variant out.")
        return Controlled()


@dataclass(frozen=True, eq=False)
class Clipped(Kept):
    """All candidates so far, and the weights of the last fit."""

    sizes: tuple[int, ...] = ()
    """n_b of each round."""
    cuts: tuple[float, ...] = ()
    """The cut of each round, Q_b(x) = 1{Q0(x) < cut}."""
    M: float = 1.0
    v: Floats | None = None

    def second_moment(self) -> float:
        """Sum of v^2 over the rows of the last fit that the model gets wrong."""
        assert self.v is not None
        return self.fit.descent.errors(self.X.first(self.rows), self.y.first(self.rows), self.v**2)


class Controlled(Everything):
    """After each batch, three passes over the log and all candidates so far, continuing from the last w and clock.

    A step on a row is scaled by 1 + sqrt(C) v l / sqrt(sum (v l)^2), which makes it a step on the regularised
    objective. l is the squared loss of the row at the start of the pass, so that the whole sum belongs to one model.
    The scaled step is the usual update with the scaled weight, and the clock counts that weight.

    The test is `LinearTest` with the second moment of the errors, sum v^2, in place of Algorithm 1's bound
    V sum v, and with M as the largest weight; cnt = t = m + n, where n counts the stream rows of earlier batches::

        |2 w.x| / (a(t) x.x) / t  <=  sqrt(C sum_errors v^2) / t + C M log(t) / t
    """

    def warm_start(self, method: LinearMethod) -> LinearState:
        log = method.log_
        rows = len(log.revealed_y)
        X, y, q0 = (Growing(part) for part in (log.revealed_X, log.revealed_y, log.revealed_q0))
        return self.train(method, Clipped(method.from_zero(), None, X, y, q0, rows, rows, 0))

    def test(self, method: LinearMethod, X: Rows, q0: Floats) -> Tested:
        state = method.state_
        assert isinstance(state, Clipped)
        t = method.log_.m + state.n
        test = LinearTest(method.C, state.M, state.second_moment() / state.M, t)
        y, inside = test(state.fit.descent, X, math.sqrt(method.eta / (method.eta + t)))
        cut = 2.0 * (state.n + len(q0)) / method.log_.m
        return Tested(y, inside, q0 < cut, cut)

    def learn(self, method: LinearMethod, batch: StreamRound) -> LinearState:
        state = method.state_
        assert isinstance(state, Clipped)
        grown = replace(
            state,
            sizes=(*state.sizes, len(batch.y)),
            cuts=(*state.cuts, batch.plan),
            n=state.n + len(batch.y),
            X=state.X.extended(state.rows, take(batch.X, batch.kept)),
            y=state.y.extended(state.rows, batch.y[batch.kept]),
            q0=state.q0.extended(state.rows, batch.q0[batch.kept]),
            rows=state.rows + int(np.count_nonzero(batch.kept)),
        )
        return self.train(method, grown)

    def train(self, method: LinearMethod, state: Kept) -> Clipped:
        assert isinstance(state, Clipped)
        rows = state.rows
        X, y = state.X.first(rows), state.y.first(rows)
        M = self.clip_level(method, state)
        v = self.weights(method, state, state.q0.first(rows))
        v[v > M] = 0.0  # left out: a pass skips rows of weight 0
        fit = state.fit
        for _ in range(PASSES):
            p = np.clip(fit.descent.look(X)[0], -1.0, 1.0)
            vl = v * (p - y) ** 2
            norm = math.sqrt(vl @ vl)
            pull = math.sqrt(method.C) / norm if norm > ROUND_OFF else 0.0
            fit = method.trained(fit, X, y, v * (1.0 + pull * vl), np.arange(rows))
        return replace(state, fit=fit, M=M, v=v)

    def weights(self, method: LinearMethod, state: Clipped, q0: Floats) -> Floats:
        """v(x) = N / sum_b n_b Q_b(x) over the log, b = 0, and all rounds so far, whichever source x comes from."""
        return mixture((method.log_.m, *state.sizes), (q0, *(q0 < cut for cut in state.cuts)))

    def clip_level(self, method: LinearMethod, state: Clipped) -> float:
        """M: the least M with Pr[v(x) >= M] <= C M / (m + n), over the rows of the log.

        It is an infimum: M itself may have too many rows of weight M, while any larger value satisfies the condition.
        No weight is below 1, so M is not either. protocol.md uses (m + n) / (m Q0(x) + n) for v(x), which is the same
        if x was a candidate in every round. Otherwise v is larger, by a factor of up to two, and with the M of
        protocol.md a log with one propensity for all rows could lose every row.
        """
        m, n = method.log_.m, state.n
        if method.labels_ < FEW_LABELS:
            return 2.0 * method.largest_weight(m, n, method.xi0_)
        u = np.sort(self.weights(method, state, method.log_.q0))[::-1]
        k = np.arange(1, m + 1)
        with np.errstate(divide="ignore"):  # C = 0
            enough = np.divide(k * (m + n), method.C * m)  # k of the m rows reach M: k/m <= C M / (m + n)
        above_rest = np.append(u[1:], 0.0)  # and the others do not
        return max(1.0, min(float(u[0]), float(np.maximum(enough, above_rest).min())))
