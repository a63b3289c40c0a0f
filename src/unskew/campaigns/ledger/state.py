"""The state of a campaign: what its events, applied one after the other, amount to. Pure, in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from unskew.campaigns.ledger.store import Event


@dataclass(slots=True)
class Row:
    """A row of the pool that was planned: how it came to be asked, and what became of it."""

    id: str
    place: int
    round: int
    rule: str
    probability: float
    values: dict[str, Any]
    status: str = "waiting"
    """``waiting`` for somebody, ``leased`` to a holder, ``answered`` or ``skipped``."""
    holder: str | None = None
    lease_until: datetime | None = None
    label: str | None = None
    by: str | None = None
    at: str | None = None

    def expired(self, now: datetime) -> bool:
        """Leased, and not answered in time."""
        return self.status == "leased" and self.lease_until is not None and self.lease_until <= now

    def free(self, now: datetime) -> bool:
        """Whether anybody may have it."""
        return self.status == "waiting" or self.expired(now)


@dataclass(frozen=True, slots=True)
class Asked:
    """A row as it is handed out: what to look at, and until when it is kept for whoever asked."""

    id: str
    round: int
    probability: float
    rule: str
    values: dict[str, Any]
    lease_until: datetime | None

    @classmethod
    def of(cls, row: Row) -> Self:
        return cls(row.id, row.round, row.probability, row.rule, row.values, row.lease_until)


@dataclass(slots=True)
class Batch:
    """A round: its rows in the order they were picked, and from how many rows its audit was drawn."""

    number: int
    ids: list[str]
    rest: int
    model: str
    at: str
    closed: dict[str, Any] | None = None
    """What was written when it closed: labels so far, and the error estimated from them. None again once one of its
    rows is answered, skipped or taken back: then it is to be closed anew."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a token, of which only the hash is known."""

    name: str
    role: str
    token_sha256: str


