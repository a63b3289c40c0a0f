"""The one round loop: `start`, then `ask` and `tell` in turn. A method fills in three steps."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.data import LoggedData, propensities, signs
from unskew.errors import InputError
from unskew.rows import Bools, Floats, Rows, as_rows


@dataclass(slots=True)
class Round:
    """One batch of rows on its way through the loop.

    `queried` are the rows whose label is asked for; `kept` those that enter training at all
    (Q_k(x) = 1). `y` starts as the labels the present model infers; `tell` overwrites the queried
    ones. `p` is the probability with which each row was asked, where it is known.

    Of a pool, only the rows asked for are kept, with their `positions` in it; those that were drawn
    at random for the audit are marked, and `rest` is how many rows they were drawn from.
    """

    X: Rows
    q0: Floats
    y: Floats
    queried: Bools
    kept: Bools | None = None
    p: Floats | None = None
    positions: NDArray[np.intp] | None = None
    audit: Bools | None = None
    rest: int = 0


def stream_rows(X: ArrayLike | Rows, q0: ArrayLike, n_features: int) -> tuple[Rows, Floats]:
    """Rows that come after the log, checked: finite, with the log's features and a propensity each."""
    rows = as_rows(X)
    if rows.shape[1] != n_features:
        raise InputError(
            f"stream rows must have the log's {n_features} features; got {rows.shape[1]}. "
            "Pass the same columns in the same order."
        )
    return rows, propensities(q0, rows.shape[0])


