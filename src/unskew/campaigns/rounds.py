"""Rounds of a campaign: planned, handed out row by row, closed."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.events import Closed, Leased, Planned
from unskew.campaigns.ledger.live import Live, Transaction
from unskew.campaigns.ledger.people import checked_name
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row, RowStatus, Snapshot, State
from unskew.campaigns.ledger.status import room
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import InputError, StoreError

if TYPE_CHECKING:
    from unskew.campaigns.learning.fitting import Fitting

Fit = Callable[[list[Row]], list[Row]]
"""Says which of the rows that somebody could have are handed out: for instance, as many as a reply can hold."""


class Rounds:
    """The part of `Campaign` that deals with rounds; its methods are described there."""

    def __init__(self, folder: Folder, settings: Settings, ledger: Ledger, live: Live) -> None:
        self.folder, self.settings, self.ledger, self.live = folder, settings, ledger, live
        self.lease = timedelta(seconds=settings.lease_seconds)
        self.progress: Callable[[int, int], None] = lambda done, total: None

    @cached_property
    def fitting(self) -> "Fitting":
        from unskew.campaigns.learning.fitting import Fitting  # scikit-learn takes seconds to import

        return Fitting(self.folder, self.settings, lambda done, total: self.progress(done, total))

    def snapshot(self) -> Snapshot:
        """What was asked and answered, as it is now."""
        with self.live.lock:
            state = self.live.refresh()
            rows, spreads = list(state.rows.values()), [batch.spread for batch in state.batches]
        return Snapshot([row for row in rows if row.status == RowStatus.ANSWERED], rows, spreads)

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
                        recorded = plan is not None and self._record(write, plan)
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
        ids = [row.id for row in fit(state.available(by, now)[:n])]
        stale = [id for id in ids if not self._fresh(state.rows[id], by, now)]
        if stale:
            write.append(Leased(tuple(stale), now + self.lease), by=by)
        return [state.rows[id] for id in ids], min(n - len(ids), room(state, self.settings))

    def _missing(self, n: int, by: str) -> int:
        """The number of rows that should be planned before `by` can have n."""
        _check(n, by)
        with self.live.lock:
            state = self.live.refresh()
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
                return self._record(write, plan)

    def close_due(self) -> int:
        while not self.ledger.read_only:
            with self.live.lock:
                state = self.live.refresh()
                due, errors = [batch.number for batch in state.due(self.ledger.now())], state.errors
                if not due:
                    return 0
                now_asked = self.snapshot()
                answered, rows = now_asked.answered, now_asked.rows
            (error, others), prospect = self.fitting.estimates(now_asked), self.fitting.prospect(answered)
            labels = {row.id: row.label for row in rows if row.round in due}
            with self.live.writing() as write:
                now: State = write.state
                # If somebody else closed a round meanwhile, perhaps with more labels, or an answer came late, the
                # estimate is out of date and has to be made again.
                if now.errors == errors and all(now.rows[id].label == label for id, label in labels.items()):
                    closing = [number for number in due if now.batches[number - 1].closed is None]
                    write.append(*(Closed(number, len(answered), error, prospect, others) for number in closing))
                    return len(closing)
        return 0

    def _draft(self, k: int) -> Planned:
        """The next round, of k rows, chosen and drawn outside of any transaction."""
        with self.live.lock:
            asked = self.snapshot()
        number = len(asked.spreads) + 1
        plan = self.fitting.plan(asked.answered, [row.place for row in asked.rows], number, k)
        return Planned(number, tuple(plan.rows), plan.rest, plan.model, plan.spread)

    def _record(self, write: Transaction, plan: Planned) -> bool:
        """Write the round to the ledger, unless somebody else planned one meanwhile: then that one counts."""
        if not plan.rows:
            raise StoreError("no row of the pool can be picked. Restore the ledger from a copy.")
        if len(write.state.batches) + 1 != plan.round or len(plan.rows) > room(write.state, self.settings):
            return False
        write.append(plan)
        return True


def _check(n: Any, by: str) -> None:
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise InputError(f"n must be a whole number of rows; got {n!r}. Ask for 20, for instance.")
    if int(n) < 1:
        raise InputError(f"n must be at least 1 row; got {n}. Ask for at least 1.")
    checked_name(by)
