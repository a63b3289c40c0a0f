"""The chain of events: what was changed, lost or slipped in is noticed, on every store."""

import os
import shutil
import sqlite3

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from campaign_folder import told
from unskew.campaigns import Campaign
from unskew.campaigns.ledger.chain import Head, Link
from unskew.errors import StoreError

REFUSING = ["events_no_update", "events_no_delete", "campaigns_no_update"]


def tamper(campaign, *statements):
    """Change the ledger as somebody would who owns the database."""
    engine = create_engine(campaign.ledger._url)
    if engine.dialect.name == "sqlite":
        statements = [*(f"DROP TRIGGER {name}" for name in REFUSING), *statements]
    else:  # other tests use this database too
        tables = ("events", "campaigns")
        off, on = ([f"ALTER TABLE {t} {verb} TRIGGER USER" for t in tables] for verb in ("DISABLE", "ENABLE"))
        statements = [*off, *statements, *on]
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.fixture
def labelled(folder, clock):
    """A campaign with ten events."""
    with Campaign.open(folder, now=clock) as campaign:
        campaign.tell(told(campaign.ask(7, by="ann")), by="ann")
        campaign.close_due()
        assert campaign.ledger.events(campaign.id)[-1].number == 11
    return folder


OF = "campaign = (SELECT campaign FROM events WHERE kind = 'started' ORDER BY id DESC LIMIT 1)"
THIRD = f"id = (SELECT id FROM events WHERE {OF} AND number = 3)"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (f"UPDATE events SET actor = 'eve' WHERE {THIRD}", "event 3 of the ledger was changed"),
        (f'UPDATE events SET body = \'{{"id":"1003","label":"0"}}\' WHERE {OF} AND number = 5', "event 5"),
        (f"UPDATE events SET at = '2020-01-01T00:00:00+00:00' WHERE {THIRD}", "event 3"),
        (f"UPDATE events SET hash = 'x' WHERE {THIRD}", "event 3"),
        (f"UPDATE events SET number = 99 WHERE {OF} AND number = 11", "event 11"),
        (
            f"DELETE FROM events WHERE {OF} AND number = 6",
            "event 6 of the ledger was changed, or one before it is lost",
        ),
        (f"DELETE FROM events WHERE {OF} AND number > 9", "ends with event 9, and 11 were written: 2 missing"),
        (f"DELETE FROM events WHERE {OF}", "all are lost"),
        (
            f'UPDATE campaigns SET settings = \'{{"budget": 9999, "classes": ["0", "1"]}}\' WHERE id = '
            f"(SELECT campaign FROM events WHERE {THIRD})",
            "event 1 of the ledger was changed",
        ),
    ],
)
def test_what_was_tampered_with_is_refused_in_one_line(labelled, clock, statement, said):
    with Campaign.open(labelled, now=clock) as campaign:
        tamper(campaign, statement)
    with Campaign.open(labelled, now=clock) as campaign:
        for use in (campaign.status, lambda: campaign.ask(3, by="bob"), lambda: campaign.tell({"1003": "1"}, by="bob")):
            with pytest.raises(StoreError, match=said) as caught:
                use()
            assert "\n" not in str(caught.value) and "from a copy" in str(caught.value)


def test_an_event_that_was_slipped_in_is_refused_also_by_those_who_have_it_open(labelled, clock):
    with Campaign.open(labelled, now=clock) as campaign:
        campaign.status()
        tamper(
            campaign,
            "INSERT INTO events (campaign, at, kind, actor, body, number, hash) SELECT campaign, at, kind, 'eve', "
            f"body, 12, hash FROM events WHERE {OF} AND number = 5",
        )
        with pytest.raises(StoreError, match="event 12 of the ledger was changed"):
            campaign.status()
        with pytest.raises(StoreError, match="event 12 of the ledger was changed"):
            campaign.ask(3, by="bob")


def test_events_lost_with_a_cut_log_of_writes_are_noticed(labelled, clock, tmp_path):
    """SQLite takes a damaged WAL for one that ends before the damage, and says nothing."""
    if not (labelled / "ledger.sqlite").exists():
        pytest.skip("only SQLite has such a file")
    held = Campaign.open(labelled, now=clock)
    held.tell(told(held.ask(3, by="bob")), by="bob")
    copy = tmp_path / "copy"
    shutil.copytree(labelled, copy)
    held.close()
    wal = copy / "ledger.sqlite-wal"
    whole = wal.read_bytes()
    assert whole
    (copy / "ledger.sqlite-shm").unlink()
    wal.write_bytes(whole[: len(whole) // 2])
    with Campaign.open(copy, now=clock) as campaign, pytest.raises(StoreError, match="missing. Restore it") as said:
        campaign.status()
    assert f"or delete {copy / 'ledger.head'} to do without them" in str(said.value)
    (copy / "ledger.head").unlink()
    with Campaign.open(copy, now=clock) as campaign:
        assert campaign.status().spent < 10
        campaign.ask(1, by="bob")
    assert (copy / "ledger.head").exists()


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 95, b"nonsense", b"00000000000000000099 " + b"0" * 64 + b" 00000000\n"]
)
def test_a_damaged_head_is_passed_over_and_written_again(labelled, clock, content):
    head = labelled / "ledger.head"
    head.write_bytes(content)
    with Campaign.open(labelled, now=clock) as campaign:
        assert campaign.status().spent == 7
        campaign.ask(1, by="bob")
        assert Head(head).read().number == campaign.ledger.events(campaign.id)[-1].number