class Method(ABC):
    """A way to learn from a log and a stream of rows, some of whose labels it buys.

    ::

        method.start(log, n)         # warm start; n = how many stream rows there will be
        asked = method.ask(X, q0)    # positions in X whose labels are wanted
        method.tell(labels)          # closes the round, refits
        method.model_                # a scikit-learn classifier

    A subclass supplies `warm_start`, `choose`, `learn` and `model_`; it knows nothing of oracles,
    files, databases or plots.

    Parameters
    ----------
    random_state : int, Generator or None
        Seeds everything random in the method.
    """

    anytime: bool = True
    """One run gives the whole curve. False where the method must know n and is rerun for each n."""

    pools: bool = False
    """The method can also pick rows of a pool."""

    first_batch: int = 10
    """Rows of the first round; each later one takes twice as many."""

    log_: LoggedData
    n_: int
    labels_: int
    """Labels bought so far."""
    rounds_: list[Round]
    """All closed rounds, in order: what was asked, with what probability, and what was answered."""

    def __init__(self, *, random_state: int | np.random.Generator | None = None) -> None:
        self.random_state = random_state

    @abstractmethod
    def warm_start(self) -> None:
        """Fit the first model from `self.log_` alone."""

    @abstractmethod
    def choose(self, X: Rows, q0: Floats) -> Round:
        """Decide which of these rows are queried and which are kept."""

    def pick(self, X: Rows, q0: Floats, k: int) -> Round:
        """Pick exactly k rows of a pool; for methods that set `pools`."""
        raise InputError(f"{type(self).__name__} works on a stream, not on a pool. Leave out k.")

    @abstractmethod
    def learn(self, batch: Round) -> None:
        """Refit with the round's labels in."""

    def held_out(self, X: Rows, y: Floats) -> Floats:
        """Margins of all labelled rows, the log's first, each from a model like the present one without its label.

        Error estimates for the population rest on them (`unskew.methods.report`); `Unskew` has them by its model.
        """
        raise InputError(
            f"a population error needs margins that do not know the row's own label; {type(self).__name__} has none. "
            "Give it a method held_out(X, y), or use Unskew."
        )

    @property
    @abstractmethod
    def model_(self) -> Any:
        """The present model, a fitted scikit-learn classifier."""

    def infer(self, X: Rows) -> Floats:
        """The present model's labels for rows, +1.0 or -1.0."""
        return signs(self.model_.predict(X), self.log_.classes)

    def start(self, log: LoggedData, n: int | None = None) -> Self:
        """Warm start from the log. `n`, the rows the stream will have, defaults to the log's m."""
        n = log.m if n is None else int(n)
        if n < 1:
            raise InputError(f"n must be at least 1 stream row; got {n}. Pass the length of the stream.")
        self.log_, self.n_, self.labels_, self.rounds_ = log, n, 0, []
        self._pending: Round | None = None
        self._rng = np.random.default_rng(self.random_state)
        self.warm_start()
        return self

    def ask(self, X: ArrayLike | Rows, q0: ArrayLike, k: int | None = None) -> NDArray[np.intp]:
        """The positions in X of the rows whose labels are wanted now; answer them with `tell`.

        Without `k` the rows are the next ones of a stream, seen once. With it they are all of a pool that
        is not labelled yet, and the method picks exactly k of them, where it can (`pools`).
        """
        if not hasattr(self, "log_"):
            raise InputError("ask came before start. Call start(log, n) first.")
        if self._pending is not None:
            raise InputError("ask came twice without tell. Answer the open round with tell(labels) first.")
        rows, q0 = stream_rows(X, q0, self.log_.n_features)
        if k is not None and not self.pools:
            raise InputError(f"{type(self).__name__} works on a stream, not on a pool. Leave out k.")
        if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer))):
            raise InputError(f"k must be a whole number of rows; got {k!r}. Pass an int.")
        if k is not None and not 1 <= k <= len(q0):
            raise InputError(f"k must be between 1 and the pool's {len(q0)} rows; got {k}. Ask for fewer.")
        return self.ask_checked(rows, q0, k)

    def ask_checked(self, X: Rows, q0: Floats, k: int | None = None) -> NDArray[np.intp]:
        """`ask` for rows that went through `stream_rows` already, as part of a whole stream or pool."""
        batch = self._pending = self.choose(X, q0) if k is None else self.pick(X, q0, k)
        return np.flatnonzero(batch.queried) if batch.positions is None else batch.positions

    def tell(self, labels: ArrayLike) -> Self:
        """Answer the open round: one label for each position `ask` returned, in that order."""
        batch = self._pending if hasattr(self, "log_") else None
        if batch is None:
            raise InputError("tell came without an open ask. Call ask(X, q0) first.")
        answers = np.asarray(labels)
        wanted = int(np.count_nonzero(batch.queried))
        if answers.shape != (wanted,):
            raise InputError(
                f"tell needs one label for each of the {wanted} rows asked; got shape {answers.shape}. "
                "Keep the order that ask returned."
            )
        self.tell_checked(signs(answers, self.log_.classes))
        return self

    def tell_checked(self, y: Floats) -> None:
        """`tell` for answers that are +1.0 and -1.0 already, one for each row asked."""
        assert self._pending is not None
        self._close(self._pending, y)

    def _close(self, batch: Round, y: Floats) -> None:
        """Learn from an answered round; where that fails, everything is as before, the round still open."""
        before = self.__dict__.copy()
        batch.y[batch.queried] = y
        self.labels_ += len(y)
        self.rounds_ = [*self.rounds_, batch]
        self._pending = None
        try:
            self.learn(batch)
        except BaseException:
            self.__dict__.update(before)
            raise

    def report(self) -> str:
        """What was done, in one line, and where the propensities came from.

        >>> from unskew import LoggedData, Passive
        >>> log = LoggedData([[-1.0], [1.0], [2.0]], [0, 1, None], q0=[0.5, 0.5, 0.2], q0_estimated=True)
        >>> Passive(random_state=0).start(log).report()
        'Passive: 0 labels bought in 0 rounds, after a log of 3 rows with 2 labels; q0 estimated from the log'
        """
        if not hasattr(self, "log_"):
            raise InputError("report came before start. Call start(log, n) first.")
        log = self.log_
        origin = "estimated from the log" if log.q0_estimated else "given"
        return (
            f"{type(self).__name__}: {self.labels_} labels bought in {len(self.rounds_)} rounds, after a log of "
            f"{log.m} rows with {np.count_nonzero(log.z)} labels; q0 {origin}"
        )

    def adopt(self, batch: Round) -> Self:
        """Learn a round that was asked and answered elsewhere, its labels in `y` already.

        So a campaign goes on from its ledger, in another process or on another machine.

        >>> import numpy as np
        >>> from unskew import LoggedData, Unskew
        >>> log = LoggedData([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
        >>> both = np.ones(2, dtype=bool)
        >>> answered = Round(np.array([[0.1], [0.2]]), both * 1.0, np.array([-1.0, 1.0]), both, both, both * 1.0)
        >>> Unskew(random_state=0).start(log).adopt(answered).labels_
        2
        """
        if not hasattr(self, "log_"):
            raise InputError("adopt came before start. Call start(log, n) first.")
        self._close(batch, batch.y[batch.queried])
        return self

    def reseed(self, random_state: Any) -> None:
        """Draw what later asks draw at random from here: after `adopt`, each round needs randomness of its own."""
        self._rng = np.random.default_rng(random_state)

    @property
    def pending(self) -> Round | None:
        """The open round: asked for, not answered yet."""
        return self._pending

    def run(self, log: LoggedData, stream: tuple[Any, ArrayLike], oracle: Any, *, budget: int | None = None) -> Self:
        """The whole loop over a stream `(X, q0)` whose labels an oracle knows; see `unskew.run`."""
        from unskew.methods.driving import run  # that module drives methods, and so imports this one

        run(self, log, stream, oracle, budget=budget)
        return self

    def batch_sizes(self) -> Iterator[int]:
        """How many stream rows each round takes: the first batch, then twice as many each time, n in all."""
        left, size = self.n_, self.first_batch
        while left > 0:
            yield min(size, left)
            left -= size
            size *= 2
