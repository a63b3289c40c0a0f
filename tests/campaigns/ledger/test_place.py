"""A ledger that is deleted or replaced while it is open: nothing is acknowledged that is not where it belongs."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from unskew.campaigns.ledger import place
from unskew.campaigns.ledger.events import Answered
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import LedgerReplaced


@pytest.fixture
def path(tmp_path):
    """A ledger with one answer, in a folder of its own."""
    folder = tmp_path / "loans"
    folder.mkdir()
    with Ledger(folder / "ledger.sqlite") as ledger:
        ledger.create("c", Settings())
    with Ledger(folder / "ledger.sqlite") as ledger:
        tell(ledger, "1")
    return folder / "ledger.sqlite"


def tell(ledger, id):
    with ledger.writing("c") as write:
        write.append(Answered(id, "yes"), by="ann")


def told(path):
    """The ids in a ledger, read in plain SQL."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [id for (id,) in connection.execute("SELECT json_extract(body, '$.id') FROM events ORDER BY id")]


def copied(path, to):
    """A whole copy, as a careful person makes one."""
    with closing(sqlite3.connect(path)) as here, closing(sqlite3.connect(to)) as there:
        here.backup(there)
    return to


def delete(path, older):
    path.unlink()


def delete_all(path, older):
    for end in place.ENDS:
        path.with_name(path.name + end).unlink()


def rename_older_over_it(path, older):
    older.rename(path)


def rename_another_over_it(path, older):
    with Ledger(path.with_name("other.sqlite")) as other:
        other.create("other", Settings())
    path.with_name("other.sqlite").rename(path)


def rename_no_database_over_it(path, older):
    path.with_name("half").write_bytes(b"half of a file that a program is still copying" * 100)
    path.with_name("half").rename(path)


def delete_the_latest_writes(path, older):
    path.with_name("ledger.sqlite-wal").unlink()


def replace_the_latest_writes(path, older):
    shutil.copy(path.with_name("ledger.sqlite-wal"), older)
    older.rename(path.with_name("ledger.sqlite-wal"))


def delete_the_index(path, older):
    path.with_name("ledger.sqlite-shm").unlink()


def delete_the_folder(path, older):
    shutil.rmtree(path.parent)


def rename_the_folder(path, older):
    path.parent.rename(path.parent.with_name("elsewhere"))


ATTACKS = (
    delete, delete_all, rename_older_over_it, rename_another_over_it, rename_no_database_over_it,
    delete_the_latest_writes, replace_the_latest_writes, delete_the_index, delete_the_folder, rename_the_folder,
)  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_is_taken_and_all_that_was_acknowledged_is_saved(path, tmp_path, monkeypatch, attack):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    older = copied(path, tmp_path / "older.sqlite")
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        attack(path, older)
        uses = (partial(tell, ledger, "3"), partial(ledger.events, "c"), ledger.check_place)
        for use in (*uses, *uses):
            with pytest.raises(LedgerReplaced) as caught:
                use()
            said = str(caught.value)
            assert said.startswith(f"the ledger {path} ") and "\n" not in said and "Nothing more is taken." in said
        saved = caught.value.saved
        assert str(saved) in said and told(saved) == ["1", "2"]
    found = sorted([*path.parent.glob("*rescued*"), *(tmp_path / "state").rglob("*rescued*.sqlite")])
    assert found == [saved], "one file, once"
    assert not path.exists() or not path.stat().st_size or attack not in (delete, delete_all), "no empty one instead"


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_saved_can_be_put_back_and_the_same_process_goes_on(path, tmp_path, monkeypatch, attack):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    older = copied(path, tmp_path / "older.sqlite")
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        attack(path, older)
        with pytest.raises(LedgerReplaced) as caught:
            tell(ledger, "3")
        for end in place.ENDS[1:]:
            path.with_name(path.name + end).unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        shutil.move(caught.value.saved, path)
        tell(ledger, "3")
        assert [recorded.event.id for recorded in ledger.events("c")] == ["1", "2", "3"]
        ledger.check_place()
        with Ledger(path, create=False) as other:
            tell(other, "4")
        assert len(ledger.events("c")) == 4
    assert not path.with_name("ledger.sqlite-wal").exists(), "the last that closes settles the ledger"
    assert told(path) == ["1", "2", "3", "4"]


