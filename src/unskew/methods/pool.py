"""Methods on a pool: the rows wait, and the method picks which of them to label next."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unskew.data import LoggedData, propensities
from unskew.errors import InputError
from unskew.estimation.ahead import Needed
from unskew.estimation.calibration import Calibration
from unskew.estimation.planning import Widths
from unskew.hashing import exponentials
from unskew.labels import codes
from unskew.methods.held import Held, hold
from unskew.methods.looking import CANDIDATES, FEW, Look, cost_of_wrong, draw
from unskew.methods.loop import Method, Observed, as_log
from unskew.methods.rounds import SHARE, Asked, PoolRound, checked_look, checked_share
from unskew.pools import MemoryPool, Pool
from unskew.rows import Floats, Ints, Rows, frame_rows, stack
from unskew.sampling.density_ratio import against_pool
from unskew.sampling.draws import doubt, race, spread
from unskew.sampling.policies import Policy
from unskew.sampling.propensity import read_off

LOOK_AT = 50_000
"""In a larger pool, rows first get a quick look. A method that has no such look considers only this number of rows in
each round, drawn again each time."""

JUDGE = 50_000
"""In a larger pool, estimates score this number of rows, always the same, which stand for all the others."""


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
    look : int
        Each round considers only this number of rows, drawn again each time. 0: all rows.
    random_state : int, Generator or None
    """

    works_on = "pool"

    pool_: Pool
    rounds_: list[PoolRound]
    _asked: Ints
    _pool_q0: Floats | None
    _rule: Policy | None
    _looked_at: list[Any]

    def __init__(
        self, *, drawn: float = SHARE, look: int = 0, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(random_state=random_state)
        self.drawn, self.look = checked_share(drawn), checked_look(look)

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
        id: str | None = None,
    ) -> Self:
        """Warm start from the log; `ask` then picks rows of the pool.

        Parameters
        ----------
        log : LoggedData, or a Polars or pandas frame
            Rows with and without a label, and how likely each was to have one.
        pool : array, sparse rows, frame or path
            The rows that may be asked for, with the log's features. A path names a Parquet, Arrow or CSV
            file, a folder of them, or is a pattern such as ``"pool/*.parquet"``. They stay where they are.
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
        id : str, optional
            The column of the ids of a pool in files. With it, what is asked for does not depend on how rows are cut
            into files.
        """
        known = as_log(log, label, propensity, classes)
        if isinstance(pool, (str, Path)):
            return self._start_on_files(known, pool, q0, id)
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

    def _start_on_files(self, log: LoggedData, source: str | Path, q0: ArrayLike | None, id: str | None) -> Self:
        from unskew.pools.files import FilePool, check_ids, find_files
        from unskew.pools.formats import separator_of
        from unskew.pools.text_files import numbers

        if q0 is not None or log.features is None:
            what = "an array q0" if q0 is not None else "a log without names of its features"
            raise InputError(f"a pool in files cannot be used with {what}. Pass the log as a frame, and leave out q0.")
        names = list(log.features)
        encode = partial(frame_rows, names=names, name="the pool")
        files = find_files(source)
        read = copy if separator_of(files[0].path) is None else partial(numbers, names)
        pool = FilePool(files, read, encode, columns=names, id=id)
        if id is not None:
            check_ids(pool)
        rule = None
        if log.only_labelled and (log.q0 == 1.0).all():
            log, rule = against_pool(log, pool.some(JUDGE).X, random_state=0)
        self.start_checked(log, pool, rule)
        return self

    def start_checked(self, log: LoggedData, pool: Pool, q0: Floats | Policy | None = None) -> None:
        """`start` for a log and a pool that have already been checked; `q0` may be a rule for the pool's rows."""
        rule, values = (q0, None) if callable(q0) else (None, q0)
        if q0 is None:
            rule = read_off(log)
        self._begin(log, pool_=pool, _pool_q0=values, _asked=np.zeros(0, dtype=np.int64), _rule=rule)

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
        batch = self._pending = self.pick(self._asked, k)
        return batch

    def pick(self, asked: Ints, k: int) -> PoolRound:
        """Pick k rows that are not at the positions `asked`, with probabilities: some chosen, some drawn.

        Of a pool of more than 50,000 rows, a method with a `screen` looks at every row once; others, and those told to,
        consider a sample.
        """
        draws = self.draws_due(k) if self.knows_labels else k
        screen = self._screened(len(self.pool_) - len(asked))
        return self._by_sample(asked, k, draws) if screen is None else self._by_look(screen, asked, k, draws)

    def _by_sample(self, asked: Ints, k: int, draws: int) -> PoolRound:
        """Choose the best of some rows, and draw from the others, or from some of them. Some are all of a small pool.

        Each has its own sample: what is left of a sample whose best rows were chosen does not stand for all the others.
        """
        chosen, doubts = np.zeros(0, dtype=np.int64), None
        if draws < k:
            seen = self._some(asked, k)
            X = self.pool_.features(seen)
            with self._looking_at(X):
                best = self._wanted(X, k - draws)
                if len(seen) == len(self.pool_) - len(asked) and draws:
                    doubts = [np.delete(each, best) for each in self._doubts(X)]
            chosen = seen[best]
        taken = np.concatenate((asked, chosen))
        drawn, p, spread = self._draw(taken, draws, doubts)
        rows = np.concatenate((chosen, drawn))
        return self._round(rows, self.pool_.features(rows), p, len(self.pool_) - len(taken), spread)

    def _by_look(self, screen: Any, asked: Ints, k: int, draws: int) -> PoolRound:
        """Choose and draw from all rows, after one look at each."""
        look = Look(
            screen,
            self._calibration(),
            self.costs,
            seed=int(self._rng.integers(2**63)),
            asked=asked,
            racers=k,
            candidates=CANDIDATES * max(k - draws, FEW),
        ).tuned(self.pool_.some(JUDGE).X)
        seen = self.pool_.scan(look, look.merge)
        near, chosen = seen.candidates, np.zeros(0, dtype=np.int64)
        if draws < k:
            chosen = self.settle(near.X, k - draws, screen)
        drawn = draw(seen, chosen, draws)
        rows, X = np.concatenate((near.places[chosen], drawn.places)), np.concatenate((near.X[chosen], drawn.X))
        return self._round(rows, X, drawn.p, drawn.rest, drawn.spread)

    def _screened(self, left: int) -> Any:
        """A quick look at rows, if this many need one and the method has it; else None."""
        if left <= LOOK_AT or self.look or not self.knows_labels:
            return None
        if type(self).wrong is not PoolMethod.wrong or type(self).cost_of_wrong is not PoolMethod.cost_of_wrong:
            return None
        return self.screen(self.pool_.some(JUDGE).X)

    def screen(self, X: Rows) -> Any:
        """A quick look at rows (`unskew.models.screen.Screen`), given an even sample; None if there is no such look."""
        return None

    def settle(self, X: Rows, k: int, screen: Any) -> Ints:
        """The positions in X of the k rows that are most useful, of those that passed the screen."""
        raise NotImplementedError

    def draws_due(self, k: int) -> int:
        """How many of the next k labels go to drawn rows, so that their share of all labels is `drawn`."""
        before = sum(int(np.count_nonzero(batch.drawn & batch.known)) for batch in self.rounds_)
        return min(max(round(self.drawn * (self.labels_ + k)) - before, 0), k)

    def _some(self, taken: Ints, k: int) -> Ints:
        """The positions of all rows that are not taken, or the number of them that a round considers, evenly drawn."""
        n, most = len(self.pool_), max(self.look or LOOK_AT, k)
        if n - len(taken) <= most:
            return np.setdiff1d(np.arange(n), taken, assume_unique=True)
        found = self.pool_.sample(most + len(taken), int(self._rng.integers(2**63)))
        return np.sort(found[~np.isin(found, taken)][:most])

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

    def _draw(self, taken: Ints, k: int, doubts: Sequence[Floats] | None) -> tuple[Ints, Floats, float]:
        """Draw k rows that are not taken, in proportion to doubt: which, their chances, and the spread of a draw."""
        if not k:
            return np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
        seen = self._some(taken, k)
        wrong, cost = doubts if doubts is not None else self._doubts(self.pool_.features(seen))
        w, seed = doubt(wrong, cost), int(self._rng.integers(2**63))
        found = race(w, exponentials(seed, self.pool_.keys(seen)), k)
        share, after = len(seen) / (len(self.pool_) - len(taken)), np.arange(k - 1, -1, -1)
        p = 1.0 / ((1.0 / found.p + after) / share - after)  # so that a row stands for 1 / share as many (`stand_for`)
        return seen[found.rows], p, spread(wrong, w) / share**2

    def wrong(self, X: Rows) -> Floats:
        """The chance that the current model is wrong at each of these rows, as far as its own labels bear it out."""
        if type(self).held_out is Method.held_out:  # it cannot tell how far to trust its own probabilities
            return np.full(X.shape[0], 0.5)
        return self._calibration().wrong(self.log_odds(X), self.costs.log_odds)

    def _calibration(self) -> Calibration:
        X, y = self._labelled()
        return Calibration(self.held_out(X, y), y)

    def cost_of_wrong(self, X: Rows) -> Floats | float:
        """What it costs if the current model is wrong at each of these rows."""
        return 1.0 if self.costs.equal else cost_of_wrong(self.log_odds(X), self.costs)

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
        y[~skipped] = codes(values[~skipped], self.log_.classes, remedy="Correct it, or pass None to skip the row.")
        self.tell_checked(y)
        return self

    def tell_checked(self, y: Floats) -> None:
        """`tell` for answers given as numbers (`unskew.labels.codes`), or 0 for a skipped row."""
        batch = self._open_round()
        with self._all_or_nothing():
            self._asked = np.concatenate((self._asked, batch.positions))
            self._close(batch.answered(y))

    def _labelled(self) -> tuple[Rows, Floats]:
        """The rows with a label, the log's first, and their labels."""
        log, bought = self.log_, [batch.bought for batch in self.rounds_]
        X = stack([log.revealed_X, *(one.X for one in bought)])
        return X, np.concatenate([log.revealed_y, *(one.y for one in bought)])

    def held(self, *, whole: bool = False) -> Held:
        """The rows of the pool that estimates hold: in a large pool a sample, unless the `whole` pool is asked for."""
        places = [np.zeros(0, dtype=np.int64), *(batch.positions[batch.known] for batch in self.rounds_)]
        X, _ = self._labelled()
        bought = X[len(self.log_.revealed_y) :]
        return hold(self.pool_, np.concatenate(places), bought, None if whole else JUDGE)

    def observed(self, *, whole: bool = False) -> Observed:
        log, held = self.log_, self.held(whole=whole)
        rounds = tuple(batch.picked() for batch in self.rounds_)
        labelled = np.concatenate([np.flatnonzero(log.z), log.m + held.at(held.labelled)])
        return Observed(held.design(log, rounds), [log.X, held.X], labelled, *self._labelled())

    def q0_at(self, positions: Ints, X: Rows) -> Floats:
        """Logging propensities of rows of the pool: as given, or predicted from the log's propensities."""
        if self._rule is not None:
            return self._rule(X)
        assert self._pool_q0 is not None, "a pool has propensities or a rule for them"
        return np.asarray(self._pool_q0[positions])

    def _round(self, positions: Ints, X: Rows, p: Floats, rest: int, spread: float) -> PoolRound:
        """A round of chosen rows followed by drawn ones, whose chances are p."""
        k, chosen = len(positions), len(positions) - len(p)
        chances, q0 = np.concatenate((np.ones(chosen), p)), self.q0_at(positions, X)
        return PoolRound(positions, X, q0, chances, np.arange(k) >= chosen, rest, spread, np.zeros(k))

    def labels_for(self, half_width: float, *, level: float = 0.95) -> Needed:
        """The number of further labels that bring the interval of the error to +- `half_width`, 0.02 for +-2 points.

        They are picked as `ask` does it, so a share `drawn` of all labels is drawn.
        """
        return Widths(self.everyone(), self.drawn, level=level).labels_for(half_width)
