"""Folders that somebody else made or touched: links, pipes, foreign stores, wrong clocks, folders one may only read."""

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import stat
from datetime import UTC, datetime, timedelta

import pytest

from campaign_folder import Clock, forge, make, told
from commands import START
from paths import ROOT
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.folder import Folder, digest
from unskew.campaigns.ledger.engines import address, holds_password, place
from unskew.campaigns.ledger.store import Ledger
from unskew.campaigns.report.report import write_report
from unskew.cli import main
from unskew.errors import InputError, StoreError

WITHIN = 10
"""Seconds after which a test that hangs is ended."""


@pytest.fixture
def bank(tables, tmp_path):
    """A campaign in a file, with four labels and two rows handed out."""
    with make(tables, tmp_path / "bank") as campaign:
        campaign.tell(told(campaign.ask(4, by="ann")), by="ann")
        campaign.close_due()
        campaign.ask(2, by="ann")
    return tmp_path / "bank"


@pytest.fixture(autouse=True)
def no_hang():
    signal.alarm(WITHIN * 6)
    yield
    signal.alarm(0)


def refused(folder, said, **options):
    """That opening or using it is refused in one line."""

    def use():
        with Campaign.open(folder, **options) as campaign:
            campaign.status()
            campaign.ask(5, by="bob")

    with pytest.raises((InputError, StoreError), match=said) as caught:
        use()
    assert "\n" not in str(caught.value)


# What a foreign folder may hold


def test_no_file_elsewhere_is_written_through_a_link(bank, tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (bank / "cache").mkdir()
    (bank / "cache" / "planning.lock").symlink_to(mine)  # where earlier versions had their lock
    marker = bank / "campaign.json"
    marker.rename(tmp_path / "campaign.json")
    marker.symlink_to(tmp_path / "campaign.json")
    before = marker.read_text()
    with Campaign.open(bank) as campaign:
        assert len(campaign.ask(8, by="bob")) == 8
    assert mine.read_text() == "mine" and marker.read_text() == before
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / ".unfinished").symlink_to(mine)
    with pytest.raises(StoreError), Folder(folder).making():
        pass
    assert mine.read_text() == "mine"


def test_a_database_elsewhere_is_neither_opened_nor_changed(bank, tmp_path):
    theirs = tmp_path / "theirs.sqlite"
    with sqlite3.connect(theirs) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = theirs.read_bytes()
    said = json.loads((bank / "campaign.json").read_text())
    (bank / "campaign.json").write_text(json.dumps({**said, "store": f"sqlite:///{theirs}"}))
    refused(bank, "names a store that cannot be used: store must be postgresql")
    (bank / "campaign.json").write_text(json.dumps({**said, "store": f"sqlite:///{tmp_path}/new.sqlite"}))
    refused(bank, "names a store that cannot be used")
    (bank / "campaign.json").write_text(json.dumps(said))
    (bank / "ledger.sqlite").unlink()
    (bank / "ledger.sqlite").symlink_to(theirs)
    refused(bank, "ledger.sqlite is a link")
    assert theirs.read_bytes() == before and not (tmp_path / "new.sqlite").exists()


def test_tables_are_made_by_start_alone(bank, postgresql_database, monkeypatch):
    monkeypatch.setenv("UNSKEW_ADDRESSES", place(postgresql_database))
    said = json.loads((bank / "campaign.json").read_text())
    (bank / "campaign.json").write_text(json.dumps({**said, "store": postgresql_database}))
    refused(bank, "holds no ledger")
    (bank / "campaign.json").write_text(json.dumps(said))
    (bank / "ledger.sqlite").write_bytes(b"")
    refused(bank, "holds no ledger")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", '"campaign store"', '{"campaign": "c"}', '{"campaign": 7, "store": null}', "[" * 9_000,
        '{"campaign": "\\ud800", "store": null}', '{"campaign": "c", "store": "\\ud800"}',
        '{"campaign": "c", "store": 7}',
        '{"campaign": "c", "store": null}' + " " * 20_000,
    ],
)  # fmt: skip
def test_a_damaged_marker_is_one_line(bank, text):
    (bank / "campaign.json").write_text(text)
    refused(bank, "damaged|has no campaign 'c'")


