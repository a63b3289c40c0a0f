"""The state of a campaign as one file in the user's own cache, so that opening need not read every event.

It is made only from events that this user has read and checked, and nobody else may write to that cache. It is used if
the ledger still holds the last event that it contains, with the same number and hash: the hash covers all events before
it. Whether those are still as they were is found out by `unskew verify`, and by the planner once a day. A file that is
damaged, of another version or of another ledger is passed over, and then every event is read.

Whoever finds the ledger damaged removes the snapshot and leaves a mark in its place: other
processes of this user may have read the ledger before it was damaged, and would keep another one.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import uuid4

from unskew import __version__
from unskew.campaigns.ledger.arrangement import Arrangement
from unskew.campaigns.ledger.chain import Link
from unskew.campaigns.ledger.engines import serialised
from unskew.campaigns.ledger.events import (
    Closed,
    Extended,
    PlannedRow,
    estimate_as_record,
    estimate_from_record,
    prospect_from_record,
)
from unskew.campaigns.ledger.opinions import Opinion
from unskew.campaigns.ledger.pace import Pace
from unskew.campaigns.ledger.place import Identity
from unskew.campaigns.ledger.remarks import Remarks
from unskew.campaigns.ledger.state import Batch, Comment, Person, Row, RowStatus, State
from unskew.campaigns.user_cache import UserCache

FORMAT = f"{__version__} 1"
"""Another version may understand an event differently, so it does not use what this one wrote."""
FILE = "ledger-state.json"
MARK = "ledger-damaged"
"""The file that says that the ledger was found damaged. Each finding has another content."""


class Snapshot(NamedTuple):
    """A state, and the last event that it contains."""

    last: Link
    state: State


class Standing(StrEnum):
    """What a ledger and the user's snapshot of it have to do with each other."""

    AGREES = "agrees"
    NONE = "none"
    DAMAGED = "damaged"
    OTHER_VERSION = "of another version"
    OTHER_LEDGER = "of another ledger"
    """Of one that was in the same place before."""
    AHEAD = "ahead of the ledger"
    """The ledger does not have the last event of the snapshot."""


class Unfit(NamedTuple):
    """A snapshot that is not used, or none."""

    standing: Standing
    last: Link | None = None
    """The last event that it contains, if it is one of the same campaign."""


class SnapshotFile:
    """The file with the snapshot of one campaign, for one user.

    Parameters
    ----------
    ledger, campaign : str
        The address of the ledger, and the campaign's id.
    """

    def __init__(self, ledger: str, campaign: str) -> None:
        self._of = [FORMAT, ledger, campaign]
        self._cache = UserCache(f"ledger-{hashlib.sha256(json.dumps([ledger, campaign]).encode()).hexdigest()}")

    def read(self, root: str, file: Identity) -> Snapshot | Unfit:
        """What the file holds, or why it is not used.

        `file` is which file the ledger is. One that was put in its place is read in full: with what SQLite had
        written beside the one before it, it can be a mixture of two ledgers.
        """
        if not (self._cache.path / FILE).exists():
            return Unfit(Standing.NONE)
        digest, _, text = (self._cache.content(FILE) or b"").partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() != digest:
            return Unfit(Standing.DAMAGED)
        try:
            record = json.loads(text)
            version, *ledger, which = record["of"]
            if version != FORMAT:
                return Unfit(Standing.OTHER_VERSION)
            if ledger != [*self._of[1:], root]:
                return Unfit(Standing.OTHER_LEDGER)
            last = Link(*record["last"])
            if which != _plain(file):
                return Unfit(Standing.OTHER_LEDGER, last)
            return Snapshot(last, from_record(record["state"]))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return Unfit(Standing.DAMAGED)

    def write(self, root: str, file: Identity, last: Link, state: State) -> bool:
        """Replace the file. Returns whether that was possible: it never has to be."""
        record = {
            "of": [*self._of, root, _plain(file)],
            "last": [last.id, last.number, last.hash],
            "state": as_record(state),
        }
        text = serialised(record).encode()
        return self._cache.replace(FILE, hashlib.sha256(text).hexdigest().encode() + b"\n" + text)

    def mark(self) -> bytes | None:
        """The mark that the ledger was found damaged, if there is one."""
        return self._cache.content(MARK)

    def drop(self) -> None:
        """Remove the file, and leave a mark: none is used or kept until every event is whole."""
        self._cache.replace(MARK, f"{uuid4().hex}\n".encode())
        self._cache.remove(FILE)

    def unmark(self, mark: bytes | None) -> bool:
        """Remove that mark. Returns whether there is none now: damage may have been seen since."""
        if mark is not None and mark == self.mark():
            self._cache.remove(MARK)
        return self.mark() is None


def _plain(file: Identity) -> list[int] | None:
    return None if file is None else list(file)


def size(state: State) -> int:
    """About how many parts a snapshot of this state has."""
    return len(state.rows) + sum(map(len, state.comments.values()))


