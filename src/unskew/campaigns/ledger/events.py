"""What can happen in a campaign: one small class for each kind of event, written to the ledger as JSON.

Decoding is tolerant, so that ledgers of other versions can be read: unknown keys are ignored, and old names are
understood. Version 0.1.0 wrote the `reason` of a row as "rule", and "audit" where it is now "drawn".
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from unskew.campaigns.ledger.remarks import Remarks, remarks_in
from unskew.errors import LedgerDamaged, StoreError
from unskew.methods.prospect import Prospect

if TYPE_CHECKING:
    from unskew.estimation.population import PopulationEstimate

Reason = Literal["chosen", "drawn"]
"""Why a row is asked for: chosen to learn from it, or drawn at random with a known probability."""


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events. `kind` is its name in the ledger."""

    kind: ClassVar[str]

    def as_body(self) -> dict[str, Any]:
        """The event as plain values, ready for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """The event that `as_body` wrote, in this version or another."""
        return cls(**{each.name: body[each.name] for each in fields(cls) if each.name in body})


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in the ledger: its key, when it happened, who did it ("" for the program), and the event itself.

    `number` counts the campaign's events from 1, and `hash` covers this event and all before it (`ledger.chain`).
    """

    id: int
    at: str
    actor: str
    event: Event
    number: int = 0
    hash: str = ""

    @property
    def kind(self) -> str:
        return self.event.kind


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row of the pool that a round asks for.

    `place` is its position in the pool, `probability` the probability with which the round asked for it, and `values`
    are what people are shown: the ledger keeps them, so that a model can be refitted without the pool.

    >>> old = {"id": "17", "place": 16, "rule": "audit", "probability": 0.05, "values": {"income": 1.5}}
    >>> PlannedRow.from_record(old)
    PlannedRow(id='17', place=16, reason='drawn', probability=0.05, values={'income': 1.5}, propensity=None)
    """

    id: str
    place: int
    reason: Reason
    probability: float
    values: dict[str, Any] = field(hash=False)  # rows are hashable: as keys of answers they are refused in words
    propensity: float | None = None
    """The pool's own propensity of the row, where the pool has such a column."""

    def as_record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        record = {each.name: getattr(self, each.name) for each in fields(self)}
        return record if self.propensity is not None else {k: v for k, v in record.items() if k != "propensity"}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The row that `as_record` wrote, in this version or another."""
        reason: Reason = "chosen" if record.get("reason", record.get("rule")) == "chosen" else "drawn"
        own = record.get("propensity")
        return cls(record["id"], record["place"], reason, record["probability"], record["values"], own)


@dataclass(frozen=True, slots=True)
class Started(Event):
    """The campaign began. `error` is estimated from the log alone; None if no label of the log came at random.

    `others` are estimates of the other measures that the campaign follows (`unskew.estimation.aims`).
    """

    kind = "started"
    error: "PopulationEstimate | None" = None
    others: "tuple[PopulationEstimate, ...]" = ()

    def as_body(self) -> dict[str, Any]:
        return {"error": estimate_as_record(self.error), **_others_as_body(self.others)}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        return cls(estimate_from_record(body.get("error")), _others_from_body(body))


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """A round was planned. Its drawn rows came from `rest` rows; `model` is the digest of the model that chose.

    `spread` is the variance that one draw was expected to leave (`unskew.sampling.draws`). It is None in rounds that
    versions before 0.4.0 planned: those drew evenly, and `probability` is then the share of the rest that was drawn.
    """

    kind = "planned"
    round: int
    rows: tuple[PlannedRow, ...]
    rest: int
    model: str = ""
    spread: float | None = None

    def as_body(self) -> dict[str, Any]:
        rows = [row.as_record() for row in self.rows]
        body = {"round": self.round, "rows": rows, "rest": self.rest, "model": self.model}
        return body if self.spread is None else {**body, "spread": self.spread}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        rows = tuple(PlannedRow.from_record(row) for row in body["rows"])
        return cls(body["round"], rows, body["rest"], body.get("model", ""), body.get("spread"))


@dataclass(frozen=True, slots=True)
class Leased(Event):
    """Rows were handed out. They are kept for the actor until then."""

    kind = "leased"
    ids: tuple[str, ...]
    until: datetime

    def as_body(self) -> dict[str, Any]:
        return {"ids": list(self.ids), "until": self.until.isoformat()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        return cls(tuple(body["ids"]), datetime.fromisoformat(body["until"]))


@dataclass(frozen=True, slots=True)
class Said(Event):
    """The actor said something of a row. `remarks` are recorded with it (`ledger.remarks`)."""

    id: str
    remarks: Remarks = field(default_factory=Remarks, kw_only=True, repr=False, hash=False)

    def as_body(self) -> dict[str, Any]:
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "remarks"}
        return {**own, **self.remarks}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        own = {each.name: body[each.name] for each in fields(cls) if each.name in body and each.name != "remarks"}
        return cls(**own, remarks=remarks_in(body))


@dataclass(frozen=True, slots=True)
class Answered(Said):
    """The actor gave a label."""

    kind = "answered"
    label: str


@dataclass(frozen=True, slots=True)
class Skipped(Said):
    """The actor could not or would not answer."""

    kind = "skipped"


@dataclass(frozen=True, slots=True)
class Seconded(Said):
    """The actor, who did not see what others said of the row, gave one more opinion of it, or passed (None)."""

    kind = "seconded"
    label: str | None


@dataclass(frozen=True, slots=True)
class Corrected(Event):
    """A label, or a skip (None), replaced the answer that was there, or settled what people disagreed on."""

    kind = "corrected"
    id: str
    label: str | None
    was: str | None = None
    reason: str = ""
    """Why, in the actor's words. Versions before 0.9.0 did not ask."""

    def as_body(self) -> dict[str, Any]:
        body = {"id": self.id, "label": self.label, "was": self.was}
        return {**body, "reason": self.reason} if self.reason else body


