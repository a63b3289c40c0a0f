"""Rounds of a campaign: planned, handed out row by row, closed."""

from copy import copy
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.live import Live, Transaction
from unskew.campaigns.ledger.people import checked_name
from unskew.campaigns.ledger.state import Asked, Row, State
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.campaigns.learning.fitting import Fitting, Plan


class Rounds:
    """What `Campaign` does about rounds; there every method is described."""

    def __init__(self, folder: Folder, settings: dict[str, Any], ledger: Ledger, live: Live) -> None:
        self.folder, self.settings, self.ledger, self.live = folder, settings, ledger, live
        self.lease = timedelta(seconds=settings["lease_seconds"])

    @cached_property
    def fitting(self) -> "Fitting":
        from unskew.campaigns.learning.fitting import Fitting

        return Fitting(self.folder, self.settings)

    def snapshot(self) -> tuple[list[Row], list[Row]]:
        """Answered rows, and all that were asked for, as they are now."""
        with self.live.lock:
            rows = [copy(row) for row in self.live.refresh().rows.values()]
        return [row for row in rows if row.status == "answered"], rows

    def room(self, state: State) -> int:
        return min(state.left, int(self.settings["pool_rows"]) - len(state.rows))

    def ask(self, n: int, actor: str) -> list[Asked]:
        given, missing = self.hand_out(n, actor)
        while missing:
            with self.folder.planning():
                given, missing = self.hand_out(n, actor)  # somebody may have planned while we waited
                if missing:
                    plan, number = self._draft(missing)
                    with self.live.writing() as write:
                        self._record(write, plan, number)
                        given, missing = self.give(write, n, actor)
        return given

    def hand_out(self, n: int, actor: str) -> tuple[list[Asked], int]:
        with self.live.writing() as write:
            return self.give(write, n, actor)

    def give(self, write: Transaction, n: int, actor: str) -> tuple[list[Asked], int]:
        """Lease up to n rows; what they are, and how many should be planned for the rest."""
        if n < 1:
            raise InputError(f"n must be at least 1 row; got {n}. Ask for some.")
        checked_name(actor)
        now = self.ledger.now()
        given = write.state.available(actor, now)[:n]
        stale = [row.id for row in given if row.holder != actor or not _fresh(row, now, self.lease)]
        if stale:
            write.append("leased", actor, {"ids": stale, "until": (now + self.lease).isoformat()})
        return [Asked.of(row) for row in given], min(n - len(given), self.room(write.state))

    def plan(self, k: int) -> bool:
        with self.folder.planning():
            missing = min(k, self.room(self.live.refresh()))
            if missing < 1:
                return False
            plan, number = self._draft(missing)
            with self.live.writing() as write:
                return self._record(write, plan, number)

    def close_due(self) -> int:
        while True:
            with self.live.lock:
                state = self.live.refresh()
                due, errors = [batch.number for batch in state.due(self.ledger.now())], state.errors
                if not due:
                    return 0
                answered, rows = self.snapshot()
            try:
                error = asdict(self.fitting.error(answered, rows))
            except InputError:  # no label came at random yet
                error = None
            said = {"labels": len(answered), "error": error}
            labels = {row.id: row.label for row in rows if row.round in due}
            with self.live.writing() as write:
                now = write.state
                # Else another closed a round meanwhile, perhaps with more labels, or an answer came late: again.
                if now.errors == errors and all(now.rows[id].label == label for id, label in labels.items()):
                    closing = [number for number in due if now.batches[number - 1].closed is None]
                    write.append_all([("closed", "", {"round": number, **said}) for number in closing])
                    return len(closing)

    def _draft(self, k: int) -> "tuple[Plan, int]":
        """A round of k rows, picked outside of any transaction, and its number."""
        with self.live.lock:
            answered, rows = self.snapshot()
            number = len(self.live.refresh().batches) + 1
        return self.fitting.plan(answered, [row.place for row in rows], number, k), number

    def _record(self, write: Transaction, plan: "Plan", number: int) -> bool:
        """Write the round down, unless somebody else planned one meanwhile: then theirs counts."""
        if len(write.state.batches) + 1 != number or len(plan.rows) > self.room(write.state):
            return False
        write.append("planned", "", {"round": number, "rows": plan.rows, "rest": plan.rest, "model": plan.model})
        return True


def _fresh(row: Row, now: datetime, lease: timedelta) -> bool:
    """Whether at least half of the lease is left."""
    return row.lease_until is not None and row.lease_until - now >= lease / 2