@dataclass
class State:
    """What all events so far say. `apply` them in order; nothing else changes it."""

    budget: int
    last: int = 0
    """The last event applied."""
    rows: dict[str, Row] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    open: dict[str, Row] = field(default_factory=dict)
    """Rows waiting or leased, in the order they were planned; what was taken back comes before that."""
    people: dict[str, Person] = field(default_factory=dict)
    done: dict[str, list[str]] = field(default_factory=dict)
    """Ids that each annotator answered or skipped and may still take back, latest last."""
    spent: int = 0
    """Rows answered."""
    skipped: int = 0
    errors: dict[int, dict[str, Any]] = field(default_factory=dict)
    """The error as it was estimated from so many labels, 0 for the log alone, fewest first."""

    @property
    def left(self) -> int:
        """Rows that may still be planned: every planned row holds a place in the budget, unless it was skipped."""
        return self.budget - (len(self.rows) - self.skipped)

    def answered(self) -> list[Row]:
        """Answered rows, in the order they were planned: no matter who answered first."""
        return [row for row in self.rows.values() if row.status == "answered"]

    def available(self, actor: str, now: datetime) -> list[Row]:
        """Rows that `actor` may have now: her own first, then those whose lease ran out, then by round."""
        mine = [row for row in self.open.values() if row.holder == actor and row.status == "leased"]
        others = [row for row in self.open.values() if row.holder != actor or row.status != "leased"]
        late = [row for row in others if row.expired(now)]
        return [*mine, *late, *(row for row in others if row.status == "waiting")]

    def undoable(self, actor: str) -> str | None:
        """The latest of what `actor` said that can be taken back: no skip whose place in the budget is taken."""
        said = reversed(self.done.get(actor, []))
        return next((id for id in said if self.rows[id].status == "answered" or self.left > 0), None)

    def due(self, now: datetime) -> list[Batch]:
        """Rounds to close: not closed yet, every row answered, skipped, or out with a lease that has run out."""
        busy = {row.round for row in self.open.values() if not row.expired(now)}
        return [batch for batch in self.batches if batch.closed is None and batch.number not in busy]

    def replay(self, events: Iterable[Event]) -> Self:
        """Apply many."""
        for event in events:
            self.apply(event)
        return self

    def apply(self, event: Event) -> None:
        """One event further."""
        assert event.id > self.last, "events are applied once, in order"
        _APPLY[event.kind](self, event, event.body)
        self.last = event.id

    def _started(self, event: Event, body: dict[str, Any]) -> None:
        self._estimated(0, body.get("error"))

    def _planned(self, event: Event, body: dict[str, Any]) -> None:
        number = body["round"]
        for one in body["rows"]:
            row = Row(one["id"], one["place"], number, one["rule"], one["probability"], one["values"])
            self.rows[row.id] = self.open[row.id] = row
        ids = [one["id"] for one in body["rows"]]
        self.batches.append(Batch(number, ids, body["rest"], body["model"], event.at))

    def _leased(self, event: Event, body: dict[str, Any]) -> None:
        until = datetime.fromisoformat(body["until"])
        for id in body["ids"]:
            row = self.rows[id]
            row.status, row.holder, row.lease_until = "leased", event.actor, until

    def _answered(self, event: Event, body: dict[str, Any]) -> None:
        row = self.rows[body["id"]]
        if row.status == "skipped":  # by somebody else
            self._reopen(row)
        self._finish(row, body["label"], event)

    def _skipped(self, event: Event, body: dict[str, Any]) -> None:
        self._finish(self.rows[body["id"]], None, event)

    def _corrected(self, event: Event, body: dict[str, Any]) -> None:
        row = self.rows[body["id"]]
        self._reopen(row)
        self._finish(row, body["label"], event)

    def _undone(self, event: Event, body: dict[str, Any]) -> None:
        row = self.rows[body["id"]]
        self._reopen(row)
        self.open = {row.id: row, **self.open}
        row.status, row.holder, row.lease_until = "leased", event.actor, datetime.fromisoformat(body["until"])

    def _closed(self, event: Event, body: dict[str, Any]) -> None:
        self.batches[body["round"] - 1].closed = body
        self._estimated(body["labels"], body["error"])

    def _invited(self, event: Event, body: dict[str, Any]) -> None:
        self.people[body["name"]] = Person(body["name"], body["role"], body["token_sha256"])

    def _revoked(self, event: Event, body: dict[str, Any]) -> None:
        self.people.pop(body["name"], None)
        for row in self.open.values():
            if row.holder == body["name"]:
                row.status, row.holder, row.lease_until = "waiting", None, None

    def _estimated(self, labels: int, error: dict[str, Any] | None) -> None:
        # Estimates from as many labels or more are of answers that were corrected or taken back since.
        self.errors = {k: known for k, known in self.errors.items() if k < labels}
        if error is not None:
            self.errors[labels] = error

    def _finish(self, row: Row, label: str | None, event: Event) -> None:
        row.status = "skipped" if label is None else "answered"
        row.label, row.by, row.at, row.holder, row.lease_until = label, event.actor, event.at, None, None
        self.spent += label is not None
        self.skipped += label is None
        self.open.pop(row.id, None)
        self.batches[row.round - 1].closed = None
        self.done.setdefault(event.actor, []).append(row.id)

    def _reopen(self, row: Row) -> None:
        self.spent -= row.status == "answered"
        self.skipped -= row.status == "skipped"
        assert row.by is not None
        self.done[row.by].remove(row.id)
        row.label = row.by = row.at = None
        self.batches[row.round - 1].closed = None
        self.open[row.id] = row


_APPLY = {
    "started": State._started,
    "planned": State._planned,
    "leased": State._leased,
    "answered": State._answered,
    "skipped": State._skipped,
    "corrected": State._corrected,
    "undone": State._undone,
    "closed": State._closed,
    "invited": State._invited,
    "revoked": State._revoked,
}