def test_a_ledger_that_was_only_looked_at_is_not_saved(path):
    """Such as another campaign's, which is there while somebody comes to this one."""
    with Ledger(path, create=False) as ledger:
        ledger.campaigns()
        path.unlink()
        with pytest.raises(LedgerReplaced, match="Nothing more is taken. Restore it from a copy."):
            ledger.check_place()
    assert not list(path.parent.glob("*rescued*"))


def test_a_file_that_comes_back_is_used_again(path):
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        path.rename(path.with_name("away"))
        with pytest.raises(LedgerReplaced, match="was deleted or moved"):
            tell(ledger, "3")
        path.with_name("away").rename(path)
        tell(ledger, "3")
    assert told(path) == ["1", "2", "3"]


def test_replaced_between_the_beginning_and_the_commit(path, tmp_path):
    older = copied(path, tmp_path / "older.sqlite")
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")

        def replaced_meanwhile():
            with ledger.writing("c") as write:
                write.append(Answered("3", "yes"), by="ann")
                older.rename(path)

        with pytest.raises(LedgerReplaced, match="was replaced by another file"):
            replaced_meanwhile()
        (saved,) = path.parent.glob("*rescued*")
        assert told(saved) in (["1", "2"], ["1", "2", "3"]), "what is not acknowledged may be there or not"


def test_the_copy_of_a_whole_ledger_may_take_its_place(path, tmp_path):
    """Such as when a program that keeps folders in step writes the same file anew."""
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        same = copied(path, tmp_path / "same.sqlite")
        for end in place.ENDS[1:]:
            path.with_name(path.name + end).unlink()
        same.rename(path)
        tell(ledger, "3")
        assert not list(path.parent.glob("*rescued*"))
    assert told(path) == ["1", "2", "3"]


def test_an_older_ledger_that_is_copied_into_the_file_is_noticed(path, tmp_path):
    older = copied(path, tmp_path / "older.sqlite")
    with Ledger(path, create=False) as ledger:
        for id in "234":
            tell(ledger, id)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        last = ledger.events("c")[-1]
        path.write_bytes(older.read_bytes())
        with pytest.raises(LedgerReplaced, match="another file was copied into it"), ledger.writing("c") as write:
            write.events(last)
        with pytest.raises(LedgerReplaced, match="event 4, which was read before"):
            ledger.events("c", after=last)


def test_an_older_ledger_that_is_copied_below_the_latest_writes_loses_nothing(path, tmp_path):
    """All that was written since is still in the file beside it."""
    older = copied(path, tmp_path / "older.sqlite")
    with Ledger(path, create=False) as ledger:
        for id in "234":
            tell(ledger, id)
        last = ledger.events("c")[-1]
        path.write_bytes(older.read_bytes())
        assert ledger.events("c", after=last) == []
        tell(ledger, "5")
    assert told(path) == ["1", "2", "3", "4", "5"]


def test_what_somebody_else_wrote_beside_a_lost_index_is_not_written_over(path, tmp_path):
    """Closing the last connection moves the latest writes into the ledger. They are no longer the latest."""
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tell(ledger, "3")
        for end in place.ENDS[1:]:
            path.with_name(path.name + end).unlink()
        tell_elsewhere = "import sys; sys.path[:0] = sys.argv[2:]; from test_place import *\n"
        tell_elsewhere += "with Ledger(Path(sys.argv[1]), create=False) as ledger: tell(ledger, 'theirs')"
        here = str(Path(__file__).parent)
        subprocess.run([sys.executable, "-c", tell_elsewhere, str(path), here], check=True)
        with pytest.raises(LedgerReplaced) as caught:
            tell(ledger, "4")
    assert told(caught.value.saved) == ["1", "2", "3"]
    assert told(path) == ["1", "2", "theirs"]


