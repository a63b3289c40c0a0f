"""The replay that judges all others: it must see what is wrong with a ledger."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from faults.replay import replay

AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = (AT + timedelta(hours=1)).isoformat()


def planned(number: int, *places: int) -> tuple[str, str, dict[str, Any]]:
    return "planned", "", {"round": number, "rows": [{"id": f"r{place}", "place": place} for place in places]}


def leased(by: str, *ids: str) -> tuple[str, str, dict[str, Any]]:
    return "leased", by, {"ids": list(ids), "until": LATER}


def answered(by: str, id: str, label: str = "yes") -> tuple[str, str, dict[str, Any]]:
    return "answered", by, {"id": id, "label": label}


def write(folder: Path, events: list[tuple[str, str, dict[str, Any]]], minutes: float = 1.0) -> Path:
    """A ledger of those events, as plain SQL writes it."""
    (folder / "campaign.json").write_text(json.dumps({"campaign": "c", "store": None}))
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE campaigns (id TEXT, settings JSON)")
        connection.execute("INSERT INTO campaigns VALUES ('c', '{\"budget\": 3}')")
        connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, campaign, at, kind, actor, body)")
        for k, (kind, by, body) in enumerate(events):
            at = (AT + k * timedelta(minutes=minutes)).isoformat()
            row = ("c", at, kind, by, json.dumps(body))
            connection.execute("INSERT INTO events (campaign, at, kind, actor, body) VALUES (?, ?, ?, ?, ?)", row)
    return folder


def test_what_counts(tmp_path: Path) -> None:
    found = replay(
        write(
            tmp_path,
            [
                planned(1, 0, 1, 2),
                leased("ann", "r0", "r1"),
                answered("ann", "r0"),
                ("skipped", "ann", {"id": "r1"}),
                planned(2, 3),  # a skip gives its place back
                ("corrected", "bob", {"id": "r0", "label": "no", "was": "yes"}),
                leased("bob", "r3"),
                answered("bob", "r3"),
                ("undone", "bob", {"id": "r3", "was": "yes", "until": LATER}),
            ],
        )
    )
    assert found.faults == []
    assert found.labels == {"r0": "no", "r1": None} and (found.spent, found.skipped) == (1, 1)
    assert found.planned == {"r0": 0, "r1": 1, "r2": 2, "r3": 3}


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([planned(1, 0), planned(2, 0)], "planned before"),
        ([planned(1, 0), planned(3, 1)], "round 3 after round 1"),
        ([planned(1)], "without rows"),
        ([planned(1, 0, 1, 2, 3)], "above the budget of 3"),
        ([planned(1, 0), answered("ann", "r0"), answered("bob", "r0", "no")], "answered before"),
        ([planned(1, 0), answered("ann", "r0"), ("skipped", "ann", {"id": "r0"})], "answered before"),
        ([planned(1, 0), answered("ann", "r7")], "never planned"),
        ([planned(1, 0), leased("ann", "r0"), leased("bob", "r0")], "leased by 'ann'"),
        ([planned(1, 0), answered("ann", "r0"), leased("bob", "r0")], "answered before"),
        ([planned(1, 0), ("corrected", "ann", {"id": "r0", "label": "no", "was": "yes"})], "is None, not 'yes'"),
    ],
)
def test_what_is_wrong(tmp_path: Path, events: list[Any], fault: str) -> None:
    (found,) = replay(write(tmp_path, events)).faults
    assert fault in found


def test_a_lease_that_ran_out_is_free(tmp_path: Path) -> None:
    events = [planned(1, 0), leased("ann", "r0"), leased("bob", "r0")]
    assert replay(write(tmp_path, events, minutes=45)).faults == []


def test_a_pool_that_grew(tmp_path: Path) -> None:
    """Rounds ask for rows that are in the pool by then, and each batch of rows says after how many rounds it came."""
    extended = ("extended", "", {"rows": 2, "after": 1, "sha256": "", "file": "pool-2.parquet"})
    folders = [tmp_path / name for name in ("right", "early", "count")]
    events = [
        [planned(1, 0), extended, planned(2, 4)],
        [planned(1, 4), extended],
        [planned(1, 0), planned(2, 1), extended],
    ]
    found = []
    for folder, happened in zip(folders, events, strict=True):
        folder.mkdir()
        write(folder, happened)
        with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection, connection:
            connection.execute('UPDATE campaigns SET settings = \'{"budget": 3, "pool_rows": 4}\'')
        found.append(replay(folder))
    assert found[0].faults == [] and found[0].pool_rows == 6
    assert "at no place of the pool" in found[1].faults[0]
    assert "after 1 rounds, and there are 2" in found[2].faults[0]
