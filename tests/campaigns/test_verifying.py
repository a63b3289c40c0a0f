"""`Campaign.verify`: damage that opening from a snapshot does not see, named in one line."""

import json
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from campaign_folder import told
from unskew.campaigns import Campaign
from unskew.campaigns.ledger import live, snapshot, store
from unskew.campaigns.ledger.snapshot import FILE, MARK, SnapshotFile, Standing
from unskew.campaigns.user_cache import user_cache
from unskew.campaigns.verifying import AGAIN, DAY, Watch
from unskew.cli import main
from unskew.errors import LedgerDamaged, StoreError

CHANGE = "UPDATE events SET actor = '{}' WHERE id = (SELECT id FROM events WHERE campaign = '{}' AND number = 3)"


@pytest.fixture
def kept(folder: Path, clock: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a campaign of which there is a snapshot, in a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(live, "SNAPSHOT_AFTER", 10)
    monkeypatch.setattr(store, "PART", 4)
    with Campaign.open(folder, now=clock) as campaign:
        campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
        campaign.close_due()
    assert files()
    return folder


def files() -> list[Path]:
    return list(user_cache().rglob(FILE))


def tamper(folder: Path, actor: str = "eve") -> None:
    """Change an old event, as a disk or somebody with the database could, or repair it."""
    with Campaign.open(folder) as campaign:
        engine, id = create_engine(campaign.ledger._url), campaign.id
    if engine.dialect.name == "sqlite":
        off, on = ["DROP TRIGGER IF EXISTS events_no_update"], []
    else:
        off, on = (["ALTER TABLE events DISABLE TRIGGER USER"], ["ALTER TABLE events ENABLE TRIGGER USER"])
    with engine.begin() as connection:
        for statement in (*off, CHANGE.format(actor, id), *on):
            connection.execute(text(statement))
    engine.dispose()


def test_all_that_is_whole_is_named(kept: Path, clock: Any) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        seen: list[tuple[int, int]] = []
        verified = campaign.verify(lambda done, total: seen.append((done, total)))
        last = campaign.ledger.last(campaign.id).number
    assert (verified.events, verified.snapshot) == (last, Standing.AGREES)
    assert verified.snapshot_events is not None and 0 < verified.snapshot_events <= last
    assert verified.tables == ("log.parquet", "pool.parquet")
    assert seen[-1] == (last, last) and [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_change_that_commands_do_not_see_is_named_and_then_they_refuse_it(kept: Path, clock: Any) -> None:
    tamper(kept)
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 12, "the snapshot has it already"
        with pytest.raises(LedgerDamaged, match=r"event 3 of the ledger was changed.*from a copy"):
            campaign.verify()
    assert not files()
    with Campaign.open(kept, now=clock) as campaign, pytest.raises(LedgerDamaged, match="event 3"):
        campaign.status()


def test_a_snapshot_that_differs_from_the_events_is_named_and_removed(kept: Path, clock: Any) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        state, last = campaign.state, campaign._live.last
        assert last is not None
        state.spent = 99
        SnapshotFile(campaign.ledger.address, campaign.id).write(
            campaign._live._root, campaign.ledger.file, last, state
        )
    with Campaign.open(kept, now=clock) as campaign, pytest.raises(StoreError, match="snapshot .* did not agree"):
        campaign.verify()
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 12 and campaign.verify().snapshot == Standing.NONE
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.verify().snapshot == Standing.AGREES


@pytest.mark.parametrize("name", ["log.parquet", "pool.parquet"])
def test_a_table_that_has_changed_is_named(kept: Path, clock: Any, name: str) -> None:
    (kept / name).write_bytes((kept / name).read_bytes() + b" ")
    with Campaign.open(kept, now=clock) as campaign, pytest.raises(StoreError, match=f"{name} is not the file"):
        campaign.verify()


def test_events_lost_at_the_end_are_named(kept: Path, clock: Any) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        last = campaign.ledger.last(campaign.id)
        campaign._live._head.write(type(last)(last.id + 2, last.number + 2, "0" * 64))
        with pytest.raises(LedgerDamaged, match="2 missing"):
            campaign.verify()


def test_the_command_prints_a_line_for_each_or_one_that_names_the_damage(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(kept)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["ledger", "events", "snapshot", "tables"]
    assert main(["verify", str(kept), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["snapshot"] == "agrees"
    tamper(kept)
    assert main(["verify", str(kept)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "event 3 of the ledger was changed" in err


def test_a_snapshot_that_is_ahead_of_the_ledger_is_a_finding(
    kept: Path, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        engine, id = create_engine(campaign.ledger._url), campaign.id
        last = campaign.ledger.last(id).number
    postgresql = engine.dialect.name == "postgresql"
    off = "ALTER TABLE events DISABLE TRIGGER USER" if postgresql else "DROP TRIGGER events_no_delete"
    with engine.begin() as connection:
        connection.execute(text(off))
        connection.execute(text(f"DELETE FROM events WHERE campaign = '{id}' AND number > 9"))
        if postgresql:
            connection.execute(text("ALTER TABLE events ENABLE TRIGGER USER"))
    engine.dispose()
    (kept / "ledger.head").unlink()
    for _ in range(2):  # it is not replaced by a shorter one
        assert main(["verify", str(kept)]) == 1
        out = capsys.readouterr().out
        assert "events: 9 events, each as it was written" in out
        assert f"snapshot: there is one of {last} events, and this ledger does not have" in out
    assert main(["verify", str(kept), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["events"], record["snapshot"]) == (9, "ahead of the ledger")
    assert record["snapshot_events"] == last


@pytest.mark.parametrize("standing", ["none", "damaged", "of another version", "of another ledger"])
def test_why_a_snapshot_was_not_compared_is_named_and_another_is_kept(
    kept: Path, clock: Any, standing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = files()
    with Campaign.open(kept, now=clock) as campaign:
        campaign.status()
        if standing == "none":
            file.unlink()
        elif standing == "damaged":
            file.write_bytes(file.read_bytes()[:99])
        else:
            last = campaign._live.last
            assert last is not None
            with pytest.MonkeyPatch.context() as earlier:
                root = campaign._live._root
                if standing == "of another version":
                    earlier.setattr(snapshot, "FORMAT", "0.0.1 1")
                else:
                    root = "0" * 64
                kept_file = SnapshotFile(campaign.ledger.address, campaign.id)
                assert kept_file.write(root, campaign.ledger.file, last, campaign.state)
    for expected in (standing, "agrees"):
        assert main(["verify", str(kept), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["snapshot"] == expected


# Beside other work


def looks(watch: Watch) -> int:
    """Look until it rests or damage is seen; the number of parts."""
    for parts in range(1, 10_000):
        watch.look()
        if watch._going is None or watch.damage:
            return parts
        sleep(0.001)  # SQLite looks at the file meanwhile
    raise AssertionError("it never ends")


def test_the_chain_is_looked_at_in_parts_now_and_once_a_day(kept: Path, clock: Any) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        time, _ = [0.0], campaign.status()
        watch = Watch(campaign.folder, campaign.ledger, campaign._live, lambda: time[0])
        assert looks(watch) > campaign.ledger.last(campaign.id).number // 4
        tamper(kept)
        time[0] = DAY - 1
        assert watch.look() is None and watch._going is None
        time[0] = DAY
        looks(watch)
        assert "event 3 of the ledger was changed" in str(watch.damage)
        assert not files() and watch.look() == watch.damage
        for k in range(40):
            campaign.comment(next(iter(campaign.state.rows)), "x", by=f"person {k}")
    assert not files(), "nobody keeps a snapshot of a damaged ledger"


@pytest.mark.parametrize("by", ["watch", "verify", "reading"])
def test_what_was_repaired_is_taken_for_whole_again(kept: Path, clock: Any, by: str) -> None:
    tamper(kept)
    with Campaign.open(kept, now=clock) as campaign:
        time, _ = [0.0], campaign.status()
        watch = Watch(campaign.folder, campaign.ledger, campaign._live, lambda: time[0])
        looks(watch)
        assert watch.damage and watch.look() == watch.damage
        time[0] = AGAIN
        parts = [watch.look() for _ in range(200) if sleep(0.001) is None]
        assert all(parts), "it is still damaged"
        tamper(kept, "ann")
        if by != "watch":
            with Campaign.open(kept, now=clock) as other:
                other.verify() if by == "verify" else other.status()
        time[0] = 2 * AGAIN
        while watch.damage:
            watch.look()
            sleep(0.001)
        campaign.refresh()
        campaign.keep()
        assert files() and not list(user_cache().rglob(MARK))
        time[0] += DAY - 1
        assert watch.look() is None and watch._going is None


def test_a_server_that_is_away_is_no_damage(kept: Path, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        time = [0.0]
        watch = Watch(campaign.folder, campaign.ledger, campaign._live, lambda: time[0])
        with monkeypatch.context() as away:

            def gone(*_: Any) -> None:
                raise StoreError("the ledger cannot be reached")

            away.setattr(store.Ledger, "check_file", gone)
            looks(watch)
        assert watch.damage is None and files()
        time[0] = AGAIN
        assert looks(watch) > 2 and watch.damage is None
