"""The state of a campaign: the result of all its events, applied one after the other. Pure, in memory."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from unskew.campaigns.ledger.events import (
    Answered,
    Closed,
    Corrected,
    Event,
    Invited,
    Leased,
    Planned,
    PlannedRow,
    Reason,
    Recorded,
    Revoked,
    Skipped,
    Started,
    Undone,
)
from unskew.campaigns.ledger.pace import Pace
from unskew.errors import StoreError
from unskew.methods.prospect import Prospect

if TYPE_CHECKING:
    from unskew.estimation.population import PopulationEstimate


class RowStatus(StrEnum):
    """What became of a row that was asked for."""

    WAITING = "waiting"
    """Nobody has it."""
    LEASED = "leased"
    """Somebody holds it."""
    ANSWERED = "answered"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the pool that was asked for: why it was, who holds it and until when, what was answered and by whom.

    A row never changes; the state replaces it by another. So rows can be handed out as they are.
    """

    planned: PlannedRow
    round: int
    status: RowStatus = RowStatus.WAITING
    holder: str | None = None
    lease_from: datetime | None = None
    lease_until: datetime | None = None
    label: str | None = None
    by: str | None = None
    at: str | None = None

    @property
    def id(self) -> str:
        return self.planned.id

    @property
    def place(self) -> int:
        """Its position in the pool."""
        return self.planned.place

    @property
    def reason(self) -> Reason:
        """Why it was asked for: "chosen" or "drawn"."""
        return self.planned.reason

    @property
    def probability(self) -> float:
        """The probability with which its round asked for it."""
        return self.planned.probability

    @property
    def values(self) -> dict[str, Any]:
        """What people are shown."""
        return self.planned.values

    @property
    def done(self) -> bool:
        """Whether it was answered or skipped."""
        return self.status in (RowStatus.ANSWERED, RowStatus.SKIPPED)

    def expired(self, now: datetime) -> bool:
        """Leased, and not answered in time.

        A lease that begins further in the future than it lasts was given by a clock that is wrong. It counts as ended:
        otherwise nobody could have the row until that clock is right.
        """
        if self.status != RowStatus.LEASED or self.lease_from is None or self.lease_until is None:
            return False
        return self.lease_until <= now or self.lease_from - now > self.lease_until - self.lease_from

    def free(self, now: datetime) -> bool:
        """Whether anybody may have it."""
        return self.status == RowStatus.WAITING or self.expired(now)

    def held_by(self, name: str) -> bool:
        """Whether that person holds it, in time or not."""
        return self.status == RowStatus.LEASED and self.holder == name


@dataclass(slots=True)
class Batch:
    """A round: the ids of its rows in the order they were picked, and what they were drawn from (`Planned`)."""

    number: int
    ids: list[str]
    rest: int
    spread: float | None
    model: str
    at: str
    closed: Closed | None = None
    """The event that closed it. None again once one of its rows is answered, skipped or taken back: then it has to be
    closed again."""


class Snapshot(NamedTuple):
    """What was asked and answered at one moment."""

    answered: list[Row]
    """Answered rows, in the order they were planned."""
    rows: list[Row]
    """All rows that were asked for."""
    spreads: list[float | None]
    """The spread of a draw in each round."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token, of which only the hash is known."""

    name: str
    role: str
    token_sha256: str


