"""One contract for every store: SQLite and a real PostgreSQL."""

import json
import resource
import socket
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger import engines, migrations
from unskew.campaigns.ledger.events import Answered, Commented, Planned, PlannedRow, Skipped
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import InputError, LedgerUnsure, StoreError


@pytest.fixture
def url(store):
    """An empty store of each kind."""
    return store


@pytest.fixture
def ledger(url):
    with Ledger(url) as opened:
        yield opened


def tell(ledger, id):
    with ledger.writing("c") as write:
        write.append(Answered(id, "1"), by="ann")


def raw(url):
    return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


def bodies(url):
    """The events as the database keeps them."""
    engine = raw(url)
    with engine.connect() as connection:
        found = connection.execute(text("SELECT CAST(body AS TEXT) FROM events ORDER BY id")).scalars().all()
    engine.dispose()
    return found


def test_events_come_back_as_written_in_order(ledger):
    settings = Settings(classes=("0", "1"), drawn=0.3, kinds={"x": "number"})
    ledger.create("c", settings)
    values = {"ä\u0000\U0001f600": 0.1 + 0.2, "none": None, "deep": [{"x": 1e-300}]}
    plan = Planned(1, (PlannedRow("7", 6, "drawn", 0.1 + 0.2, values),), 40, "model")
    with ledger.writing("c") as write:
        write.append(plan)
        assert [recorded.event for recorded in write.events()] == [plan]
        write.append(Answered("7", "1"), Skipped("8"), by="bob")
    found = ledger.events("c")
    assert [recorded.kind for recorded in found] == ["planned", "answered", "skipped"]
    assert [recorded.actor for recorded in found] == ["", "bob", "bob"]
    assert found[0].event == plan and found[1].event == Answered("7", "1")
    assert ledger.events("c", after=found[1]) == found[2:]
    assert ledger.settings("c") == settings
    assert ledger.campaigns() == ["c"]


def test_an_exception_undoes_all_of_a_transaction(ledger):
    ledger.create("c", Settings())

    def fail_half_way():
        with ledger.writing("c") as write:
            write.append(Answered("1", "1"), by="ann")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert ledger.events("c") == []


def test_texts_are_kept_as_utf_8_and_half_characters_with_escapes(ledger, url):
    ledger.create("c", Settings(label="größer"))
    smile = "\U0001f600" * 2000
    with ledger.writing("c") as write:
        write.append(Commented("7", smile), Commented("8", "half \ud83d"), by="ann")
    assert [one.event.text for one in ledger.events("c")] == [smile, "half \ud83d"]
    assert ledger.settings("c").label == "größer"
    kept = bodies(url)
    assert len(kept[0].encode()) < 8100 and "half \\ud83d" in kept[1]


def test_events_of_earlier_versions_with_escapes_keep_their_hashes(ledger, url, monkeypatch):
    def as_before(value, *, escaped=False):
        return engines.Serialised(json.dumps(value, separators=(",", ":")))

    ledger.create("c", Settings())
    with monkeypatch.context() as before, ledger.writing("c") as write:
        before.setattr("unskew.campaigns.ledger.store.serialised", as_before)
        write.append(Commented("7", "schön"), by="ann")
    with ledger.writing("c") as write:
        write.append(Commented("7", "schön"), by="ann")
    assert [one.event.text for one in ledger.events("c")] == ["schön", "schön"]
    kept = bodies(url)
    assert ["\\u00f6" in one for one in kept] == [True, False]


def test_a_postgresql_database_with_another_encoding_keeps_every_character(postgresql_url):
    name = f"latin_{uuid4().hex}"
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with Ledger(postgresql_url.replace("/postgres?", f"/{name}?")) as ledger:
            ledger.create("c", Settings(label="größer \u4e2d"))
            with ledger.writing("c") as write:
                write.append(Commented("7", "schön \u4e2d \U0001f600"), by="ann")
            assert ledger.events("c")[0].event.text == "schön \u4e2d \U0001f600"
            assert ledger.settings("c").label == "größer \u4e2d"
    finally:
        with psycopg.connect(postgresql_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_numbers_that_json_lacks_are_refused_before_anything_is_written(ledger):
    ledger.create("c", Settings())
    with pytest.raises(Exception, match="JSON compliant"), ledger.writing("c") as write:
        write.append(Answered("7", "1"), Planned(1, (PlannedRow("8", 7, "drawn", float("nan"), {}),), 40))
    assert ledger.events("c") == []


def test_a_campaign_that_is_not_there(ledger):
    with pytest.raises(StoreError, match="has no campaign 'nope'"):
        ledger.settings("nope")
    with pytest.raises(StoreError, match="has no campaign 'nope'"), ledger.writing("nope"):
        pass
    assert ledger.events("nope") == []


@pytest.mark.parametrize(
    "statement", ["UPDATE events SET actor = 'x'", "DELETE FROM events", "UPDATE campaigns SET id = 'x'"]
)
def test_nothing_is_changed_or_deleted(ledger, url, statement):
    ledger.create("c", Settings())
    with ledger.writing("c") as write:
        write.append(Answered("1", "1"), by="ann")
    before = ledger.events("c")
    engine = raw(url)
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
    assert ledger.events("c") == before


def test_writers_take_turns_and_ids_commit_in_order(ledger, url):
    ledger.create("c", Settings())

    def write_some(who):
        with Ledger(url) as own:
            for _ in range(10):
                with own.writing("c") as write:
                    seen = len(write.events())
                    write.append(Answered(str(seen), "1"), by=who)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_some, [f"w{k}" for k in range(8)]))
    found = ledger.events("c")
    assert [int(e.event.id) for e in found] == list(range(80))
    assert [e.id for e in found] == sorted({e.id for e in found})


