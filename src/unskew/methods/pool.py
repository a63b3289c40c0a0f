"""Methods on a pool: the rows wait, and the method picks which of them to label next."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unskew.data import LoggedData, propensities, signs
from unskew.errors import InputError
from unskew.estimation.calibration import Calibration
from unskew.estimation.design import Design
from unskew.estimation.planning import Needed, Widths
from unskew.hashing import exponentials
from unskew.methods.loop import Method, Observed, as_log
from unskew.methods.rounds import SHARE, Asked, PoolRound, checked_share
from unskew.pools import MemoryPool, Pool
from unskew.rows import Floats, Ints, Rows, stack
from unskew.sampling.density_ratio import against_pool
from unskew.sampling.draws import doubt, race, spread
from unskew.sampling.policies import Policy
from unskew.sampling.propensity import read_off

LOOK_AT = 50_000
"""In a larger pool, each round considers only this number of rows, drawn again each time."""

JUDGE = 50_000
"""In a larger pool, estimates score this number of rows, drawn at random, which stand for all the others."""


class PoolMethod(Method):
    """A method that picks rows of a pool.

    ::

        method.start(log, pool)      # arrays, sparse rows, or frames
        asked = method.ask(20)       # rows of the pool, each with its probability and reason
        method.tell(labels)          # closes the round and refits: all or nothing
        method.error()               # on everyone, with an interval
        method.predict(new)

    A round consists of rows that are **chosen** to learn from them, and of rows that are **drawn** at random from all
    the others, in proportion to doubt. Estimates for the population are based on the drawn rows.

    A subclass supplies `warm_start`, `wanted`, `learn` and `model_`; most are subclasses of `Unskew` that only change
    `wanted`.

    Parameters
    ----------
    drawn : float in [0, 1]
        The share of all labels that are spent on rows drawn at random.
    random_state : int, Generator or None
    """

    works_on = "pool"

    pool_: Pool
    rounds_: list[PoolRound]
    _asked: Ints
    _pool_q0: Floats | None
    _read_off: Policy | None
    _looked_at: list[Any]

    def __init__(self, *, drawn: float = SHARE, random_state: int | np.random.Generator | None = None) -> None:
        super().__init__(random_state=random_state)
        self.drawn = checked_share(drawn)

    @abstractmethod
    def wanted(self, X: Rows, k: int) -> Ints:
        """The positions in X of the k rows whose labels are most useful."""

    def start(
        self,
        log: LoggedData | Any,
        pool: Any,
        q0: ArrayLike | None = None,
        *,
        label: str | None = None,
        propensity: str | float | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Self:
        """Warm start from the log; `ask` then picks rows of the pool.

        Parameters
        ----------
        log : LoggedData, or a Polars or pandas frame
            Rows with and without a label, and how likely each was to have one.
        pool : array, sparse rows or frame
            The rows that may be asked for, with the log's features.
        q0 : array, optional
            The logging propensities of the pool's rows. If left out, they are taken from the frame's column
            `propensity`, or if it has none, predicted by a tree fitted to the log's propensities. They decide how much
            labels count when the model learns; error estimates do not use them. If (nearly) every row of the log has
            a label and no propensity is known, those of log and pool come from telling log rows from pool rows
            (`unskew.sampling.density_ratio`), and there is no error estimate until a drawn row is answered.
        classes : pair, optional
            (negative, positive), if the frame's labels do not show both.
        label, propensity : str, optional
            Columns of the log's frame. Without `propensity`, the propensities are estimated.
        """
        known = as_log(log, label, propensity, classes)
        if isinstance(pool, (int, np.integer)):
            raise InputError(
                f"{type(self).__name__} picks from a pool; got the number {pool}. "
                "Pass the pool's rows, or use StreamedUnskew for a stream."
            )
        rows = known.rows_like(pool, name="the pool")
        if rows.shape[0] == 0:
            raise InputError("the pool must have at least one row; got 0. Pass the rows that may be asked for.")
        if q0 is None and isinstance(propensity, str) and propensity in getattr(pool, "columns", ()):
            q0 = pool[propensity].to_numpy()
        given: Floats | Policy | None = None
        if q0 is not None:
            given = propensities(q0, rows.shape[0], name="the pool's q0")
        elif known.only_labelled and (known.q0 == 1.0).all():
            known, given = against_pool(known, rows, random_state=0)
        self.start_checked(known, MemoryPool(rows, pool), given)
        return self

    def start_checked(self, log: LoggedData, pool: Pool, q0: Floats | Policy | None = None) -> None:
        """`start` for a log and a pool that have already been checked; `q0` may be a rule for the pool's rows."""
        rule, values = (q0, None) if callable(q0) else (None, q0)
        self._begin(log, pool_=pool, _pool_q0=values, _asked=np.zeros(0, dtype=np.int64), _read_off=rule)

    @property
    def left(self) -> int:
        """The number of rows of the pool that have not been asked for."""
        return len(self.pool_) - len(self._asked)

    def ask(self, k: int = 20) -> Asked:
        """Pick k rows of the pool that have not been asked for; answer them with `tell`."""
        self._check_turn()
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise InputError(f"k must be a whole number of rows; got {k!r}. Pass an int.")
        if not self.left:
            raise InputError(f"no row is left in the pool of {len(self.pool_)}; got k = {k}. Start with a larger pool.")
        if not 1 <= k <= self.left:
            remedy = "Ask for at least 1." if k < 1 else "Ask for fewer."
            raise InputError(f"k must be between 1 and the {self.left} rows left in the pool; got {k}. {remedy}")
        batch = self.ask_checked(int(k))
        return Asked(batch.positions, batch.p, batch.drawn, self.pool_.values)

    def ask_checked(self, k: int) -> PoolRound:
        """`ask` for a number that has already been checked."""
        left = np.setdiff1d(np.arange(len(self.pool_)), self._asked, assume_unique=True)
        batch = self._pending = self.pick(left, k)
        return batch

    def pick(self, left: Ints, k: int) -> PoolRound:
        """Pick k of the rows at positions `left`, with probabilities: some chosen, some drawn from the others."""
        n = len(left)
        draws = self.draws_due(k) if self.knows_labels else k
        chosen, doubts = np.zeros(0, dtype=np.int64), None
        if draws < k:
            seen = self._some(n, k)
            X = self.pool_.features(left[seen])
            with self._looking_at(X):
                chosen = seen[self._wanted(X, k - draws)]
                if len(seen) == n and draws:
                    doubts = self._doubts(X)
        others = np.setdiff1d(np.arange(n), chosen, assume_unique=True)
        drawn, p, spread = self._draw(left[others], draws, None if doubts is None else [d[others] for d in doubts])
        rows = left[np.concatenate((chosen, others[drawn]))]
        chances = np.concatenate((np.ones(k - draws), p))
        return self._round(rows, chances, np.arange(k) >= k - draws, len(others), spread)

    def draws_due(self, k: int) -> int:
        """How many of the next k labels go to drawn rows, so that their share of all labels is `drawn`."""
        before = sum(int(np.count_nonzero(batch.drawn & batch.known)) for batch in self.rounds_)
        return min(max(round(self.drawn * (self.labels_ + k)) - before, 0), k)

    def _some(self, n: int, k: int) -> Ints:
        """All of n rows, or the number of them that a round considers, drawn at random."""
        return np.arange(n) if n <= LOOK_AT else self._rng.choice(n, max(LOOK_AT, k), replace=False)

    @contextmanager
    def _looking_at(self, X: Rows) -> Iterator[None]:
        """Within this block, a `Learner` computes the log-odds of these rows once, to choose and to draw by them."""
        self._looked_at = [X, None]
        try:
            yield
        finally:
            del self._looked_at

    def _doubts(self, X: Rows) -> tuple[Floats, Floats]:
        """For each of these rows, the chance that the model is wrong, and what that would cost."""
        if not self.knows_labels:
            return np.full(X.shape[0], 0.5), np.ones(X.shape[0])
        return self.wrong(X), np.broadcast_to(self.cost_of_wrong(X), X.shape[0])

    def _draw(self, places: Ints, k: int, doubts: Sequence[Floats] | None) -> tuple[Ints, Floats, float]:
        """Draw k of the rows at these places in proportion to doubt: which, their chances, and the spread of a draw."""
        if not k:
            return np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
        seen = self._some(len(places), k)
        wrong, cost = doubts if doubts is not None else self._doubts(self.pool_.features(places[seen]))
        w, seed = doubt(wrong, cost), int(self._rng.integers(2**63))
        found = race(w, exponentials(seed, places[seen]), k)
        share, after = len(seen) / len(places), np.arange(k - 1, -1, -1)
        p = 1.0 / ((1.0 / found.p + after) / share - after)  # so that a row stands for 1 / share as many (`stand_for`)
        return seen[found.rows], p, spread(wrong, w) / share**2

    def wrong(self, X: Rows) -> Floats:
        """The chance that the current model is wrong at each of these rows, as far as its own labels bear it out."""
        if type(self).held_out is Method.held_out:  # it cannot tell how far to trust its own probabilities
            return np.full(X.shape[0], 0.5)
        seen = self.observed()
        return Calibration(self.held_out(seen.X, seen.y), seen.y).wrong(self.log_odds(X), self.costs.log_odds)

    def cost_of_wrong(self, X: Rows) -> Floats | float:
        """What it costs if the current model is wrong at each of these rows."""
        costs = self.costs
        if costs.equal:
            return 1.0
        return np.where(self.log_odds(X) >= costs.log_odds, costs.false_positive, costs.false_negative)

    def _wanted(self, X: Rows, k: int) -> Ints:
        """`wanted`, checked: a rule that returns a row twice would count one label several times."""
        rows, n = np.asarray(self.wanted(X, k)), X.shape[0]
        whole = rows.shape == (k,) and rows.dtype.kind in "iu"
        if not whole or len(np.unique(rows)) < k or rows.min() < 0 or rows.max() >= n:
            raise InputError(
                f"{type(self).__name__}.wanted must return {k} different positions from 0 to {n - 1}; "
                f"got {rows.tolist()!r:.60}. Correct the method."
            )
        return rows.astype(np.int64, copy=False)

    @property
    def knows_labels(self) -> bool:
        """Whether there is any label to choose rows by; until then all rows are drawn at random."""
        return self.labels_ > 0 or bool(self.log_.z.any())

    def tell(self, labels: ArrayLike | Any) -> Self:
        """Answer the open round: one label per row, in the order of `ask` or as {position: label}. None skips a row.

        A skipped row is not asked for again. Estimates treat it as lost by chance, so whether a row is skipped must not
        depend on its label.
        """
        batch = self._open_round()
        values, skipped = self._answers(labels, batch.positions)
        y = np.zeros(len(values))
        y[~skipped] = signs(values[~skipped], self.log_.classes, remedy="Correct it, or pass None to skip the row.")
        self.tell_checked(y)
        return self

    def tell_checked(self, y: Floats) -> None:
        """`tell` for answers given as +1.0 and -1.0, or 0 for a skipped row."""
        batch = self._open_round()
        with self._all_or_nothing():
            self._asked = np.concatenate((self._asked, batch.positions))
            self._close(batch.answered(y))

    def observed(self) -> Observed:
        log, m = self.log_, self.log_.m
        labelled = [np.flatnonzero(log.z), *(m + batch.positions[batch.known] for batch in self.rounds_)]
        bought = [batch.bought for batch in self.rounds_]
        return Observed(
            Design(log.z, log.q0, len(self.pool_), tuple(batch.picked() for batch in self.rounds_)),
            [log.X, self.pool_.X],
            np.concatenate(labelled),
            stack([log.revealed_X, *(one.X for one in bought)]),
            np.concatenate([log.revealed_y, *(one.y for one in bought)]),
        )

    def scores(self, seen: Observed, *, whole: bool = False) -> Floats:
        """Log-odds of all rows. In a large pool only a sample is scored; any other row gets those of a scored one.

        This changes the mean of what the model expects by about 0.001. Labelled rows always get their own.
        """
        n = len(self.pool_)
        if whole or n <= JUDGE:
            return super().scores(seen)
        rng = np.random.default_rng(0)  # the same rows each time, so that only the model changes between rounds
        judged = np.sort(rng.choice(n, JUDGE, replace=False))
        found = self.log_odds(self.pool_.features(judged))
        margin = found[rng.integers(JUDGE, size=n)]
        margin[judged] = found
        return np.concatenate([self.log_odds(self.log_.X), margin])

    def q0_at(self, positions: Ints, X: Rows) -> Floats:
        """Logging propensities of rows of the pool: as given, or predicted from the log's propensities."""
        if self._pool_q0 is not None:
            return np.asarray(self._pool_q0[positions])
        if self._read_off is None:
            self._read_off = read_off(self.log_)
        return self._read_off(X)

    def _round(self, positions: Ints, p: Floats, drawn: Any, rest: int, spread: float) -> PoolRound:
        X = self.pool_.features(positions)
        return PoolRound(positions, X, self.q0_at(positions, X), p, drawn, rest, spread, np.zeros(len(positions)))

    def labels_for(self, half_width: float, *, level: float = 0.95) -> Needed:
        """The number of further labels that bring the interval of the error to +- `half_width`, 0.02 for +-2 points.

        They are picked as `ask` does it, so a share `drawn` of all labels is drawn.
        """
        return Widths(self.everyone(), self.drawn, level=level).labels_for(half_width)