@dataclass(frozen=True, slots=True)
class Commented(Event):
    """The actor wrote something about a row."""

    kind = "commented"
    id: str
    text: str
    key: str = ""
    """What the sender calls this comment, so that one that is sent twice is kept once."""

    def as_body(self) -> dict[str, Any]:
        body = {"id": self.id, "text": self.text}
        return {**body, "key": self.key} if self.key else body


@dataclass(frozen=True, slots=True)
class Undone(Event):
    """The actor took back an answer or a skip, and holds the row again until then."""

    kind = "undone"
    id: str
    was: str | None
    until: datetime

    def as_body(self) -> dict[str, Any]:
        return {"id": self.id, "was": self.was, "until": self.until.isoformat()}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        return cls(body["id"], body.get("was"), datetime.fromisoformat(body["until"]))


@dataclass(frozen=True, slots=True)
class Closed(Event):
    """A round is complete. `error` is estimated from all `labels` so far; None if none came at random.

    `prospect` is what the next labels are expected to gain; None if there are too few to say. Versions before 0.4.0 did
    not record it. `others` are as in `Started`.
    """

    kind = "closed"
    round: int
    labels: int
    error: "PopulationEstimate | None" = None
    prospect: Prospect | None = None
    others: "tuple[PopulationEstimate, ...]" = ()

    def as_body(self) -> dict[str, Any]:
        return {"round": self.round, "labels": self.labels, **_found_as_body(self)}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        return cls(body["round"], body["labels"], *_found_from_body(body))


@dataclass(frozen=True, slots=True)
class Measured(Event):
    """The error was estimated again with no round to close, because the pool got new rows. It is as in `Closed`."""

    kind = "measured"
    labels: int
    error: "PopulationEstimate | None" = None
    prospect: Prospect | None = None
    others: "tuple[PopulationEstimate, ...]" = ()

    def as_body(self) -> dict[str, Any]:
        return {"labels": self.labels, **_found_as_body(self)}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        return cls(body["labels"], *_found_from_body(body))


@dataclass(frozen=True, slots=True)
class Invited(Event):
    """Somebody got a token, of which only the hash is kept. An earlier token of theirs no longer works."""

    kind = "invited"
    name: str
    role: str
    token_sha256: str


@dataclass(frozen=True, slots=True)
class Revoked(Event):
    """Somebody's token no longer works."""

    kind = "revoked"
    name: str


