"""Rounds of a campaign: planned, handed out row by row, closed."""

from collections.abc import Callable
from datetime import datetime, timedelta
from numbers import Integral
from typing import TYPE_CHECKING, Any

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.events import Closed, Extended, Leased, Measured, Planned
from unskew.campaigns.ledger.live import Live, Transaction
from unskew.campaigns.ledger.people import checked_name
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import SKIPS, Row, RowStatus, Snapshot, State
from unskew.campaigns.ledger.status import room
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import InputError, StoreError

if TYPE_CHECKING:
    from unskew.campaigns.learning.fitting import Fitting

Fit = Callable[[list[Row]], list[Row]]
"""Says which of the rows that somebody could have are handed out: for instance, as many as a reply can hold."""


class Rounds:
    """The part of `Campaign` that deals with rounds; its methods are described there."""

    def __init__(self, folder: Folder, ledger: Ledger, live: Live) -> None:
        self.folder, self.ledger, self.live = folder, ledger, live
        self.lease = timedelta(seconds=live.began.lease_seconds)
        self.progress: Callable[[int, int], None] = lambda done, total: None
        self._fitting: Fitting | None = None

    @property
    def settings(self) -> Settings:
        return self.live.settings

    @property
    def fitting(self) -> "Fitting":
        """What is fitted, with the pool as it is now."""
        return self.now()[0]

    def now(self) -> "tuple[Fitting, Snapshot]":
        """What is fitted, and what was asked and answered, with the same pool."""
        from unskew.campaigns.learning.fitting import Fitting  # scikit-learn takes seconds to import

        with self.live.lock:
            asked = self.snapshot()
            settings = self.live.began.with_parts(asked.parts)
            if self._fitting is None or self._fitting.settings != settings:
                self._fitting = Fitting(self.folder, settings, lambda done, total: self.progress(done, total))
            return self._fitting, asked

    def snapshot(self) -> Snapshot:
        """What was asked and answered, as it is now."""
        with self.live.lock:
            state = self.live.refresh()
            rows, spreads = list(state.rows.values()), [batch.spread for batch in state.batches]
            return Snapshot([row for row in rows if row.status == RowStatus.ANSWERED], rows, spreads, state.parts)

    def ask(self, n: int, by: str) -> list[Row]:
        # One transaction hands out, and nobody waits for the planning lock while enough rows are there.
        while True:
            if not self._missing(n, by):
                given, missing = self.hand_out(n, by)
            else:
                with self.folder.planning():
                    k = self._missing(n, by)  # somebody may have planned while we waited for the lock
                    plan = self._draft(k) if k else None
                    with self.live.writing() as write:
                        recorded = plan is not None and self._record(write, *plan)
                        given, missing = self.give(write, n, by)
                        if recorded and not given:  # it would go on like this for ever
                            raise StoreError("a round was planned and has no row. Restore the ledger from a copy.")
            if not missing:
                return given

    def hand_out(self, n: int, by: str, fit: Fit = list) -> tuple[list[Row], int]:
        with self.live.writing() as write:
            return self.give(write, n, by, fit)

    def give(self, write: Transaction, n: int, by: str, fit: Fit = list) -> tuple[list[Row], int]:
        """Lease up to n rows. The rows, and the number of rows that should be planned to get to n."""
        _check(n, by)
        now, state = self.ledger.now(), write.state
        rows = fit(state.available(by, now)[:n])
        stale = [row.id for row in rows if not self._fresh(row, by, now)]
        if stale:
            write.append(Leased(tuple(stale), now + self.lease), by=by)
        missing = 0 if state.barred(by) else min(n - len(rows), room(state, self.settings))
        return [state.asked_of(by, row.id) for row in rows], missing

    def _missing(self, n: int, by: str) -> int:
        """The number of rows that should be planned before `by` can have n."""
        _check(n, by)
        with self.live.lock:
            state = self.live.refresh()
            if (why := state.barred(by)) is not None:
                raise InputError(_BARRED[why].format(name=by))
            available = len(state.available(by, self.ledger.now()))
            return max(0, min(n - available, room(state, self.settings)))

    def _fresh(self, row: Row, by: str, now: datetime) -> bool:
        """Whether `by` holds the row, with at least half of the lease left."""
        if not row.held_by(by) or row.expired(now) or row.lease_until is None:
            return False
        return row.lease_until - now >= self.lease / 2

    def plan(self, k: int) -> bool:
        with self.folder.planning():
            missing = min(k, room(self.live.refresh(), self.settings))
            if missing < 1:
                return False
            plan = self._draft(missing)
            with self.live.writing() as write:
                return self._record(write, *plan)

    def close_due(self) -> int:
        while not self.ledger.read_only:
            with self.live.lock:
                state = self.live.refresh()
                due, errors = [batch.number for batch in state.due(self.ledger.now())], state.errors
                if not due and not state.stale:
                    return 0
                fitting, now_asked = self.now()
                answered, rows = now_asked.answered, now_asked.rows
            (error, others), prospect = fitting.estimates(now_asked), fitting.prospect(answered)
            labels = {row.id: row.label for row in rows if row.round in due}
            with self.live.writing() as write:
                now: State = write.state
                # If somebody else closed a round meanwhile, perhaps with more labels, or an answer came late, or the
                # pool got new rows, the estimate is out of date and has to be made again.
                same = now.errors == errors and now.parts == now_asked.parts
                if same and all(now.rows[id].label == label for id, label in labels.items()):
                    closing = [number for number in due if now.batches[number - 1].closed is None]
                    write.append(*(Closed(number, len(answered), error, prospect, others) for number in closing))
                    if now.stale:  # no round was left to close, and the pool grew
                        write.append(Measured(len(answered), error, prospect, others))
                    return len(closing)
        return 0

    def _draft(self, k: int) -> tuple[Planned, tuple[Extended, ...]]:
        """The next round, of k rows, chosen and drawn outside of any transaction; and what the pool had got by then."""
        fitting, asked = self.now()
        number = len(asked.spreads) + 1
        plan = fitting.plan(asked.answered, [row.place for row in asked.rows], number, k)
        return Planned(number, tuple(plan.rows), plan.rest, plan.model, plan.spread), asked.parts

    def _record(self, write: Transaction, plan: Planned, parts: tuple[Extended, ...]) -> bool:
        """Write the round to the ledger, unless somebody else planned one meanwhile: then that one counts.

        Neither does a round count that could not ask for rows which have come to the pool meanwhile.
        """
        if not plan.rows:
            raise StoreError("no row of the pool can be picked. Restore the ledger from a copy.")
        if parts != write.state.parts:
            return False
        if len(write.state.batches) + 1 != plan.round or len(plan.rows) > room(write.state, self.settings):
            return False
        write.append(plan)
        return True


_BARRED = {
    "ended": "the campaign has ended, so no row is handed out. Reopen it with `unskew reopen DIR`.",
    "paused": "{name} is paused and gets no rows. Let them go on with `unskew people DIR --resume {name}`.",
    "skips": "{name} skipped the last "
    f"{SKIPS} rows in a row"
    ", so the next ones go to others. Let them go on with `unskew people DIR --resume {name}`.",
}


def _check(n: Any, by: str) -> None:
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise InputError(f"n must be a whole number of rows; got {n!r}. Ask for 20, for instance.")
    if int(n) < 1:
        raise InputError(f"n must be at least 1 row; got {n}. Ask for at least 1.")
    checked_name(by)