@dataclass
class State:
    """The result of all events so far. `apply` them in order; nothing else changes it."""

    budget: int
    last: int = 0
    """The number of the last event applied."""
    last_at: str = ""
    """When that was."""
    rows: dict[str, Row] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    open: dict[str, Row] = field(default_factory=dict)
    """Rows waiting or leased, in the order they were planned. Rows that were taken back come before those."""
    people: dict[str, Person] = field(default_factory=dict)
    done: dict[str, list[str]] = field(default_factory=dict)
    """The ids that each annotator answered or skipped and may still take back, latest last."""
    given: dict[str, set[str]] = field(default_factory=dict)
    """The ids that were ever handed to each person."""
    spent: int = 0
    """The number of rows answered."""
    skipped: int = 0
    """The number of rows skipped."""
    estimates: "dict[int, dict[str, PopulationEstimate]]" = field(default_factory=dict)
    """Estimates by the number of labels they rest on, fewest first, then by measure. 0 is the log alone."""
    prospect: Prospect | None = None
    """What the next labels were expected to gain when the last round closed."""
    corrections: Counter[str] = field(default_factory=Counter)
    """The number of answers that each person replaced."""
    pace: Pace = field(default_factory=Pace)
    """How long each person takes for a row."""

    @property
    def errors(self) -> "dict[int, PopulationEstimate]":
        """The estimated error by the number of labels it was estimated from, fewest first; 0 is the log alone."""
        return {labels: found["error"] for labels, found in self.estimates.items()}

    @property
    def left(self) -> int:
        """The number of rows that may still be planned: a planned row takes a place in the budget until skipped."""
        return self.budget - (len(self.rows) - self.skipped)

    def answered(self) -> list[Row]:
        """Answered rows, in the order they were planned, no matter who answered first."""
        return [row for row in self.rows.values() if row.status == RowStatus.ANSWERED]

    def available(self, actor: str, now: datetime) -> list[Row]:
        """Rows that `actor` may have now: first the actor's own, then those whose lease ran out, then by round."""
        mine = [row for row in self.open.values() if row.held_by(actor)]
        others = [row for row in self.open.values() if not row.held_by(actor)]
        late = [row for row in others if row.expired(now)]
        return [*mine, *late, *(row for row in others if row.status == RowStatus.WAITING)]

    def undoable(self, actor: str) -> str | None:
        """The latest answer of `actor` that can be taken back. A skip whose place in the budget is taken cannot."""
        ids = reversed(self.done.get(actor, []))
        return next((id for id in ids if self.rows[id].status == RowStatus.ANSWERED or self.left > 0), None)

    def due(self, now: datetime) -> list[Batch]:
        """Rounds to close: not closed yet, and every row is answered, skipped, or held by somebody who is late."""
        busy = {row.round for row in self.open.values() if not row.expired(now)}
        return [batch for batch in self.batches if batch.closed is None and batch.number not in busy]

    def replay(self, recorded: Iterable[Recorded]) -> Self:
        """Apply many events."""
        for one in recorded:
            try:
                self.apply(one)
            except (LookupError, TypeError, ValueError, AttributeError, AssertionError, OverflowError):
                raise StoreError(
                    f"event {one.number or one.id} of the ledger, {one.kind!r}, does not fit those before it. "
                    "Restore the ledger from a copy."
                ) from None
        return self

    def apply(self, recorded: Recorded) -> None:
        """Apply the next event."""
        assert recorded.id > self.last, "events are applied once, in order"
        _APPLY[type(recorded.event)](self, recorded, recorded.event)
        self.pace.add(recorded)
        self.last, self.last_at = recorded.id, recorded.at

    def _started(self, _: Recorded, event: Started) -> None:
        self._estimated(0, event)

    def _planned(self, recorded: Recorded, event: Planned) -> None:
        for planned in event.rows:
            self._put(Row(planned, event.round))
        ids = [planned.id for planned in event.rows]
        self.batches.append(Batch(event.round, ids, event.rest, event.spread, event.model, recorded.at))

    def _leased(self, recorded: Recorded, event: Leased) -> None:
        for id in event.ids:
            self._lease(self.rows[id], recorded, event.until)

    def _answered(self, recorded: Recorded, event: Answered) -> None:
        row = self.rows[event.id]
        if row.status == RowStatus.SKIPPED:  # by somebody else
            row = self._reopen(row)
        self._finish(row, event.label, recorded)

    def _skipped(self, recorded: Recorded, event: Skipped) -> None:
        self._finish(self.rows[event.id], None, recorded)

    def _corrected(self, recorded: Recorded, event: Corrected) -> None:
        self.corrections[recorded.actor] += 1
        self._finish(self._reopen(self.rows[event.id]), event.label, recorded)

    def _undone(self, recorded: Recorded, event: Undone) -> None:
        row = self._reopen(self.rows[event.id])
        self.open = {row.id: row, **self.open}
        self._lease(row, recorded, event.until)

    def _closed(self, _: Recorded, event: Closed) -> None:
        self.batches[event.round - 1].closed = event
        self._estimated(event.labels, event)
        self.prospect = event.prospect

    def _invited(self, _: Recorded, event: Invited) -> None:
        self.people[event.name] = Person(event.name, event.role, event.token_sha256)

    def _revoked(self, _: Recorded, event: Revoked) -> None:
        self.people.pop(event.name, None)
        for row in [row for row in self.open.values() if row.held_by(event.name)]:
            self._put(replace(row, status=RowStatus.WAITING, holder=None, lease_from=None, lease_until=None))

    def _estimated(self, labels: int, event: Started | Closed) -> None:
        # Estimates from as many labels or more rest on answers that were corrected or taken back since.
        self.estimates = {k: known for k, known in self.estimates.items() if k < labels}
        if event.error is not None:
            self.estimates[labels] = {"error": event.error, **{one.measure: one for one in event.others}}

    def _put(self, row: Row) -> None:
        """Replace an open row, or add one."""
        self.rows[row.id] = self.open[row.id] = row

    def _lease(self, row: Row, recorded: Recorded, until: datetime) -> None:
        begun = datetime.fromisoformat(recorded.at)
        self._put(replace(row, status=RowStatus.LEASED, holder=recorded.actor, lease_from=begun, lease_until=until))
        self.given.setdefault(recorded.actor, set()).add(row.id)

    def _finish(self, row: Row, label: str | None, recorded: Recorded) -> None:
        status = RowStatus.SKIPPED if label is None else RowStatus.ANSWERED
        self.rows[row.id] = Row(row.planned, row.round, status, label=label, by=recorded.actor, at=recorded.at)
        self.spent += label is not None
        self.skipped += label is None
        self.open.pop(row.id, None)
        self.batches[row.round - 1].closed = None
        self.done.setdefault(recorded.actor, []).append(row.id)

    def _reopen(self, row: Row) -> Row:
        self.spent -= row.status == RowStatus.ANSWERED
        self.skipped -= row.status == RowStatus.SKIPPED
        assert row.by is not None
        self.done[row.by].remove(row.id)
        self.batches[row.round - 1].closed = None
        reopened = Row(row.planned, row.round)
        self._put(reopened)
        return reopened


_APPLY: dict[type[Event], Callable[[State, Recorded, Any], None]] = {
    Started: State._started,
    Planned: State._planned,
    Leased: State._leased,
    Answered: State._answered,
    Skipped: State._skipped,
    Corrected: State._corrected,
    Undone: State._undone,
    Closed: State._closed,
    Invited: State._invited,
    Revoked: State._revoked,
}