def test_a_head_of_another_ledger_is_noticed(labelled, clock):
    Head(labelled / "ledger.head").write(Link(0, 5, 64 * "a"))
    with (
        Campaign.open(labelled, now=clock) as campaign,
        pytest.raises(StoreError, match="event 5 of the ledger is not"),
    ):
        campaign.status()


def test_the_head_is_never_written_through_a_link(labelled, clock, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (labelled / "ledger.head").unlink()
    (labelled / "ledger.head").symlink_to(mine)
    Head(labelled / "ledger.head").write(Link(1, 1, ""))
    assert mine.read_text() == "mine"


def test_a_ledger_that_does_not_give_back_what_is_written_ends_and_does_not_loop(campaign, monkeypatch):
    """Otherwise round after round would be planned."""
    campaign.status()
    before = len(campaign.ledger.events(campaign.id))
    monkeypatch.setattr("unskew.campaigns.ledger.store.Writer.events", lambda self, after=None: [])
    with pytest.raises(StoreError, match="does not give back what is written"):
        campaign.ask(5, by="ann")
    with pytest.raises(StoreError, match="does not give back what is written"):
        campaign.plan(5)
    monkeypatch.undo()
    assert len(campaign.ledger.events(campaign.id)) == before


def test_an_earlier_version_that_is_still_open_is_refused_and_its_answers_not_lost(labelled, clock):
    """It writes events without a number: they must not be acknowledged, or nobody could read the ledger any more."""
    with Campaign.open(labelled, now=clock) as campaign:
        engine = create_engine(campaign.ledger._url)
        old = text("INSERT INTO events (campaign, at, kind, actor, body) VALUES (:c, '', 'skipped', 'ann', '{}')")
        with pytest.raises(DBAPIError, match=r"newer unskew|events_are_numbered"), engine.begin() as connection:
            connection.execute(old, {"c": campaign.id})
        engine.dispose()
        assert campaign.status().spent == 7


def test_a_head_that_is_longer_or_a_pipe_does_no_harm(labelled, clock):
    head = Head(labelled / "ledger.head")
    with open(head.path, "ab") as file:
        file.write(b"junk")
    assert head.read() is None
    with Campaign.open(labelled, now=clock) as campaign:
        campaign.ask(1, by="bob")
        assert head.read().number == campaign.ledger.events(campaign.id)[-1].number
    head.path.unlink()
    os.mkfifo(head.path)
    assert head.read() is None
    head.write(Link(1, 1, ""))


def test_events_that_do_not_fit_are_one_line_and_no_traceback(labelled, clock):
    """A ledger made up by somebody who can compute hashes."""
    from unskew.campaigns.ledger.events import Answered, Closed

    for event in (Answered("no such row", "1"), Closed(99, 0)):
        with Campaign.open(labelled, now=clock) as campaign:
            with campaign.ledger.writing(campaign.id) as write:
                write.append(event, by="eve")
            with pytest.raises(StoreError, match="does not fit those before it"):
                campaign.status()


def test_a_flip_in_the_file_itself_is_found_by_sqlite_or_by_the_chain(labelled, clock):
    ledger = labelled / "ledger.sqlite"
    if not ledger.exists():
        pytest.skip("only SQLite is a file")
    with sqlite3.connect(ledger) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    whole = ledger.read_bytes()
    at = whole.index(b'"label":"')
    ledger.write_bytes(whole[: at + 9] + bytes([whole[at + 9] ^ 1]) + whole[at + 10 :])
    with Campaign.open(labelled, now=clock) as campaign, pytest.raises(StoreError, match="was changed"):
        campaign.status()
    ledger.write_bytes(whole[:4096] + b"\xff" * 200 + whole[4296:])
    with pytest.raises(StoreError, match=r"damaged|malformed|was changed") as said, Campaign.open(labelled) as campaign:
        campaign.status()
    assert "\n" not in str(said.value)
