"""What a ledger says, read with plain SQL. Nothing of unskew is imported: a fault there cannot hide itself here."""

import hashlib
import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

EVENTS = "SELECT * FROM events {hint} WHERE campaign = {mark} ORDER BY id"
SETTINGS = "SELECT settings FROM campaigns WHERE id = {mark}"


@dataclass
class Replay:
    """The rows that were planned, the label that counts for each, and every rule that the events break."""

    budget: int
    labels: dict[str, str | None] = field(default_factory=dict)
    """By row, the label that counts; None for a skip. Rows that are open have no entry."""
    by: dict[str, str] = field(default_factory=dict)
    """Who answered or skipped the row."""
    planned: dict[str, int] = field(default_factory=dict)
    """The place in the pool of every row that was planned."""
    leases: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    said: dict[str, dict[str, str | None]] = field(default_factory=dict)
    """By row, what each person said who saw it as one of several."""
    settled: set[str] = field(default_factory=set)
    overlap: float = 0.0
    for_two: set[str] = field(default_factory=set)
    """The rows that a second person may see."""
    sizes: list[int] = field(default_factory=list)
    """The number of rows of each round."""
    pool_rows: int | None = None
    """The number of rows of the pool, with those that came later; None if the settings do not say it."""
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        return len(self.sizes)

    @property
    def spent(self) -> int:
        return sum(label is not None for label in self.labels.values())

    @property
    def skipped(self) -> int:
        return len(self.labels) - self.spent

    def apply(self, event: dict[str, Any]) -> None:
        kind, body, number = event["kind"], event["body"], event["id"]
        self.kinds[kind] += 1
        wrong = self._wrong(kind, body, event["actor"], datetime.fromisoformat(event["at"]))
        self.faults += [f"event {number}, {kind}: {what}" for what in wrong]
        if kind == "planned":
            self.sizes.append(len(body["rows"]))
            self.planned |= {row["id"]: row["place"] for row in body["rows"]}
            self.for_two |= {row["id"] for row in body["rows"] if _share(row["id"]) < self.overlap}
        elif kind == "leased":
            until = datetime.fromisoformat(body["until"])
            self.leases |= dict.fromkeys(body["ids"], (event["actor"], until))
        elif kind in ("answered", "skipped", "seconded", "corrected"):
            self._say(kind, body["id"], body.get("label"), event["actor"])
            self.leases.pop(body["id"], None)
        elif kind == "undone":
            self._take_back(body["id"], event["actor"])
            self.leases[body["id"]] = event["actor"], datetime.fromisoformat(body["until"])
        elif kind == "paused":
            self.leases = {id: lease for id, lease in self.leases.items() if lease[0] != body["name"]}
        elif kind == "arranged":
            self.budget = body["changes"].get("budget", self.budget)
            self.overlap = body["changes"].get("overlap", self.overlap)
        elif kind == "extended" and self.pool_rows is not None:
            self.pool_rows += body["rows"]
        elif kind == "revoked":
            self.leases = {id: lease for id, lease in self.leases.items() if lease[0] != body["name"]}
        if len(self.planned) - self.skipped > self.budget:
            self.faults.append(f"event {number}, {kind}: {len(self.planned)} planned, {self.skipped} skipped, above "
                               f"the budget of {self.budget}")  # fmt: skip

    def _say(self, kind: str, id: str, label: str | None, actor: str) -> None:
        """One more answer. Of several people's answers, the one that two gave counts, or else the first."""
        said = self.said.setdefault(id, {})
        one_of_several = kind == "corrected" and actor in said and len(said) > 1 and id not in self.settled
        if kind == "seconded" or (one_of_several and label is not None):
            said[actor] = label
            self._count(id)
            return
        if kind == "corrected" and set(said) - {actor}:
            self.settled.add(id)
            said.pop(actor, None)
        else:
            self.settled.discard(id)
            self.said[id] = {actor: label}
        if label is None:
            self.said[id] = {actor: None}
        self.labels[id], self.by[id] = label, actor

    def _take_back(self, id: str, actor: str) -> None:
        said = self.said.get(id, {})
        if len(said) < 2 or id in self.settled:
            self.labels.pop(id, None)
            self.said.pop(id, None)
            self.settled.discard(id)
        else:
            del said[actor]
            self._count(id)

    def _count(self, id: str) -> None:
        given = [(name, label) for name, label in self.said[id].items() if label is not None]
        twice = [label for label, times in Counter(label for _, label in given).items() if times > 1]
        self.labels[id], self.by[id] = (twice or [given[0][1]])[0], given[0][0]

    def _wrong(self, kind: str, body: dict[str, Any], actor: str, at: datetime) -> list[str]:
        """The rules that one event breaks."""
        if kind == "planned":
            places = set(self.planned.values())
            twice = [row["id"] for row in body["rows"] if row["id"] in self.planned or row["place"] in places]
            found = [f"row {id!r} was planned before" for id in twice]
            if len({row["id"] for row in body["rows"]}) != len(body["rows"]):
                found.append("a row is planned twice in one round")
            if body["round"] != self.rounds + 1:
                found.append(f"round {body['round']} after round {self.rounds}")
            if self.pool_rows is not None:
                found += [f"row {row['id']!r} is at no place of the pool" for row in body["rows"]
                          if not 0 <= row["place"] < self.pool_rows]  # fmt: skip
            return found + ["a round without rows"] * (not body["rows"])
        if kind == "extended":
            found = [f"{body['rows']} new rows"] * (body["rows"] < 1)
            return found + [f"after {body['after']} rounds, and there are {self.rounds}"] * (
                body["after"] != self.rounds
            )
        ids = body["ids"] if kind == "leased" else [body["id"]] if "id" in body else []
        found = [f"row {id!r} was never planned" for id in ids if id not in self.planned]
        for id in ids:
            done, label = id in self.labels, self.labels.get(id)
            holder, until = self.leases.get(id, ("", at))
            said = self.said.get(id, {})
            again = id in self.for_two - self.settled and actor not in said and label is not None
            if kind in ("leased", "seconded") and done and not again:
                found.append(f"row {id!r} was answered before")
            if kind == "seconded" and not done:
                found.append(f"row {id!r} has no first answer")
            if kind == "leased" and holder not in ("", actor) and until > at:
                found.append(f"row {id!r} is leased by {holder!r} until {until} and by {actor!r}")
            if kind == "answered" and done and (label is not None or self.by[id] == actor):
                found.append(f"row {id!r} was answered before, with no correction or undo in between")
            if kind == "skipped" and done:
                found.append(f"row {id!r} was answered before, with no undo in between")
            if len(said) > 1 and id not in self.settled:
                label = said.get(actor, label)
            if kind in ("corrected", "undone") and (not done or label != body.get("was")):
                found.append(f"row {id!r} is {label!r}, not {body.get('was')!r}")
        return found


