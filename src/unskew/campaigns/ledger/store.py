"""The ledger: an append-only table of events in SQLite or PostgreSQL. A campaign has one writer at a time."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import JSON, Column, Connection, Engine, Integer, MetaData, String, Table, create_engine, event, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from unskew.campaigns.ledger.events import Event, Recorded, decode
from unskew.campaigns.ledger.migrations import MIGRATIONS, migrate
from unskew.campaigns.ledger.settings import Settings
from unskew.errors import InputError, LedgerBusy, StoreError

PATIENCE = 30.0
"""Seconds to wait for another writer, or for a server."""

_metadata = MetaData()
_campaigns = Table(
    "campaigns", _metadata, Column("id", String, primary_key=True), Column("at", String), Column("settings", JSON)
)
_events = Table(
    "events",
    _metadata,
    Column("id", Integer, primary_key=True),
    Column("campaign", String),
    Column("at", String),
    Column("kind", String),
    Column("actor", String),
    Column("body", JSON),
)


def utc_now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


class Writer:
    """What can be done inside `Ledger.writing`. All of it is kept, or none."""

    def __init__(self, connection: Connection, campaign: str, at: str) -> None:
        self._connection, self._campaign, self._at = connection, campaign, at

    def events(self, after: int = 0) -> list[Recorded]:
        """The events after the one of that number, including those appended in this transaction."""
        return _read(self._connection, self._campaign, after)

    def append(self, *events: Event, by: str = "") -> None:
        """Add events, in this order, done by one person or, with "", by the program."""
        if events:
            rows = [
                {"campaign": self._campaign, "at": self._at, "kind": one.kind, "actor": by, "body": one.as_body()}
                for one in events
            ]
            self._connection.execute(_events.insert(), rows)


class Ledger:
    """The events of campaigns, in an SQLite file (a path or ``sqlite:///file``) or ``postgresql://user@host/database``.

    Opening it creates or migrates the tables. It is safe to use from several threads and processes at once. A
    transaction that was not committed, for whatever reason, leaves no trace. `patience` is the number of seconds to
    wait for another writer; then `LedgerBusy` is raised.

    Examples
    --------
    >>> import tempfile
    >>> from unskew.campaigns.ledger.events import Answered
    >>> ledger = Ledger(Path(tempfile.mkdtemp(), "ledger.sqlite"))
    >>> ledger.create("c", Settings(budget=10))
    >>> with ledger.writing("c") as write:
    ...     write.append(Answered("7", "yes"), by="ann")
    >>> [(recorded.id, recorded.actor, recorded.event) for recorded in ledger.events("c")]
    [(1, 'ann', Answered(id='7', label='yes'))]
    >>> ledger.close()
    """

    def __init__(
        self, url: str | Path | URL, *, now: Callable[[], datetime] = utc_now, patience: float = PATIENCE
    ) -> None:
        self.now = now
        self._url = _checked(url)
        self._shown = self._url.render_as_string(hide_password=True)
        with self._errors():
            self._engine = _engine(self._url, patience)
        try:
            with self._errors(), self._begin(writing=True) as connection:
                migrate(connection, self._at, MIGRATIONS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(self, campaign: str, settings: Settings) -> None:
        """Add a campaign, with settings that never change."""
        row = {"id": campaign, "at": self._at(), "settings": settings.as_record()}
        with self._errors(), self._begin(writing=True) as connection:
            connection.execute(_campaigns.insert(), row)

    def campaigns(self) -> list[str]:
        """The campaigns in this ledger, oldest first."""
        with self._errors(), self._begin() as connection:
            return list(connection.execute(select(_campaigns.c.id).order_by(_campaigns.c.at)).scalars())

    def settings(self, campaign: str) -> Settings:
        """The settings the campaign was created with."""
        with self._errors(), self._begin() as connection:
            found = connection.execute(select(_campaigns.c.settings).where(_campaigns.c.id == campaign)).scalar()
        if found is None:
            raise self._missing(campaign)
        return Settings.from_record(found)

    def events(self, campaign: str, after: int = 0) -> list[Recorded]:
        """The events after the one of that number, oldest first."""
        with self._errors(), self._begin() as connection:
            return _read(connection, campaign, after)

    @contextmanager
    def writing(self, campaign: str) -> Iterator[Writer]:
        """A transaction in which nobody else writes to the campaign. An exception inside it undoes it."""
        with self._errors(), self._begin(writing=True) as connection:
            # SQLite has one writer anyway. In PostgreSQL the campaign's row serves as the lock.
            row = select(_campaigns.c.id).where(_campaigns.c.id == campaign).with_for_update()
            if connection.execute(row).scalar() is None:
                raise self._missing(campaign)
            yield Writer(connection, campaign, self._at())

    @contextmanager
    def _begin(self, *, writing: bool = False) -> Iterator[Connection]:
        with self._engine.connect() as plain:
            connection = plain.execution_options(writing=writing)
            with connection.begin():
                yield connection

    def _at(self) -> str:
        return self.now().astimezone(UTC).isoformat(timespec="microseconds")

    def _missing(self, campaign: str) -> StoreError:
        return StoreError(f"the ledger {self._shown} has no campaign {campaign}. Check the store and the database.")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the database's own errors into one line that says what to do."""
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()
            kind = LedgerBusy if _busy(getattr(error, "orig", None)) else StoreError
            raise kind(f"the ledger {self._shown}: {cause[0] if cause else error}. {_remedy(cause)}") from error


def _checked(url: str | Path | URL) -> URL:
    if isinstance(url, Path):
        url = URL.create("sqlite", database=str(url.absolute()))
    try:
        found = make_url(url)
    except ArgumentError:
        found = None
    kinds = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
    driver = None if found is None else kinds.get(found.drivername, kinds.get(found.drivername.split("+")[0]))
    if found is None or driver is None:
        shown = found.render_as_string(hide_password=True) if found is not None else repr(url)
        raise InputError(f"store must be postgresql://user@host/database; got {shown}. Leave it out to keep a file.")
    return found.set(drivername=driver)


def _engine(url: URL, patience: float) -> Engine:
    def serialise(value: Any) -> str:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))

    try:
        if url.get_backend_name() == "sqlite":
            engine = create_engine(url, json_serializer=serialise, connect_args={"timeout": patience})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        else:
            engine = create_engine(
                url,
                json_serializer=serialise,
                pool_pre_ping=True,
                isolation_level="READ COMMITTED",  # after waiting for the lock one must see what its holder wrote
                connect_args={
                    "connect_timeout": int(PATIENCE),
                    "keepalives": 1,  # notice after 10 + 3 * 5 seconds that a server is gone
                    "keepalives_idle": 10,
                    "keepalives_interval": 5,
                    "keepalives_count": 3,
                    "tcp_user_timeout": int(1000 * PATIENCE),
                },
            )
            from unskew.campaigns.ledger.postgresql import Impatient  # psycopg may not be installed

            event.listen(engine, "do_connect", lambda _, record, args, options: Impatient.connect(*args, **options))
            event.listen(engine, "connect", lambda connection, _: _prepare_postgresql(connection, patience))
    except (ImportError, NoSuchModuleError) as error:
        raise InputError(f"a PostgreSQL store needs psycopg: {error}. Install unskew[postgresql].") from None
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    # When two connections switch a new file to WAL at once, SQLite refuses one of them immediately, whatever the
    # timeout, because waiting could deadlock. So we wait here.
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could only fail; one that begins as a writer waits for its turn.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN")


