"""Methods on a stream: rows arrive once, in batches, and the method decides which of them to label."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.data import LoggedData, propensities
from unskew.errors import InputError
from unskew.estimation.stream_design import StreamDesign
from unskew.labels import codes
from unskew.methods.loop import Method, Observed, as_log
from unskew.methods.rounds import StreamRound
from unskew.rows import Floats, Rows, stack


class StreamMethod(Method):
    """A method that sees the rows of a stream once.

    ::

        method.start(log, n)         # warm start; n is the number of rows the stream will have
        asked = method.ask(X, q0)    # positions in X whose labels are wanted
        method.tell(labels)          # closes the round and refits: all or nothing
        method.error()               # on everyone, with an interval, if every row could have been asked for

    A subclass supplies `warm_start`, `choose`, `learn` and `model_`.
    """

    works_on = "stream"

    anytime: bool = True
    """Whether one run gives the whole curve. False if the method must know n, so that each n needs a run of its own."""

    first_batch: int = 10
    """The number of rows of the first round; each later round has twice as many as the one before."""

    n_: int
    rounds_: list[StreamRound]

    @abstractmethod
    def choose(self, X: Rows, q0: Floats) -> StreamRound:
        """Decide which of these rows are queried and which are kept."""

    def at_zero_labels(self) -> "StreamMethod":
        """The method whose warm start is the model that curves show at 0 labels."""
        return self

    def start(
        self,
        log: LoggedData | Any,
        n: int | None = None,
        *,
        label: str | None = None,
        propensity: str | float | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Self:
        """Warm start from the log.

        Parameters
        ----------
        log : LoggedData, or a Polars or pandas frame
            Rows with and without a label, and how likely each was to have one.
        n : int, optional
            The number of rows that the stream will have; the log's m if left out.
        classes : pair, optional
            (negative, positive), if the frame's labels do not show both.
        label, propensity : str, optional
            Columns of the frame. Without `propensity`, the propensities are estimated.
        """
        known = as_log(log, label, propensity, classes)
        if known.only_labelled and known is not log:
            raise InputError(
                "(nearly) every row of the frame has a label, so it shows only those who were picked and does not "
                "tell propensities. Add the rows without a label, or pass propensity=, which is 1.0 if all were picked."
            )
        if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer))):
            raise InputError(
                f"n must be the number of stream rows; got {type(n).__name__}. "
                f"{type(self).__name__} works on a stream: pass a number here, and the rows to ask(X, q0)."
            )
        self.start_checked(known, known.m if n is None else int(n))
        return self

    def start_checked(self, log: LoggedData, n: int) -> None:
        """`start` for a log that is already `LoggedData`."""
        if log.kept is not None:
            raise InputError(
                f"methods on a stream need every row of the log; got {log.m:,} of {log.rows:,}. Use Unskew with a pool."
            )
        if n < 1:
            raise InputError(f"n must be at least 1 stream row; got {n}. Pass the length of the stream.")
        self._begin(log, n_=n)

    def ask(self, X: ArrayLike | Rows | Any, q0: ArrayLike | None = None) -> NDArray[np.intp]:
        """The positions in X of the rows whose labels are wanted now; answer them with `tell`.

        `q0` are the logging propensities of these rows.
        """
        self._check_turn()
        if q0 is None or isinstance(X, (int, np.integer)):
            raise InputError(
                f"{type(self).__name__} works on a stream: ask(X, q0) needs the next rows and their propensities; "
                f"got {'no q0' if q0 is None else X}. Pass both."
            )
        rows = self.log_.rows_like(X, name="the stream's rows")
        seen = sum(len(batch.y) for batch in self.rounds_)
        if not self.anytime and seen + rows.shape[0] > self.n_:
            raise InputError(
                f"{type(self).__name__} was started for a stream of {self.n_} rows; got {seen + rows.shape[0]}. "
                "Call start(log, n) with the number of rows of the whole stream."
            )
        return self.ask_checked(rows, propensities(q0, rows.shape[0]))

    def ask_checked(self, X: Rows, q0: Floats) -> NDArray[np.intp]:
        """`ask` for rows that have already been checked, as part of a whole stream."""
        batch = self._pending = self.choose(X, q0)
        return np.flatnonzero(batch.queried)

    def tell(self, labels: ArrayLike | Any) -> Self:
        """Answer the open round: one label for each position `ask` returned, in that order or as {position: label}."""
        batch = self._open_round()
        values, skipped = self._answers(labels, np.flatnonzero(batch.queried))
        if skipped.any():
            raise InputError(
                f"a stream needs a label for every row asked for; got none for number {int(np.argmax(skipped))}. "
                "Only rows of a pool can be skipped: use Unskew with a pool."
            )
        self.tell_checked(codes(values, self.log_.classes, remedy="Correct the label."))
        return self

    def tell_checked(self, y: Floats) -> None:
        """`tell` for answers that are already +1.0 and -1.0, one for each row asked for."""
        self._close(self._open_round().answered(y))

    def batch_sizes(self) -> Iterator[int]:
        """The number of stream rows in each round: the first batch, then twice as many each time, n in total."""
        left, size = self.n_, self.first_batch
        while left > 0:
            yield min(size, left)
            left -= size
            size *= 2

    def observed(self, *, whole: bool = False) -> Observed:
        log, rounds = self.log_, self.rounds_
        asked = np.concatenate([log.z[:0], *(batch.queried for batch in rounds)])
        p = np.concatenate([log.q0[:0], *(batch.p for batch in rounds)])
        bought = [batch.bought for batch in rounds]
        design = StreamDesign(log.z, log.q0, len(p), asked=asked, p=p)
        return Observed(
            design,
            [log.X, *(batch.X for batch in rounds)],
            np.flatnonzero(design.labelled),
            stack([log.revealed_X, *(one.X for one in bought)]),
            np.concatenate([log.revealed_y, *(one.y for one in bought)]),
        )