def test_many_open_at_once_migrate_once(url):
    barrier = threading.Barrier(6)

    def open_it(_):
        barrier.wait()
        with Ledger(url):
            pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_it, range(6)))
    engine = raw(url)
    with engine.connect() as connection:
        names = list(connection.execute(text("SELECT name FROM migrations ORDER BY name")).scalars())
    engine.dispose()
    assert names == [m.name for m in migrations.MIGRATIONS]


def test_new_files_may_be_opened_by_many_at_once(tmp_path):
    for k in range(40):  # one in a dozen met the lock that SQLite does not wait for
        barrier = threading.Barrier(6)

        def open_it(_, k=k, barrier=barrier):
            barrier.wait()
            with Ledger(f"sqlite:///{tmp_path}/{k}.sqlite") as ledger:
                return ledger.campaigns()

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(open_it, range(6))) == [[]] * 6


def test_a_migration_that_fails_leaves_nothing(url, monkeypatch):
    with Ledger(url) as ledger:
        ledger.create("c", Settings())
    bad = ("CREATE TABLE extra (x INTEGER)", "INSERT INTO nowhere VALUES (1)")
    worse = (*migrations.MIGRATIONS, migrations.Migration("9999 bad", bad, bad))
    monkeypatch.setattr("unskew.campaigns.ledger.store.MIGRATIONS", worse)
    with pytest.raises(StoreError, match="nowhere"):
        Ledger(url)
    engine = raw(url)
    assert not inspect(engine).has_table("extra")
    engine.dispose()
    monkeypatch.undo()
    with Ledger(url) as ledger:
        assert ledger.campaigns() == ["c"]


def test_a_ledger_of_a_later_version_is_refused(url):
    with Ledger(url):
        pass
    engine = raw(url)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO migrations (name, at) VALUES ('9999 from the future', '')"))
    engine.dispose()
    with pytest.raises(StoreError, match="9999 from the future.*newer unskew"):
        Ledger(url)


def test_two_campaigns_in_one_store_do_not_mix(ledger):
    for name in "ab":
        ledger.create(name, Settings(label=name))
        with ledger.writing(name) as write:
            write.append(Answered("1", "1"), by=name)
    assert [e.actor for e in ledger.events("b")] == ["b"]
    with pytest.raises(StoreError):
        ledger.create("a", Settings())


def test_a_server_that_is_not_there():
    with pytest.raises(StoreError, match="Check that the server runs"):
        Ledger("postgresql://nobody:secret@127.0.0.1:1/none")


def test_a_password_is_not_shown():
    with pytest.raises(StoreError) as caught:
        Ledger("postgresql://nobody:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "mysql://host/db", "ledger.sqlite", "postgresql+wrong:/x"])
def test_a_store_of_another_kind(url):
    with pytest.raises(InputError, match="store must be postgresql://"):
        Ledger(url)


def test_a_file_that_is_no_ledger(tmp_path):
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"not a database, and longer than a header of one hundred bytes" * 20)
    with pytest.raises(StoreError, match="not a database. Restore the ledger from a copy"):
        Ledger(f"sqlite:///{file}")


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="Check that you may write"):
        Ledger(f"sqlite:///{tmp_path}/no/ledger.sqlite")


FILL = """
import resource, signal, sys
from unskew.campaigns.ledger.events import Answered
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import StoreError
ledger = Ledger(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
written = 0
try:
    while written < 10_000:
        with ledger.writing("c") as write:
            write.append(Answered(str(written), "x" * 5000), Answered("last", "1"), by="ann")
        written += 1
except StoreError as error:
    print(written, error)
"""