def as_record(state: State) -> dict[str, Any]:
    """All of a state as plain values, ready for JSON, in the same order."""
    pace = state.pace
    return {
        "budget": state.budget,
        "last": state.last,
        "last_at": state.last_at,
        "rows": [_row(row) for row in state.rows.values()],
        "open": list(state.open),  # the same rows, in another order
        "again": [[row.id, _lease(row)] for row in state.again.values()],
        "batches": [_batch(batch) for batch in state.batches],
        "arrangement": state.arrangement.as_record(),
        "comments": state.comments,
        "paused": sorted(state.paused),
        "streaks": state.streaks,
        "people": [[one.name, one.role, one.token_sha256] for one in state.people.values()],
        "old_tokens": state.old_tokens,
        "done": state.done,
        "answers": {
            name: [[id, own.label, own.at, *_remarks(own)] for id, own in answers.items()]
            for name, answers in state.answers.items()
        },
        "given": {name: sorted(ids) for name, ids in state.given.items()},
        "spent": state.spent,
        "skipped": state.skipped,
        "estimates": [
            [labels, {measure: estimate_as_record(one) for measure, one in by_measure.items()}]
            for labels, by_measure in state.estimates.items()
        ],
        "prospect": None if state.prospect is None else asdict(state.prospect),
        "corrections": state.corrections,
        "changes": [[*whose, times] for whose, times in state.changes.items()],
        "handed": [[*whose, at.isoformat()] for whose, at in pace.handed.items()],
        "before": {name: at.isoformat() for name, at in pace.before.items()},
        "seconds": pace.seconds,
        "parts": [part.as_body() for part in state.parts],
        "grown": list(state.grown.items()),
        "stale": state.stale,
    }


def from_record(record: Mapping[str, Any]) -> State:
    """The state of which `as_record` made this record.

    >>> state = State(10)
    >>> from_record(json.loads(json.dumps(as_record(state)))) == state
    True
    """
    for name, value in as_record(State(0)).items():
        if value is not None and not isinstance(value, type(record[name])):
            raise TypeError(f"{name} is {type(record[name]).__name__}")
    rows = {row.id: row for row in map(_row_of, record["rows"])}
    return State(
        budget=record["budget"],
        last=record["last"],
        last_at=record["last_at"],
        rows=rows,
        batches=[_batch_of(batch) for batch in record["batches"]],
        open={id: rows[id] for id in record["open"]},
        again={id: Row(rows[id].planned, rows[id].round, **_lease_of(lease)) for id, lease in record["again"]},
        arrangement=Arrangement().changed(record["arrangement"]),
        comments={id: [Comment(*one) for one in comments] for id, comments in record["comments"].items()},
        paused=set(record["paused"]),
        streaks=Counter(record["streaks"]),
        people={name: Person(name, *values) for name, *values in record["people"]},
        old_tokens=record["old_tokens"],
        done=record["done"],
        answers={
            name: {id: Opinion(name, *values) for id, *values in answers} for name, answers in record["answers"].items()
        },
        given={name: set(ids) for name, ids in record["given"].items()},
        spent=record["spent"],
        skipped=record["skipped"],
        estimates={
            labels: {measure: one for measure, each in found.items() if (one := estimate_from_record(each))}
            for labels, found in record["estimates"]
        },
        prospect=prospect_from_record(record["prospect"]),
        corrections=Counter(record["corrections"]),
        changes=Counter({(name, id): times for name, id, times in record["changes"]}),
        pace=Pace(
            handed={(name, id): datetime.fromisoformat(at) for name, id, at in record["handed"]},
            before={name: datetime.fromisoformat(at) for name, at in record["before"].items()},
            seconds=record["seconds"],
        ),
        parts=tuple(Extended.from_body(part) for part in record["parts"]),
        grown=dict(record["grown"]),
        stale=record["stale"],
    )


def _row(row: Row) -> list[Any]:
    planned = row.planned
    asked = [planned.id, planned.place, planned.reason, planned.probability, planned.values, planned.propensity]
    opinions = [[one.by, one.label, one.at, *_remarks(one)] for one in row.opinions]
    return [asked, row.round, _lease(row), row.label, row.by, row.at, row.for_two, opinions, row.settled]


def _row_of(values: list[Any]) -> Row:
    asked, round, lease, label, by, at, for_two, opinions, settled = values
    return Row(
        PlannedRow(*asked), round, **_lease_of(lease), label=label, by=by, at=at, for_two=for_two,
        opinions=tuple(Opinion(*one) for one in opinions), settled=settled,
    )  # fmt: skip


def _remarks(opinion: Opinion) -> list[Remarks]:
    """What was recorded with an answer, if anything was."""
    return [opinion.remarks] if opinion.remarks else []


def _lease(row: Row) -> list[Any]:
    """Whether somebody holds a row, who does, and from when until when."""
    return [row.status, row.holder, *(time and time.isoformat() for time in (row.lease_from, row.lease_until))]


def _lease_of(values: list[Any]) -> dict[str, Any]:
    status, holder, begun, until = values
    return {
        "status": RowStatus(status),
        "holder": holder,
        "lease_from": begun and datetime.fromisoformat(begun),
        "lease_until": until and datetime.fromisoformat(until),
    }


def _batch(batch: Batch) -> dict[str, Any]:
    plain = {each.name: getattr(batch, each.name) for each in fields(batch)}
    return {**plain, "closed": batch.closed and batch.closed.as_body()}


def _batch_of(record: dict[str, Any]) -> Batch:
    return Batch(**{**record, "closed": record["closed"] and Closed.from_body(record["closed"])})