def _prepare_postgresql(connection: Any, patience: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {max(1, int(1000 * patience))}")
        cursor.execute(f"SET statement_timeout = {int(1000 * (patience + 5))}")
        # A client that hangs must not block all others.
        cursor.execute("SET idle_in_transaction_session_timeout = '60s'")
    connection.commit()


def _busy(cause: Any) -> bool:
    """Whether the wait for another writer ran out, as SQLite or PostgreSQL says it."""
    return (
        getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        or getattr(cause, "sqlstate", None) == "55P03"  # lock_not_available
    )


def _read(connection: Connection, campaign: str, after: int) -> list[Recorded]:
    c = _events.c
    found = select(c.id, c.at, c.kind, c.actor, c.body).where(c.campaign == campaign, c.id > after).order_by(c.id)
    return [Recorded(id, at, actor, decode(kind, body)) for id, at, kind, actor, body in connection.execute(found)]


def _remedy(cause: list[str]) -> str:
    said = " ".join(cause).lower()
    for words, remedy in (
        (("full", "disk i/o", "no space", "too large"), "Nothing was changed. Make room on the disk and try again."),
        (("locked", "lock timeout", "busy"), "Nothing was changed. Another process is writing; try again."),
        (("not a database", "malformed", "corrupt"), "Restore the file from a copy."),
        (("readonly", "read-only", "permission", "unable to open"), "Check that you may write to the folder."),
        (("append-only",), "Append a correction instead."),
        (
            ("connect", "server", "resolve", "timeout", "terminat"),
            "Check that the server runs and the address is right.",
        ),
        (("password", "authentication", "role"), "Check user and password."),
    ):
        if any(word in said for word in words):
            return remedy
    return "Nothing was changed. Check the store and try again."
