"""The state of a campaign: the result of all its events, applied one after the other. Pure, in memory."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from unskew.campaigns.ledger.arrangement import Arrangement
from unskew.campaigns.ledger.events import (
    Answered,
    Arranged,
    Closed,
    Commented,
    Corrected,
    Event,
    Extended,
    Invited,
    Leased,
    Measured,
    Paused,
    Planned,
    PlannedRow,
    Reason,
    Recorded,
    Resumed,
    Revoked,
    Seconded,
    Skipped,
    Started,
    Undone,
)
from unskew.campaigns.ledger.opinions import Opinion, counted, differ, for_two, votes, wanted
from unskew.campaigns.ledger.pace import Pace
from unskew.campaigns.ledger.remarks import Remarks
from unskew.errors import LedgerDamaged
from unskew.methods.prospect import Prospect

if TYPE_CHECKING:
    from unskew.estimation.population import PopulationEstimate

SKIPS = 15
"""The number of rows that somebody may skip one after the other. Then they get no more until somebody says so."""

OLD_TOKENS = 1000
"""The number of tokens that no longer work of which is known whose they were, the latest."""

Barred = Literal["ended", "paused", "skips"]
"""Why somebody gets no rows: the campaign has ended, they were paused, or they skip everything."""


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
    for_two: bool = False
    """Whether a second person is to see it."""
    opinions: tuple[Opinion, ...] = ()
    """What each person said who was shown the row, first to last."""
    settled: bool = False
    """Whether somebody who knew the opinions decided."""

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

    @property
    def conflict(self) -> bool:
        """Whether people gave it different labels and nobody has settled it."""
        return self.status == RowStatus.ANSWERED and not self.settled and differ(self.opinions)

    @property
    def wants_another(self) -> bool:
        """Whether one more person should see it."""
        open = self.for_two and self.status == RowStatus.ANSWERED and not self.settled
        return open and wanted(self.opinions)

    def said(self, name: str) -> Opinion | None:
        """What that person said of it."""
        return next((one for one in self.opinions if one.by == name), None)

    def open_to(self, name: str) -> bool:
        """Whether that person may still change what they said.

        A skip closes the row for everybody else who answered it, but not for whoever skipped it: otherwise its being
        closed would tell them that there are others.
        """
        return self.said(name) is not None and (not self.settled or self.by == name)

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


class Comment(NamedTuple):
    """What somebody wrote about a row, or why they corrected its label."""

    by: str
    at: str
    text: str
    key: str = ""
    """What its sender calls it, if they may send it twice."""

    def as_dict(self) -> dict[str, str]:
        """What people are shown."""
        return {"by": self.by, "at": self.at, "text": self.text}


class Snapshot(NamedTuple):
    """What was asked and answered at one moment."""

    answered: list[Row]
    """Answered rows, in the order they were planned."""
    rows: list[Row]
    """All rows that were asked for."""
    spreads: list[float | None]
    """The spread of a draw in each round."""
    parts: tuple[Extended, ...] = ()
    """The rows that came to the pool later."""


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
    again: dict[str, Row] = field(default_factory=dict)
    """Answered rows that one more person should see, as that person gets them: without any answer."""
    arrangement: Arrangement = field(default_factory=Arrangement)
    comments: dict[str, list[Comment]] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    streaks: Counter[str] = field(default_factory=Counter)
    """The number of rows that each person has skipped since their last label."""
    people: dict[str, Person] = field(default_factory=dict)
    old_tokens: dict[str, str] = field(default_factory=dict)
    """The hashes of tokens that no longer work, and whose they were."""
    answers: dict[str, dict[str, Opinion]] = field(default_factory=dict)
    """By person and row, what each of them said last. Only what they do themselves changes it, so it tells nobody what
    others answered, corrected or settled."""
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
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By person and row, how often that person replaced or took back an answer."""
    pace: Pace = field(default_factory=Pace)
    """How long each person takes for a row."""
    parts: tuple[Extended, ...] = ()
    """The rows that came to the pool later."""
    grown: dict[int, int] = field(default_factory=dict)
    """By the number of labels of an estimate, how often the pool had grown by then: it is about the rows then."""
    stale: bool = False
    """Whether the pool grew, and nothing was estimated since."""

    @property
    def errors(self) -> "dict[int, PopulationEstimate]":
        """The estimated error by the number of labels it was estimated from, fewest first; 0 is the log alone."""
        return {labels: found["error"] for labels, found in self.estimates.items()}

    @property
    def latest(self) -> "dict[str, PopulationEstimate]":
        """The latest estimates by measure. None of them are about fewer rows than the pool has now."""
        labels = next(reversed(self.estimates), None)
        return {} if labels is None or self.grown[labels] < len(self.parts) else self.estimates[labels]

    def rows_then(self, labels: int, first: int) -> int:
        """The number of rows that the estimate from this number of labels is about; the pool had `first` at first."""
        return first + sum(part.rows for part in self.parts[: self.grown[labels]])

    @property
    def left(self) -> int:
        """The number of rows that may still be planned: a planned row takes a place in the budget until skipped."""
        return self.budget - (len(self.rows) - self.skipped)

    def answered(self) -> list[Row]:
        """Answered rows, in the order they were planned, no matter who answered first."""
        return [row for row in self.rows.values() if row.status == RowStatus.ANSWERED]

    def barred(self, actor: str) -> Barred | None:
        """Why `actor` gets no rows, if that is so."""
        if self.arrangement.ended:
            return "ended"
        return "paused" if actor in self.paused else "skips" if self.streaks[actor] >= SKIPS else None

    def available(self, actor: str, now: datetime) -> list[Row]:
        """Rows that `actor` may have: the actor's own, those whose lease ran out, those for a second person, others."""
        if self.barred(actor):
            return []
        again = [row for row in self.again.values() if self.rows[row.id].said(actor) is None]
        rows = [*self.open.values(), *again]
        mine = [row for row in rows if row.held_by(actor)]
        late = [row for row in self.open.values() if row.expired(now) and not row.held_by(actor)]
        second = [row for row in again if row.free(now) and not row.held_by(actor)]
        return [*mine, *late, *second, *(row for row in self.open.values() if row.status == RowStatus.WAITING)]

    def asked_of(self, actor: str, id: str) -> Row:
        """A row as `actor` has it: without the answers of others, if it is one more opinion that is wanted."""
        again = self.again.get(id)
        return again if again is not None and self.rows[id].said(actor) is None else self.rows[id]

    def has_seen(self, actor: str, id: str) -> bool:
        """Whether the row was ever handed to `actor`, or answered by them."""
        return id in self.given.get(actor, ()) or id in self.answers.get(actor, {})

    def undoable(self, actor: str) -> str | None:
        """The latest answer of `actor` that can be taken back.

        A skip whose place in the budget is taken cannot, and no answer to which somebody else's was added.
        """
        return next((id for id in reversed(self.done.get(actor, [])) if self._may_undo(actor, self.rows[id])), None)

    def _may_undo(self, actor: str, row: Row) -> bool:
        if row.status == RowStatus.SKIPPED:
            return self.left > 0
        last = row.opinions[-1:]
        return len(row.opinions) < 2 or (not row.settled and last[0].by == actor)

    def conflicts(self) -> list[Row]:
        """Rows that people gave different labels, and that nobody has settled."""
        return [row for row in self.rows.values() if row.conflict]

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
                raise LedgerDamaged(
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
            self._put(Row(planned, event.round, for_two=for_two(planned.id, self.arrangement.overlap)))
        ids = [planned.id for planned in event.rows]
        self.batches.append(Batch(event.round, ids, event.rest, event.spread, event.model, recorded.at))

    def _leased(self, recorded: Recorded, event: Leased) -> None:
        for id in event.ids:
            self._lease(self.asked_of(recorded.actor, id), recorded, event.until)

    def _answered(self, recorded: Recorded, event: Answered) -> None:
        row = self.rows[event.id]
        if row.status == RowStatus.SKIPPED:  # by somebody else
            row = self._reopen(row)
        self.streaks[recorded.actor] = 0
        self._finish(row, recorded, self._own(recorded, event))

    def _skipped(self, recorded: Recorded, event: Skipped) -> None:
        self.streaks[recorded.actor] += 1
        self._finish(self.rows[event.id], recorded, self._own(recorded, event))

    def _seconded(self, recorded: Recorded, event: Seconded) -> None:
        row, actor = self.rows[event.id], recorded.actor
        self.streaks[actor] = self.streaks[actor] + 1 if event.label is None else 0
        self.done.setdefault(actor, []).append(row.id)
        self._opined(row, (*row.opinions, self._own(recorded, event)))

    def _corrected(self, recorded: Recorded, event: Corrected) -> None:
        row, actor = self.rows[event.id], recorded.actor
        self.corrections[actor] += 1
        self.changes[actor, row.id] += 1
        if event.reason:
            text = f"{event.was or 'skipped'} → {event.label or 'skipped'}: {event.reason}"
            self.comments.setdefault(row.id, []).append(Comment(actor, recorded.at, text))
        own = self._own(recorded, event)
        if row.said(actor) is not None and len(row.opinions) > 1 and not row.settled and event.label is not None:
            self._opined(row, tuple(own if one.by == actor else one for one in row.opinions))
            return
        others = tuple(one for one in row.opinions if one.by != actor)
        self._finish(self._reopen(row), recorded, own, others)

    def _undone(self, recorded: Recorded, event: Undone) -> None:
        row, actor = self.rows[event.id], recorded.actor
        own = row.said(actor)
        self.answers.get(actor, {}).pop(row.id, None)
        self.changes[actor, row.id] += 1
        self.streaks[actor] -= own is not None and own.label is None and self.streaks[actor] > 0
        if len(row.opinions) < 2 or row.settled:
            row = self._reopen(row)
            self.open = {row.id: row, **self.open}
        else:
            self.done[actor].remove(row.id)
            self._opined(row, tuple(one for one in row.opinions if one.by != actor))
            row = self.again[row.id]
            self.again = {row.id: row, **self.again}
        self._lease(row, recorded, event.until)

    def _commented(self, recorded: Recorded, event: Commented) -> None:
        assert event.id in self.rows
        comment = Comment(recorded.actor, recorded.at, event.text, event.key)
        self.comments.setdefault(event.id, []).append(comment)

    def _closed(self, _: Recorded, event: Closed) -> None:
        self.batches[event.round - 1].closed = event
        self._estimated(event.labels, event)
        self.prospect = event.prospect

    def _measured(self, _: Recorded, event: Measured) -> None:
        if event.error is None:  # the estimates so far stay as they are, about the pool as it was
            self.stale = False
        else:
            self._estimated(event.labels, event)
        self.prospect = event.prospect

    def _invited(self, _: Recorded, event: Invited) -> None:
        self._retire(event.name)
        self.people[event.name] = Person(event.name, event.role, event.token_sha256)

    def _revoked(self, _: Recorded, event: Revoked) -> None:
        self._retire(event.name)
        self.people.pop(event.name, None)
        self._release(event.name)

    def _paused(self, _: Recorded, event: Paused) -> None:
        self.paused.add(event.name)
        self._release(event.name)

    def _resumed(self, _: Recorded, event: Resumed) -> None:
        self.paused.discard(event.name)
        self.streaks[event.name] = 0

    def _arranged(self, _: Recorded, event: Arranged) -> None:
        self.budget = event.changes.get("budget", self.budget)
        self.arrangement = self.arrangement.changed(event.changes)

    def _own(self, recorded: Recorded, event: Answered | Skipped | Seconded | Corrected) -> Opinion:
        """What somebody said of a row. It is kept as their last word on it."""
        label = None if isinstance(event, Skipped) else event.label
        remarks = Remarks() if isinstance(event, Corrected) else event.remarks
        own = self.answers.setdefault(recorded.actor, {})
        own.pop(event.id, None)  # so that the latest is the last
        own[event.id] = Opinion(recorded.actor, label, recorded.at, remarks)
        return own[event.id]

    def _release(self, name: str) -> None:
        """Make the rows that somebody holds free for others."""
        for row in [row for row in (*self.open.values(), *self.again.values()) if row.held_by(name)]:
            self._put(replace(row, status=RowStatus.WAITING, holder=None, lease_from=None, lease_until=None))

    def _extended(self, _: Recorded, event: Extended) -> None:
        assert event.rows > 0, "an extension has rows"
        assert event.after == len(self.batches), "rounds ask for rows that are in the pool"
        self.parts, self.stale, self.prospect = (*self.parts, event), True, None

    def _retire(self, name: str) -> None:
        """The token that person has, if any, no longer works."""
        if name in self.people:
            self.old_tokens[self.people[name].token_sha256] = name
            if len(self.old_tokens) > OLD_TOKENS:
                del self.old_tokens[next(iter(self.old_tokens))]

    def _estimated(self, labels: int, event: Started | Closed | Measured) -> None:
        self.stale = False
        # Estimates from as many labels or more rest on answers that were corrected or taken back since.
        self.estimates = {k: known for k, known in self.estimates.items() if k < labels}
        if event.error is not None:
            self.estimates[labels] = {"error": event.error, **{one.measure: one for one in event.others}}
            self.grown[labels] = len(self.parts)

    def _put(self, row: Row) -> None:
        """Replace an open row, or add one."""
        known = self.rows.get(row.id)
        if known is not None and known.done:
            self.again[row.id] = row
        else:
            self.rows[row.id] = self.open[row.id] = row

    def _lease(self, row: Row, recorded: Recorded, until: datetime) -> None:
        assert not row.done, "a row that has an answer is not handed out"
        begun = datetime.fromisoformat(recorded.at)
        self._put(replace(row, status=RowStatus.LEASED, holder=recorded.actor, lease_from=begun, lease_until=until))
        self.given.setdefault(recorded.actor, set()).add(row.id)

    def _finish(self, row: Row, recorded: Recorded, own: Opinion, others: tuple[Opinion, ...] = ()) -> None:
        """Give an open row its label, or skip it. `others` are opinions of people whom the actor overrules."""
        status = RowStatus.SKIPPED if own.label is None else RowStatus.ANSWERED
        self.rows[row.id] = Row(
            row.planned, row.round, status, label=own.label, by=own.by, at=own.at, for_two=row.for_two,
            opinions=others if others and own.label is not None else (own,), settled=bool(others),
        )  # fmt: skip
        self.spent += own.label is not None
        self.skipped += own.label is None
        self.open.pop(row.id, None)
        self.batches[row.round - 1].closed = None
        self.done.setdefault(recorded.actor, []).append(row.id)
        self._ask_again(row.id)

    def _opined(self, row: Row, opinions: tuple[Opinion, ...]) -> None:
        """Replace the opinions of a row. Its round has to be closed again if another label counts now."""
        label = counted(opinions)
        if label != row.label:
            self.batches[row.round - 1].closed = None
        first = votes(opinions)[0]
        self.rows[row.id] = replace(row, label=label, by=first.by, at=first.at, opinions=opinions)
        self._ask_again(row.id)

    def _ask_again(self, id: str) -> None:
        """Offer a row to one more person, or stop doing so."""
        row = self.rows[id]
        self.again.pop(id, None)
        if row.wants_another:
            self.again[id] = Row(row.planned, row.round)

    def _reopen(self, row: Row) -> Row:
        self.spent -= row.status == RowStatus.ANSWERED
        self.skipped -= row.status == RowStatus.SKIPPED
        assert row.by is not None
        self.done[row.by].remove(row.id)
        for one in row.opinions:  # of people whose answer is overruled: it cannot be taken back any more
            if one.by != row.by and row.id in self.done.get(one.by, ()):
                self.done[one.by].remove(row.id)
        self.batches[row.round - 1].closed = None
        self.again.pop(row.id, None)
        reopened = Row(row.planned, row.round, for_two=row.for_two)
        self.rows[row.id] = self.open[row.id] = reopened
        return reopened


_APPLY: dict[type[Event], Callable[[State, Recorded, Any], None]] = {
    Started: State._started,
    Planned: State._planned,
    Leased: State._leased,
    Answered: State._answered,
    Skipped: State._skipped,
    Seconded: State._seconded,
    Commented: State._commented,
    Paused: State._paused,
    Resumed: State._resumed,
    Arranged: State._arranged,
    Corrected: State._corrected,
    Undone: State._undone,
    Closed: State._closed,
    Measured: State._measured,
    Invited: State._invited,
    Revoked: State._revoked,
    Extended: State._extended,
}