@dataclass(frozen=True, slots=True)
class Paused(Event):
    """Somebody gets no rows until `Resumed`."""

    kind = "paused"
    name: str


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """Somebody gets rows again, however many they have skipped."""

    kind = "resumed"
    name: str


@dataclass(frozen=True, slots=True)
class Arranged(Event):
    """Something that may change while a campaign runs was changed (`ledger.arrangement`)."""

    kind = "arranged"
    changes: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Extended(Event):
    """The pool got new rows, after `after` rounds were planned. Their places follow those of the rows before them.

    `file` is the name of the file in the campaign's folder that holds them, or that lists the files in which they stay,
    and `sha256` is its digest. `types` are the columns that have a wider type from now on, such as numbers that had
    been whole.
    """

    kind = "extended"
    rows: int
    sha256: str
    file: str
    after: int
    types: dict[str, str] = field(default_factory=dict, hash=False)


KINDS: dict[str, type[Event]] = {
    each.kind: each
    for each in (
        Started, Planned, Leased, Answered, Skipped, Seconded, Corrected, Commented, Undone, Closed, Measured, Invited,
        Revoked, Paused, Resumed, Arranged, Extended,
    )
}  # fmt: skip


def decode(kind: str, body: str) -> Event:
    """The event of that kind with that body, which is JSON.

    >>> decode("answered", '{"id": "7", "label": "yes", "colour": "red"}')
    Answered(id='7', label='yes')
    """
    if kind not in KINDS:
        raise StoreError(f"the ledger has an event {kind!r} that a newer unskew wrote. Install that version.")
    try:
        return KINDS[kind].from_body(json.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        told = " ".join(str(error).split())[:120]
        raise LedgerDamaged(
            f"an event {kind!r} in the ledger cannot be read: {told}. Restore it from a copy."
        ) from None


def estimate_as_record(estimate: "PopulationEstimate | None") -> dict[str, Any] | None:
    """An estimate as plain values, ready for JSON."""
    return None if estimate is None else asdict(estimate)


def estimate_from_record(record: Mapping[str, Any] | None) -> "PopulationEstimate | None":
    """The estimate in an event; keys that this version does not know are ignored.

    >>> known = {"value": 0.1, "low": 0.05, "high": 0.2, "standard_error": 0.03, "level": 0.95, "measure": "error",
    ...          "labels": 40, "effective_sample_size": 31.0, "draw": [0.1, 0.05, 0.2]}
    >>> estimate_from_record({**known, "colour": "red"}).high
    0.2
    """
    if record is None:
        return None
    from unskew.estimation.population import PopulationEstimate, Side  # NumPy and SciPy take a moment to import

    known = {each.name: record[each.name] for each in fields(PopulationEstimate) if each.name in record}
    for name in ("log", "draw"):
        known[name] = None if known.get(name) is None else Side(*known[name])
    return PopulationEstimate(**known)


def _found_as_body(event: Closed | Measured) -> dict[str, Any]:
    """What was found when a round closed, or later with no round to close."""
    ahead = None if event.prospect is None else asdict(event.prospect)
    return {"error": estimate_as_record(event.error), "prospect": ahead, **_others_as_body(event.others)}


def prospect_from_record(record: Mapping[str, Any] | None) -> Prospect | None:
    """The prospect in an event; keys that this version does not know are ignored."""
    if record is None:
        return None
    return Prospect(**{each.name: record[each.name] for each in fields(Prospect) if each.name in record})


def _found_from_body(
    body: Mapping[str, Any],
) -> "tuple[PopulationEstimate | None, Prospect | None, tuple[PopulationEstimate, ...]]":
    ahead = prospect_from_record(body.get("prospect"))
    return estimate_from_record(body.get("error")), ahead, _others_from_body(body)


def _others_as_body(others: "tuple[PopulationEstimate, ...]") -> dict[str, Any]:
    return {"others": [estimate_as_record(one) for one in others]} if others else {}


def _others_from_body(body: Mapping[str, Any]) -> "tuple[PopulationEstimate, ...]":
    found = (estimate_from_record(record) for record in body.get("others", ()))
    return tuple(one for one in found if one is not None)