def replay(folder: Path) -> Replay:
    """The replay of the campaign in that folder: of its own file, or of the PostgreSQL database that it names."""
    marker = json.loads((folder / "campaign.json").read_text())
    if marker["store"] is None:
        with closing(sqlite3.connect(folder / "ledger.sqlite", timeout=60)) as connection:
            connection.row_factory = sqlite3.Row
            events = EVENTS.format(mark="?", hint="NOT INDEXED")  # the table itself: a broken index hides rows
            return _replayed(connection, events, SETTINGS.format(mark="?"), marker["campaign"])
    address = marker["store"].replace("postgresql+psycopg://", "postgresql://")
    with psycopg.connect(address, row_factory=psycopg.rows.dict_row) as connection:
        return _replayed(connection, EVENTS.format(mark="%s", hint=""), SETTINGS.format(mark="%s"), marker["campaign"])


def _replayed(connection: Any, events: str, settings: str, campaign: str) -> Replay:
    said = _plain(connection.execute(settings, (campaign,)).fetchone()["settings"])
    found = Replay(said["budget"], pool_rows=said.get("pool_rows"))
    numbers = []
    for row in connection.execute(events, (campaign,)):
        event = dict(row)
        if "number" in event:
            numbers.append(event["number"])
        found.apply({**event, "body": _plain(event["body"])})
    if numbers != list(range(1, len(numbers) + 1)):
        found.faults.append("the events are not numbered 1, 2, 3 and so on")
    return found


def _share(id: str) -> float:
    return int(hashlib.sha256(f"two people: {id}".encode()).hexdigest()[:16], 16) / 2**64


def _plain(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str | bytes) else value