def test_a_folder_without_room_or_rights_does_not_stop_the_rescue(path, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    save = place.Place._save

    def refuse(self, folder, keeper):
        if folder == path.parent:
            raise OSError("No space left on device")
        return save(self, folder, keeper)

    monkeypatch.setattr(place.Place, "_save", refuse)
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        path.unlink()
        with pytest.raises(LedgerReplaced) as caught:
            ledger.check_place()
    assert caught.value.saved.parent == place.rescue_folder() and told(caught.value.saved) == ["1", "2"]


def test_where_nothing_can_be_saved_the_reason_is_said(path, monkeypatch):
    monkeypatch.setattr(place.Place, "_save", lambda *_: (_ for _ in ()).throw(OSError("No space left on device")))
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        path.rename(path.with_name("away"))
        with pytest.raises(LedgerReplaced, match=r"It cannot be saved \(No space left on device\)"):
            ledger.check_place()


def test_a_saved_ledger_replaces_no_file(path, tmp_path):
    saved = []
    with Ledger(path, create=False) as ledger:
        for k in range(3):
            tell(ledger, f"again {k}")
            path.rename(path.with_name("away"))
            with pytest.raises(LedgerReplaced) as caught:
                ledger.check_place()
            saved.append(caught.value.saved)
            path.with_name("away").rename(path)
    assert len(set(saved)) == 3 and [len(told(one)) for one in saved] == [2, 3, 4]
    assert all(os.stat(one).st_mode & 0o777 == os.stat(path).st_mode & 0o777 for one in saved)


def cut_off(latest):
    subprocess.run(["truncate", "-s", "0", latest], check=True)


def cut_in_two(latest):
    subprocess.run(["truncate", "-s", "-1", latest], check=True)


def zeroed(latest):
    subprocess.run(["dd", "if=/dev/zero", f"of={latest}", "bs=1024", "count=2", "conv=notrunc"], check=True)


@pytest.mark.parametrize("attack", [cut_off, cut_in_two, zeroed])
def test_nothing_is_taken_after_the_latest_writes_were_destroyed(path, attack):
    settled = path.read_bytes()
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        attack(path.with_name("ledger.sqlite-wal"))
        uses = (partial(tell, ledger, "3"), partial(ledger.events, "c"), ledger.check_place)
        for use in (*uses, *uses):
            with pytest.raises(LedgerReplaced, match="ledger.sqlite-wal, which was cut off or written over") as caught:
                use()
        assert caught.value.saved is None or told(caught.value.saved) == ["1", "2"], "all, or none"
    assert path.read_bytes() == settled, "the ledger itself is not written to"


def test_a_copy_made_at_work_that_is_copied_over_all_files_is_noticed_until_they_are_back(path, tmp_path):
    """The older ledger is a whole one: only who has read or written more can tell."""
    folder, copy, whole = path.parent, tmp_path / "copy", tmp_path / "whole"
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        subprocess.run(["cp", "-r", folder, copy], check=True)
        tell(ledger, "3")
        subprocess.run(["cp", "-r", folder, whole], check=True)
        subprocess.run(["cp", "-r", f"{copy}/.", folder], check=True)
        for use in (partial(tell, ledger, "4"), partial(ledger.events, "c"), partial(ledger.last, "c")) * 2:
            with pytest.raises(LedgerReplaced, match="Nothing more is taken"):
                use()
        subprocess.run(["cp", "-r", f"{whole}/.", folder], check=True)
        tell(ledger, "5")
    assert told(path) == ["1", "2", "3", "5"]


def test_a_ledger_without_an_event_that_was_seen_is_refused_for_good(path):
    with Ledger(path, create=False) as ledger:
        tell(ledger, "2")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("DROP TRIGGER events_no_delete")
            other.execute("DELETE FROM events WHERE id = (SELECT max(id) FROM events)")
        for use in (partial(ledger.events, "c"), partial(tell, ledger, "3"), partial(ledger.last, "c")) * 2:
            with pytest.raises(LedgerReplaced, match="event 2, which was read before, is no longer in the ledger"):
                use()


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_the_latest_writes_may_be_settled_by_another_program(path, mode):
    with Ledger(path, create=False) as ledger, Ledger(path, create=False) as other:
        for k in range(4):
            tell(ledger, f"mine {k}")
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0] == 0
            tell(other, f"theirs {k}")
            assert len(ledger.events("c")) == 2 * k + 3
    assert len(told(path)) == 9