@pytest.mark.parametrize("name", ["campaign.json", "log.parquet", "pool.parquet", "ledger.sqlite", "ledger.head"])
def test_a_pipe_or_a_device_is_not_read(bank, name):
    (bank / name).unlink()
    os.mkfifo(bank / name)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)  # otherwise log and features would not be needed
    refused(bank, f"{name} is not a plain file")
    if not name.startswith("ledger"):
        (bank / name).unlink()
        (bank / name).symlink_to("/dev/zero")
        refused(bank, f"{name} is not a plain file")


def test_no_module_that_the_ledger_names_is_imported_without_consent(bank, monkeypatch, tmp_path):
    (bank / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nX = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(bank))
    forge(bank, method="evil:X")
    refused(bank, "learns with 'evil:X', code that is not part of unskew")
    assert not (tmp_path / "ran").exists()
    monkeypatch.setenv("UNSKEW_METHODS", "other:Y, evil:X")
    refused(bank, "must be a subclass of StreamMethod or PoolMethod")
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["aborts.parquet", "panics.parquet"])
def test_a_table_that_ends_the_program_is_refused(bank, name):
    """Its digest is right: whoever made the folder chose it."""
    theirs = ROOT / "tests" / "fixtures" / name
    shutil.copy(theirs, bank / "log.parquet")
    forge(bank, log_sha256=digest(theirs))
    refused(bank, "log.parquet is incomplete or not a Parquet file")


def test_a_view_without_end_is_not_read(bank):
    connection = sqlite3.connect(bank / "ledger.sqlite", isolation_level=None)
    connection.execute("ALTER TABLE events RENAME TO hidden")
    connection.execute(
        "CREATE VIEW events AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, '' AS "
        "campaign, '' AS at, '' AS kind, '' AS actor, '{}' AS body, x AS number, '' AS hash FROM n"
    )
    connection.close()
    refused(bank, "is damaged: 'events' is not part of it")


def test_a_process_that_holds_the_planning_lock_holds_up_nobody_for_ever(bank, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.folder.PATIENCE", 0.2)
    with open(bank / "campaign.json") as marker, Campaign.open(bank) as campaign:
        fcntl.flock(marker, fcntl.LOCK_EX)
        assert len(campaign.ask(8, by="bob")) == 8


# Who may read and write it


def test_the_last_answers_of_a_crash_cannot_be_read_without_writing(bank, monkeypatch, tmp_path):
    with Campaign.open(bank) as campaign:
        campaign.ask(8, by="bob")
        shutil.copytree(bank, tmp_path / "copy")
    (tmp_path / "copy" / "ledger.sqlite-shm").unlink()
    monkeypatch.setattr(Folder, "read_only", True)
    refused(tmp_path / "copy", "holds the last answers, and can be read only where you may write")


def test_every_file_follows_the_umask(tables, tmp_path):
    before = os.umask(0o027)
    try:
        with make(tables, tmp_path / "bank") as campaign:
            campaign.ask(2, by="ann")
            files = [path for path in (tmp_path / "bank").iterdir() if path.is_file()]
            assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o640}
            assert {"campaign.json", "ledger.sqlite", "ledger.head", "log.parquet"} <= {path.name for path in files}
    finally:
        os.umask(before)


def test_a_password_alone_makes_the_marker_private(tmp_path, postgresql_database, capsys):
    secret = address(postgresql_database).set(password="secret").set(drivername="postgresql")
    store = secret.render_as_string(hide_password=False)
    args = ["start", str(tmp_path / "bank"), "--log", str(LOG), "--pool", str(POOL), *START, "--store", store]
    assert main(args) == 0
    said = capsys.readouterr()
    assert "holds the store's password, so only you can read it" in said.err and "secret" not in said.out + said.err
    assert stat.S_IMODE((tmp_path / "bank" / "campaign.json").stat().st_mode) == 0o600
    assert "secret" in (tmp_path / "bank" / "campaign.json").read_text()