def test_a_full_disk_is_an_error_and_not_a_broken_store(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.sqlite"
    with Ledger(url) as ledger:
        ledger.create("c", Settings())
    done = subprocess.run([sys.executable, "-c", FILL, url], capture_output=True, text=True, check=True)
    written, _, told = done.stdout.partition(" ")
    assert "Make room on the disk" in told
    with Ledger(url) as ledger:
        assert len(ledger.events("c")) == 2 * int(written) > 0
        with ledger.writing("c") as write:
            write.append(Answered("1", "1"), by="ann")
        assert len(ledger.events("c")) == 2 * int(written) + 1
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 400_000


def test_a_server_that_restarts_is_found_again(postgresql_database):
    with Ledger(postgresql_database) as ledger:
        ledger.create("c", Settings())
        with psycopg.connect(postgresql_database, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert ledger.events("c") == []


class Proxy:
    """A port that passes bytes on to a server, both ways, unless it is frozen: then it takes them and says nothing."""

    def __init__(self, url):
        with psycopg.connect(url) as connection:
            self.host, server = connection.info.host, connection.info.port
            local = self.host.startswith("/")
        self.server = f"{self.host}/.s.PGSQL.{server}" if local else (self.host, server)
        self.flowing = threading.Event()
        self.flowing.set()
        self.losing_commits = self.silent = False
        self.listening = socket.create_server(("127.0.0.1", 0))
        port = self.listening.getsockname()[1]
        self.url = make_url(url).set(host="127.0.0.1", port=port).difference_update_query(["host"])
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                here, _ = self.listening.accept()
            except OSError:  # the test is over
                return
            there = socket.socket(socket.AF_UNIX if isinstance(self.server, str) else socket.AF_INET)
            there.connect(self.server)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, here, there):
        with here, suppress(OSError):
            while data := here.recv(65536):
                self.flowing.wait()
                if self.silent:  # the server has answered, and nobody hears it
                    self.silent = False
                    there.shutdown(socket.SHUT_RDWR)
                    return
                self.silent = self.losing_commits and b"COMMIT\0" in data
                there.sendall(data)
            there.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def proxy(postgresql_database):
    passing = Proxy(postgresql_database)
    yield passing
    passing.losing_commits = False
    passing.listening.close()


@pytest.mark.parametrize("when", ["between transactions", "within one"])
def test_a_network_that_falls_silent_is_an_error_and_no_wait_without_end(postgresql_database, when, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.ledger.postgresql.SILENCE", 1)
    monkeypatch.setattr("unskew.campaigns.ledger.store.PATIENCE", 2)
    proxy, said = Proxy(postgresql_database), []

    def write(ledger):
        try:
            with ledger.writing("c") as writer:
                if when == "within one":
                    proxy.flowing.clear()
                writer.append(Answered("1", "1"), by="ann")
        except StoreError as error:
            said.append(str(error))

    with Ledger(proxy.url) as ledger:
        ledger.create("c", Settings())
        if when == "between transactions":
            proxy.flowing.clear()
        thread = threading.Thread(target=write, args=(ledger,), daemon=True)
        thread.start()
        thread.join(12)
        assert not thread.is_alive() and "Check that the server runs" in said[0]
        proxy.flowing.set()
        with ledger.writing("c") as writer:  # nothing is locked
            assert writer.events() == []
            writer.append(Answered("1", "1"), by="bob")
        assert [e.actor for e in ledger.events("c")] == ["bob"]
    proxy.listening.close()


def test_a_commit_whose_reply_is_lost_may_have_happened(proxy):
    with Ledger(proxy.url) as ledger:
        ledger.create("c", Settings())
        proxy.losing_commits = True
        with pytest.raises(LedgerUnsure, match="not known whether it did. Do the same again") as caught:
            tell(ledger, "1")
        assert "Nothing was changed" not in str(caught.value)
        proxy.losing_commits = False
        assert [recorded.event.id for recorded in ledger.events("c")] == ["1"], "it was written"


def test_a_connection_that_breaks_before_the_commit_changed_nothing(postgresql_database):
    with Ledger(postgresql_database) as ledger:
        ledger.create("c", Settings())

        def cut_off():
            with ledger.writing("c") as write:
                with psycopg.connect(postgresql_database, autocommit=True) as other:
                    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    other.execute(f"{others} AND datname = current_database()")
                write.append(Answered("1", "1"), by="ann")

        with pytest.raises(StoreError) as caught:
            cut_off()
        assert not isinstance(caught.value, LedgerUnsure)
        assert ledger.events("c") == []


def test_a_commit_that_the_database_refuses_is_known_not_to_have_happened(ledger, monkeypatch):
    ledger.create("c", Settings())

    def refuse(*_):
        raise ledger._engine.dialect.dbapi.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(ledger._engine.dialect, "do_commit", refuse)
        with pytest.raises(StoreError, match="Nothing was changed") as caught:
            tell(ledger, "1")
    assert not isinstance(caught.value, LedgerUnsure)
    assert ledger.events("c") == []


def test_a_server_that_is_slow_is_waited_for_and_ends_what_takes_too_long(postgresql_database):
    with Ledger(postgresql_database, patience=0) as ledger, ledger._engine.connect() as connection:
        assert connection.execute(text("SELECT 1 FROM pg_sleep(1)")).scalar() == 1
        with pytest.raises(DBAPIError, match="statement timeout"):
            connection.execute(text("SELECT pg_sleep(20)"))


def test_paths_with_odd_letters(tmp_path):
    folder = Path(tmp_path, "a #1? ü%20")
    folder.mkdir()
    with Ledger(Folder(folder).ledger) as ledger:
        ledger.create("c", Settings())
    assert (folder / "ledger.sqlite").exists()
