"""A log, a pool and a campaign made of them, small and with columns of every kind, for the tests of campaigns."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from unskew.campaigns import Campaign, State
from unskew.campaigns.consent import agree_to_reach
from unskew.campaigns.ledger import chain
from unskew.campaigns.ledger.engines import place
from unskew.campaigns.ledger.store import Ledger

STORES = ("sqlite", "postgresql")
"""Every store a campaign can have. What is promised of one is tested with each."""


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.time

    def on(self, **by):
        self.time += timedelta(**by)


def table(rows, rng):
    x = rng.normal(size=(rows, 2))
    return pl.DataFrame(
        {
            "x0": x[:, 0],
            "x1": pl.Series(np.where(rng.random(rows) < 0.1, np.nan, x[:, 1])).fill_nan(None),
            "region": rng.choice(["north", "south", "west"], rows),
            "member": rng.random(rows) < 0.5,
            "since": pl.Series(rng.integers(0, 9000, rows)).cast(pl.Date),
            "seen": pl.Series(rng.integers(0, 2**50, rows)).cast(pl.Datetime("us")),
        }
    )


def write_tables(folder):
    """A log that saw mostly x0 > 0, and a pool."""
    rng = np.random.default_rng(0)
    log = table(200, rng)
    q0 = np.where(log["x0"] > 0, 0.9, 0.2)
    paid = [int(x > 0.2) if z else None for x, z in zip(log["x0"], rng.random(200) < q0, strict=True)]
    log.with_columns(pl.Series("paid", paid), pl.Series("q0", q0)).write_parquet(folder / "log.parquet")
    pool = table(400, rng).with_columns(pl.int_range(1000, 1400).alias("loan"))
    pool.write_parquet(folder / "pool.parquet")
    return folder


def make(tables, folder, **changed):
    """A campaign of those tables, which must be closed."""
    wanted = {"log": tables / "log.parquet", "pool": tables / "pool.parquet", "label": "paid", "propensity": "q0",
              "id": "loan", "budget": 60, "drawn": 0.5, "lease": timedelta(minutes=10)}  # fmt: skip
    return Campaign.create(folder, **(wanted | changed))


def move_to(url, folder):
    """The same campaign under a new id in another store."""
    with Campaign.open(folder) as campaign, Ledger(url) as ledger:
        name = f"{folder.parent.name}-{datetime.now(UTC).timestamp()}"[-36:]
        ledger.create(name, campaign.settings)
        with ledger.writing(name) as write:
            for recorded in campaign.ledger.events(campaign.id):
                write.append(recorded.event, by=recorded.actor)
    (folder / "campaign.json").write_text(json.dumps({"campaign": name, "store": url}))
    agree_to_reach([place(url)] if url.startswith("postgresql") else [], name)
    for name in ("ledger.sqlite", "ledger.head"):
        (folder / name).unlink()


def forge(folder, *events, **settings):
    """Change the settings, and add events, as somebody would who computes all hashes again."""
    connection = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
    for name in ("campaigns_no_update", "events_no_update"):
        connection.execute(f"DROP TRIGGER {name}")
    campaign, at, text = connection.execute("SELECT id, at, settings FROM campaigns").fetchone()
    text = json.dumps({**json.loads(text), **settings})
    connection.execute("UPDATE campaigns SET settings = ?", (text,))
    for event in events:
        columns = "campaign, at, kind, actor, body, number, hash"
        number = connection.execute("SELECT count(*) + 1 FROM events").fetchone()[0]
        row = (campaign, at, event.kind, "", json.dumps(event.as_body()), number, "new")
        connection.execute(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    last = chain.root(campaign, at, text)
    for event in connection.execute("SELECT id, at, kind, actor, body FROM events ORDER BY id").fetchall():
        last = chain.after(last, *event)
        connection.execute("UPDATE events SET hash = ? WHERE id = ?", (last.hash, last.id))
    connection.close()
    (folder / "ledger.head").unlink()


def truth(row):
    return "1" if row.values["x0"] > 0.2 else "0"


def told(rows):
    """Right answers, by row id."""
    return {row.id: truth(row) for row in rows}


def lines(rows):
    """Right answers, as the lines of a file."""
    return [(k, row.id, truth(row)) for k, row in enumerate(rows, start=1)]


def replayed(campaign):
    return State(campaign.settings.budget).replay(campaign.ledger.events(campaign.id))