def test_a_folder_that_may_only_be_read(bank, tmp_path, monkeypatch):
    """Status, error, predictions and a report elsewhere; nothing in it changes. Asking and telling are refused."""
    with Campaign.open(bank) as campaign:
        expected, error = campaign.status(), campaign.error()
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in bank.iterdir()}
    monkeypatch.setattr(Folder, "read_only", True)
    with Campaign.open(bank) as campaign:
        assert campaign.status() == expected and campaign.error() == error
        assert campaign.close_due() == 0
        assert campaign.predict(campaign.pool_frame).height == 400
        write_report(campaign, tmp_path / "report.html")
        for use in (lambda: campaign.ask(2, by="bob"), lambda: campaign.tell({"1000": "1"}, by="bob")):
            with pytest.raises(StoreError, match="you may only read the ledger"):
                use()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in bank.iterdir()} == before


# After a fork


def test_a_campaign_may_be_used_after_a_fork(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        campaign.ask(2, by="ann")
        child = os.fork()
        if not child:
            status = 1
            try:
                rows = campaign.hand_out(2, by="ann")
                campaign.tell(told(rows), by="ann")
                status = 0
            finally:
                os._exit(status)
        for name in ("bob", "eve", "ida"):
            campaign.invite(name)
        assert os.waitpid(child, 0)[1] == 0
        assert campaign.status().spent == 2
        assert sorted(campaign.state.people) == ["bob", "eve", "ida"]


# Clocks


@pytest.mark.parametrize("time", [datetime(9999, 12, 31, 23, 59, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)])
def test_a_clock_at_the_end_of_time_is_one_line(bank, time):
    refused(bank, "clock says", now=lambda: time)


def test_a_clock_a_year_ahead_does_not_hold_rows_for_a_year(bank):
    ahead, right = Clock(), Clock()
    right.time = datetime.now(UTC)
    ahead.time = right.time + timedelta(days=365)
    with Campaign.open(bank, now=ahead) as campaign:
        taken = {row.id for row in campaign.ask(6, by="eve")}
    with Campaign.open(bank, now=right) as campaign:
        assert taken <= {row.id for row in campaign.ask(8, by="bob")}
    fast, slow = Clock(), Clock()
    slow.time = right.time + timedelta(hours=1)
    fast.time = slow.time + timedelta(minutes=5)  # clocks that differ a little still hold rows
    with Campaign.open(bank, now=fast) as campaign:
        taken = {row.id for row in campaign.ask(3, by="eve")}
    with Campaign.open(bank, now=slow) as campaign:
        assert not taken & {row.id for row in campaign.ask(3, by="bob")}


# Addresses of stores


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@127.0.0.1:1/none", "postgresql://ann@127.0.0.1:1/none?password=secret",
        "postgresql://ann:secret@127.0.0.1:port/none", "postgresql://ann:secret@127.0.0.1:99999/none",
        "postgresql//ann:secret@db/bank", "postgresql:/ann:se/secret@db/bank", "postgresq://ann:secret@db/bank",
        "mysql://ann@db/bank?password=secret", "ann:secret@db", "postgresql://ann:secret@[::1/none",
        "postgresql://ann:pa@secret@127.0.0.1:1/none", "postgresql://127.0.0.1:1/bank?sslpassword=secret",
        "postgresql://127.0.0.1:1/bank?passwd=secret", "postgresql://127.0.0.1:1/bank?Password=secret",
        "postgresql://127.0.0.1:1/bank;password=secret", "host=db user=ann password=secret", "postgresql://ann:secret/db",
        "postgresql://ann:secret",
    ],
)  # fmt: skip
def test_a_password_is_never_shown(url):
    with pytest.raises((InputError, StoreError)) as caught:
        Ledger(url)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_which_addresses_hold_a_password():
    assert holds_password("postgresql://ann:secret@db/bank") and holds_password("postgresql://db/bank?password=secret")
    assert holds_password("postgresql://db/bank?sslpassword=secret") and not holds_password("postgresql://ann@db/bank")
