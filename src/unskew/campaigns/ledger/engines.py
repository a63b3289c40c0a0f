"""Connections to the two databases: SQLite, which is a file, and PostgreSQL, which is a server."""

import json
import re
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from unskew.campaigns.ledger.place import Place
from unskew.errors import InputError, StoreError

UNHEARD = 30
"""Seconds within which a server must say that it got what was sent."""

KINDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


def address(url: str | Path | URL) -> URL:
    """The address of a ledger: a file, or ``postgresql://user@host/database``. A password is moved to its own place."""
    if isinstance(url, Path):
        return URL.create("sqlite", database=str(url.absolute()))
    try:
        found = make_url(url)
        driver = KINDS.get(found.drivername, KINDS.get(found.drivername.split("+")[0]))
    except (ArgumentError, ValueError):  # not an address at all, or its port is not a number
        driver = None
    if driver is None:
        raise _foreign(url)
    if driver != "sqlite" and not re.fullmatch(r"[\w.:-]*", f"{found.host or ''}{found.database or ''}"):
        raise InputError(
            "the store's host and database must be of letters, digits, dots, hyphens and underscores. "
            "Write @ and / in a password as %40 and %2F, or put it into ~/.pgpass."
        )
    if found.port is not None and not 0 < found.port < 65536:
        raise InputError(f"the store's port must be 1 to 65535; got {found.port}. Correct it, or leave it out.")
    given = found.query.get("password")
    if given is not None:
        found = found.difference_update_query(["password"])
        found = found.set(password=found.password or (given if isinstance(given, str) else given[-1]))
    return found.set(drivername=driver)


def server(url: str) -> str:
    """The address, if it is that of a server: a campaign that is kept in a file has it in its own folder."""
    if address(url).get_backend_name() != "postgresql":
        raise _foreign(url)
    return url


def holds_password(url: str) -> bool:
    """Whether the address holds a password, of the user or of a key."""
    found = address(url)
    return found.password is not None or any("pass" in name.lower() for name in found.query)


def shown(url: URL) -> str:
    """An address as it may be shown: whatever could hold a password is left out.

    >>> shown(address("postgresql://ann:secret@db:5432/bank?sslpassword=secret"))
    'postgresql://ann@db:5432/bank'
    """
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = "" if url.port is None else f":{url.port}"
    return f"postgresql://{url.username or ''}{'@' if url.username else ''}{url.host or ''}{port}/{url.database or ''}"


def place(url: str) -> str:
    """The address of a server as a user agrees to it: all of it but passwords.

    >>> place("postgresql://ann:secret@db:5432/bank?sslpassword=secret&host=other")
    'postgresql://ann@db:5432/bank?host=other'
    """
    found = address(url)
    query = {name: value for name, value in found.query.items() if not _secret(name)}
    host, port, database = found.host, found.port, found.database
    bare = URL.create("postgresql", found.username, None, host, port, database, query)
    return bare.render_as_string(hide_password=False).replace(",", "%2C").replace(" ", "%20")


def _secret(name: str) -> bool:
    """Whether an option of an address may be a password. The name of a file of passwords is not."""
    return "pass" in name.lower() and name.lower() != "passfile"


def _foreign(url: str | URL) -> InputError:
    """What is no address is not shown but for its beginning: any part of it may be a password."""
    kind = re.match(r"[A-Za-z][\w+]*(?=:)", str(url))
    told = f"one that begins with {kind[0]!r}" if kind else "something else"
    return InputError(f"store must be postgresql://user@host/database; got {told}. Leave it out to keep a file.")


class Serialised(str):
    """JSON as the ledger keeps it, ready to be written."""


def serialised(value: Any, *, escaped: bool = False) -> Serialised:
    r"""JSON as the ledger keeps it: its texts in UTF-8 or, if `escaped` or nothing else can be, with escapes.

    >>> serialised({"text": "größer"}), serialised("größer", escaped=True), serialised(serialised([1]))
    ('{"text":"größer"}', '"gr\\u00f6\\u00dfer"', '[1]')
    """
    if isinstance(value, Serialised):
        return value
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=escaped)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which versions before could write too
        return serialised(value, escaped=True)
    return Serialised(text)


def escaped(connection: Connection) -> bool:
    """Whether the database cannot keep every character: a PostgreSQL database with another encoding than UTF-8."""
    if connection.dialect.name != "postgresql":
        return False
    info = connection.connection.dbapi_connection.info  # type: ignore[union-attr]
    return bool(info.parameter_status("server_encoding") != "UTF8")


def engine(url: URL, patience: float, *, place: Place | None = None, create: bool = True) -> Engine:
    """An engine that waits for another writer, or for a server, for `patience` seconds.

    A file without a `place` is only read. It is made, if it is missing and `create`, by the first connection.
    """
    try:
        if url.get_backend_name() != "sqlite":
            return _postgresql(url, patience)
        return _read_only(url, patience) if place is None else _sqlite(url, patience, place, create=create)
    except (ImportError, NoSuchModuleError) as error:
        raise InputError(f"a PostgreSQL store needs psycopg: {error}. Install unskew[postgresql].") from None


def busy(cause: Any) -> bool:
    """Whether the wait for another writer ran out, as SQLite or PostgreSQL says it."""
    return (
        getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        or getattr(cause, "sqlstate", None) == "55P03"  # lock_not_available
    )


def full(cause: Any) -> bool:
    """Whether the disk has no room for the files that SQLite makes beside a ledger, even one that is only read."""
    return getattr(cause, "sqlite_errorcode", None) in (
        sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMMAP, sqlite3.SQLITE_CANTOPEN,
    )  # fmt: skip


def _read_only(url: URL, patience: float) -> Engine:
    path = Path(url.database or "")
    wal = path.with_name(f"{path.name}-wal")
    # Nobody here can write, and without a log of recent writes the file itself is all there is.
    settled = not wal.exists() or not wal.stat().st_size
    if not settled and not path.with_name(f"{path.name}-shm").exists():
        raise StoreError(
            f"{wal} holds the last answers, and can be read only where you may write. Copy the folder and use that."
        )
    uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if settled else ''}"

    def connect() -> sqlite3.Connection:
        return _prepared(sqlite3.connect(uri, uri=True, timeout=patience, check_same_thread=False))

    return _in_turns(create_engine("sqlite://", creator=connect, json_serializer=serialised))


def _sqlite(url: URL, patience: float, place: Place, *, create: bool) -> Engine:
    def connect() -> sqlite3.Connection:
        # A file that vanished after it was opened must not be made again, empty.
        mode = "rwc" if create and not place.opened else "rw"
        uri = f"{place.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=patience, check_same_thread=False)
        try:
            connection.isolation_level = None
            _use_wal(connection, patience)
            return _prepared(connection)
        except BaseException:
            connection.close()
            raise

    return _in_turns(create_engine(url, creator=lambda: place.admit(connect), json_serializer=serialised))


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.isolation_level = None  # transactions are begun below, not by the driver
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {pragma}").close()
    return connection


def _in_turns(found: Engine) -> Engine:
    event.listen(found, "begin", _begin_sqlite)
    return found


def _use_wal(connection: Any, patience: float) -> None:
    # When two connections switch a new file to WAL at once, SQLite refuses one of them immediately, whatever the
    # timeout, because waiting could deadlock. So we wait here.
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and writes later could only fail; one that begins as a writer waits for its turn.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN")


def _postgresql(url: URL, patience: float) -> Engine:
    found = create_engine(
        url,
        json_serializer=serialised,
        pool_pre_ping=True,
        isolation_level="READ COMMITTED",  # after waiting for the lock one must see what its holder wrote
        connect_args={
            "connect_timeout": max(5, round(patience)),  # a network needs a moment, whoever is waiting
            "keepalives": 1,  # notice after 10 + 3 * 5 seconds that a server is gone
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 1000 * UNHEARD,
        },
    )
    from unskew.campaigns.ledger.postgresql import Impatient  # psycopg may not be installed

    def prepare(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{round(1000 * patience)}ms'")
            cursor.execute(f"SET statement_timeout = '{round(1000 * patience) + 5000}ms'")
            # A client that hangs must not block all others.
            cursor.execute("SET idle_in_transaction_session_timeout = '60s'")
        connection.commit()

    event.listen(found, "do_connect", lambda _, record, args, options: Impatient.connect(*args, **options))
    event.listen(found, "connect", prepare)
    return found
