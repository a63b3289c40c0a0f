"""The ledger: an append-only, chained table of events in SQLite or PostgreSQL. A campaign has one writer at a time."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Self

from sqlalchemy import JSON, Column, Connection, Integer, MetaData, String, Table, Text, cast, insert, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from unskew.campaigns.consent import check_reach
from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger import chain
from unskew.campaigns.ledger.chain import RESTORE, Link
from unskew.campaigns.ledger.engines import (
    address,
    busy,
    engine,
    escaped,
    full,
    place,
    serialised,
    server,
    shown,
)
from unskew.campaigns.ledger.events import Event, Recorded, decode
from unskew.campaigns.ledger.migrations import MIGRATIONS, migrate, missing
from unskew.campaigns.ledger.place import Identity, Place, identity
from unskew.campaigns.ledger.settings import Settings
from unskew.errors import (
    InputError,
    LedgerBusy,
    LedgerDamaged,
    LedgerReplaced,
    LedgerUnsure,
    StoreError,
)

PATIENCE = 30.0
"""Seconds to wait for another writer, or for a server."""
PART = 2000
"""The number of events that are read at once: a history of any length takes no more memory, and nobody waits."""
YEARS = range(2000, 9000)
"""What a clock may say. With others, the end of a lease could not be computed."""

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
    Column("number", Integer),
    Column("hash", String),
)


_STRANGE = """SELECT name FROM sqlite_master WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL%' OR (type = 'trigger' AND
name NOT IN ('campaigns_no_update', 'campaigns_no_delete', 'events_no_update', 'events_no_delete',
'events_are_numbered')) LIMIT 1"""
"""What a ledger in SQLite never has: a view in place of a table could be without end."""


def utc_now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


class Writer:
    """What can be done inside `Ledger.writing`. All of it is kept, or none."""

    def __init__(self, connection: Connection, campaign: str, at: str) -> None:
        self._connection, self._campaign, self._at = connection, campaign, at
        self._escaped = escaped(connection)
        self.last: Link | None = None
        """The last event that was appended."""
        self.reached: Link | None = None
        """The last event that others have written, as far as it was read."""

    def events(self, after: Recorded | Link | None = None) -> list[Recorded]:
        """The events after that one, or all, including those appended in this transaction."""
        events = _read(self._connection, self._campaign, after)
        if self.last is None and events:
            self.reached = _link(events[-1])
        return events

    def append(self, *events: Event, by: str = "") -> Link:
        """Add events, in this order, done by one person or, with "", by the program. Returns the last one's link."""
        last, rows = self.last or _last(self._connection, self._campaign), []
        for one in events:
            body = serialised(one.as_body(), escaped=self._escaped)
            last = chain.after(last, 0, self._at, one.kind, by, body)
            rows.append(
                {"campaign": self._campaign, "at": self._at, "kind": one.kind, "actor": by, "body": body,
                 "number": last.number, "hash": last.hash}
            )  # fmt: skip
        if rows:
            self._connection.execute(insert(_events), rows)
            last = Link(_last(self._connection, self._campaign).id, last.number, last.hash)
        self.last = last
        return last


class Ledger:
    """The events of campaigns, in an SQLite file (a path or ``sqlite:///file``) or ``postgresql://user@host/database``.

    Opening it migrates the tables, and unless `create` is false makes those that are missing. What is read is checked:
    every event against the chain (`ledger.chain`) and, before all events are read, the file by SQLite's `quick_check`.
    It is safe to use from several threads and processes at once, also after a fork. A transaction that was not
    committed, for whatever reason, leaves no trace. One that went to a file which is no longer at its path is not
    acknowledged (`ledger.place`).

    Parameters
    ----------
    url : str or path
    create : bool
        Whether tables that are missing may be made.
    read_only : bool
        Open an SQLite file that may not be written.
    patience : float
        Seconds to wait for another writer, before `LedgerBusy`.
    now : callable
        The clock.

    Examples
    --------
    >>> import tempfile
    >>> from unskew.campaigns.ledger.events import Answered
    >>> ledger = Ledger(Path(tempfile.mkdtemp(), "ledger.sqlite"))
    >>> ledger.create("c", Settings(budget=10))
    >>> with ledger.writing("c") as write:
    ...     last = write.append(Answered("7", "yes"), by="ann")
    >>> [(recorded.number, recorded.actor, recorded.event) for recorded in ledger.events("c")]
    [(1, 'ann', Answered(id='7', label='yes'))]
    >>> ledger.close()
    """

    def __init__(
        self,
        url: str | Path | URL,
        *,
        create: bool = True,
        read_only: bool = False,
        patience: float | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.read_only, self._clock, self._process = read_only, now, os.getpid()
        self._url, self._patience = address(url), PATIENCE if patience is None else patience
        self._shown, self._reopening = shown(self._url), Lock()
        self._file_checked = False
        self.full = False
        """Whether it can only be read because its disk is full."""
        self.wrote = False
        """Whether something was written through this object."""
        self._reached: dict[str, Link] = {}
        """By campaign, the last event that was read or acknowledged: without it, it is another ledger."""
        try:
            self._connect(create=create)
        except StoreError as error:
            if create or self._place is None or not full(getattr(error.__cause__, "orig", None)):
                raise
            self.read_only = self.full = True  # what is there can be read all the same
            self._connect(create=False)

    def _connect(self, *, create: bool) -> None:
        in_file = self._url.get_backend_name() == "sqlite" and not self.read_only
        self._place = Place(Path(self._url.database or "")) if in_file else None
        with self._errors():
            self._engine = engine(self._url, self._patience, place=self._place, create=create)
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close all connections."""
        if self._place is not None:
            self._place.leave()
        self._engine.dispose()
        if self._place is not None:
            self._place.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> datetime:
        """What the clock says."""
        time = self._clock().astimezone(UTC)
        if time.year not in YEARS:
            raise StoreError(f"this machine's clock says {time:%Y-%m-%d}. Set it.")
        return time

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        return self._shown

    @property
    def file(self) -> Identity:
        """Which file it is; None on a server. A copy that is put in its place is another one."""
        if self._place is not None:
            return self._place.file
        database = self._url.database
        return identity(Path(database)) if database and self._url.get_backend_name() == "sqlite" else None

    def create(self, campaign: str, settings: Settings) -> None:
        """Add a campaign, with settings that never change."""
        with self._errors(), self._begin(writing=True) as connection:
            kept = serialised(settings.as_record(), escaped=escaped(connection))
            connection.execute(_campaigns.insert(), {"id": campaign, "at": self._at(), "settings": kept})

    def campaigns(self) -> list[str]:
        """The campaigns in this ledger, oldest first."""
        with self._errors(), self._begin() as connection:
            return list(connection.execute(select(_campaigns.c.id).order_by(_campaigns.c.at)).scalars())

    def settings(self, campaign: str) -> Settings:
        """The settings the campaign was created with."""
        with self._errors(), self._begin() as connection:
            found = connection.execute(select(cast(_campaigns.c.settings, Text)).where(_campaigns.c.id == campaign))
            text = found.scalar()
        if text is None:
            raise self._missing(campaign)
        try:
            return Settings.from_record(json.loads(text))
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise StoreError(f"the settings in the ledger {self._shown} are damaged. {RESTORE}") from None

    def events(self, campaign: str, after: Recorded | Link | None = None, most: int | None = None) -> list[Recorded]:
        """The events after that one, or all, oldest first, each checked against the chain. With `most`, no more."""
        if after is None:
            self._check_file_once()
        with self._errors(), self._begin() as connection:
            events = _read(connection, campaign, after, most)
        if events:
            self._reach(campaign, _link(events[-1]))
        return events

    def parts(self, campaign: str, after: Recorded | Link | None = None) -> Iterator[list[Recorded]]:
        """The same in parts, so that a long history is never in memory as a whole."""
        while events := self.events(campaign, after, PART):
            yield events
            if len(events) < PART:
                return
            after = events[-1]

    def root(self, campaign: str) -> Link:
        """Where the campaign's chain begins: it has the hash of its settings."""
        with self._errors(), self._begin() as connection:
            return _root(connection, campaign)

    def last(self, campaign: str) -> Link:
        """The last event of the campaign; without any, the root."""
        with self._errors(), self._begin() as connection:
            return _last(connection, campaign)

    def holds(self, campaign: str, link: Link) -> bool:
        """Whether the campaign has exactly that event: with this key, number and hash."""
        c = _events.c
        with self._errors(), self._begin() as connection:
            found = select(c.number, c.hash).where(c.id == link.id, c.campaign == campaign)
            row = connection.execute(found).first()
        here = row is not None and tuple(row) == (link.number, link.hash)
        if here:
            self._reach(campaign, link)
        return here

    def check_file(self) -> None:
        """Refuse an SQLite file that is damaged, as far as SQLite can tell. It reads all of the file."""
        with self._errors(), self._begin() as connection:
            if connection.dialect.name == "sqlite":
                said = str(connection.execute(text("PRAGMA quick_check(1)")).scalar())
                if said != "ok":
                    raise self._damaged(said.splitlines()[-1])

    def _check_file_once(self) -> None:
        if not self._file_checked:
            self.check_file()
            self._file_checked = True

    def _damaged(self, what: str) -> LedgerDamaged:
        return LedgerDamaged(f"the ledger {self._shown} is damaged: {what}. {RESTORE}")

    def check_writable(self) -> None:
        """Refuse a ledger that may only be read."""
        if self.full:
            raise StoreError(f"the disk with the ledger {self._shown} is full. Make room on it and try again.")
        if self.read_only:
            raise StoreError(f"you may only read the ledger {self._shown}. Copy the folder, or ask its owner for more.")

    def checked(self) -> None:
        """What is in the ledger was found to be whole, so that it is saved if its file is deleted or replaced."""
        if self._place is not None:
            self._place.worth_saving = True

    def check_place(self) -> None:
        """Refuse to go on if the ledger's file was deleted or replaced since it was opened."""
        place = self._place
        if place is not None and place.opened and not place.same():
            self._reopen(place)

    @contextmanager
    def writing(self, campaign: str) -> Iterator[Writer]:
        """A transaction in which nobody else writes to the campaign. An exception inside it undoes it."""
        self.check_writable()
        writer = None
        try:
            with self._errors(), self._begin(writing=True) as connection:
                # SQLite has one writer anyway. In PostgreSQL the campaign's row serves as the lock.
                row = select(_campaigns.c.id).where(_campaigns.c.id == campaign).with_for_update()
                if connection.execute(row).scalar() is None:
                    raise self._missing(campaign)
                writer = Writer(connection, campaign, self._at())
                yield writer
        finally:
            if writer is not None and writer.reached is not None:
                self._reach(campaign, writer.reached)
        if writer.last is not None:
            self._reach(campaign, writer.last, written=True)

    def _reach(self, campaign: str, link: Link, *, written: bool = False) -> None:
        before = self._reached.get(campaign)
        if link.number and (before is None or before.number < link.number):
            self._reached[campaign] = link
            if self._place is not None:
                self._place.reach((link.id, link.number, link.hash), written=written)

    def _prepare(self, *, create: bool) -> None:
        """Check what tables there are, and run the migrations that are missing."""
        with self._errors(), self._begin() as connection:
            if connection.dialect.name == "sqlite":
                strange = connection.execute(text(_STRANGE)).scalar()
                if strange is not None:
                    raise self._damaged(f"{strange!r:.60} is not part of it")
            wanted = missing(connection, MIGRATIONS)
        if self._place is not None and self._place.small:
            self._check_file_once()
        if wanted == list(MIGRATIONS) and not create:
            raise StoreError(f"{self._shown} holds no ledger. Check the store, or restore it from a copy.")
        if wanted and self.read_only:
            raise StoreError(
                f"the ledger {self._shown} is of an earlier version, and you may only read it. Somebody who may write "
                "must open it once."
            )
        if wanted:
            self._check_file_once()
            with self._errors(), self._begin(writing=True) as connection:
                migrate(connection, self._at, MIGRATIONS)

    @contextmanager
    def _begin(self, *, writing: bool = False) -> Iterator[Connection]:
        if os.getpid() != self._process:  # after a fork: the connections are the other process's
            self._engine.dispose(close=False)
            self._process = os.getpid()
            if self._place is not None:
                self._place.forked()
        self.check_place()
        place = self._place  # before the engine: `_reopen` changes it last
        if place is not None and place.touched():
            self._engine.dispose()
        reached = list(self._reached.values())  # before the transaction sees a state of the ledger
        committing = False
        try:
            with self._engine.connect() as plain:
                connection = plain.execution_options(writing=writing)
                with connection.begin():
                    if writing and place is not None:
                        place.check()
                    for link in reached:
                        _still(connection, link)
                    yield connection
                    committing = writing
        except DBAPIError as error:
            if committing and error.connection_invalidated:
                raise LedgerUnsure(
                    f"the ledger {self._shown}: the connection broke before the server said that it wrote, so it is "
                    "not known whether it did. Do the same again: an answer that is there is not taken twice."
                ) from error
            raise
        if writing:
            if place is not None:
                place.worth_saving = True
                place.check()
            self.wrote = True

    def _reopen(self, place: Place) -> None:
        """Go on with another file at the path, if it holds all that was in the one which was there. Else refuse."""
        with self._reopening:
            if place is not self._place:  # another thread did it
                return
            if place.continues():
                with suppress(StoreError):
                    other = Ledger(self._url, create=False, patience=self._patience, now=self._clock)
                    try:
                        for campaign in other.campaigns():
                            other.events(campaign)  # checks the chain
                    except BaseException:
                        other.close()
                        raise
                    other.checked()
                    before, self._engine = self._engine, other._engine
                    self._place = other._place
                    before.dispose()
                    place.close()
                    return
            self._engine.dispose()
        place.refuse()

    def _at(self) -> str:
        return self.now().isoformat(timespec="microseconds")

    def _missing(self, campaign: str) -> StoreError:
        return StoreError(
            f"the ledger {self._shown} has no campaign {campaign!r:.60}. Check the store and the database."
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the database's own errors into one line that says what to do."""
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()
            remedy = _remedy(cause, no_room=full(getattr(error, "orig", None)))
            kind = LedgerBusy if busy(getattr(error, "orig", None)) else StoreError
            kind = LedgerDamaged if remedy == RESTORE else kind
            raise kind(f"the ledger {self._shown}: {cause[0] if cause else error}. {remedy}") from error


def _root(connection: Connection, campaign: str) -> Link:
    c = _campaigns.c
    found = connection.execute(select(c.at, cast(c.settings, Text)).where(c.id == campaign)).first()
    return Link(0, 0, "") if found is None else chain.root(campaign, *found)


def _order(connection: Connection) -> Column[int]:
    """The order in which a campaign's events are found at once, however many there are: each database has one."""
    return _events.c.number if connection.dialect.name == "postgresql" else _events.c.id


def _last(connection: Connection, campaign: str) -> Link:
    """The link that the next event follows."""
    c = _events.c
    found = select(c.id, c.number, c.hash).where(c.campaign == campaign).order_by(_order(connection).desc()).limit(1)
    row = connection.execute(found).first()
    return _root(connection, campaign) if row is None else Link(*row)


def _link(event: Recorded | Link) -> Link:
    return Link(event.id, event.number, event.hash)


def _still(connection: Connection, after: Recorded | Link) -> Link:
    """The link of an event that was read before. It is gone if another ledger was copied into the file."""
    c, link = _events.c, _link(after)
    here = connection.execute(select(c.id, c.number, c.hash).where(c.id == after.id)).first()
    if after.number and (here is None or Link(*here) != link):
        raise LedgerReplaced(
            f"event {after.number}, which was read before, is no longer in the ledger: another file was copied into "
            "it while it was open. Nothing more is taken. Stop every program that uses this campaign, and restore the "
            "ledger from a copy."
        )
    return link


def _read(
    connection: Connection, campaign: str, after: Recorded | Link | None, most: int | None = None
) -> list[Recorded]:
    c, order = _events.c, _order(connection)
    last = _root(connection, campaign) if after is None else _still(connection, after)
    since = order > (last.number if order is c.number else last.id)
    found = select(c.id, c.at, c.kind, c.actor, cast(c.body, Text), c.number, c.hash)
    events = []
    for id, at, kind, actor, body, number, hash in connection.execute(
        found.where(c.campaign == campaign, since).order_by(order).limit(most)
    ):
        last = chain.after(last, id, at, kind, actor, body)
        if (number, hash) != (last.number, last.hash):
            raise LedgerDamaged(f"event {last.number} of the ledger was changed, or one before it is lost. {RESTORE}")
        events.append(Recorded(id, at, actor, decode(kind, body), last.number, last.hash))
    return events


def ledger_of(folder: Folder, patience: float | None, now: Callable[[], datetime]) -> tuple[str, Ledger]:
    """The id of the campaign in a folder, and its ledger: a file there, or the server it names.

    A server is connected to only if this user agreed to it for this campaign: whoever made the
    folder may have named one that is to get a password.
    """
    campaign, store = folder.identify()
    if store is None:
        folder.check_ledger()
        return campaign, Ledger(folder.ledger, create=False, read_only=folder.read_only, patience=patience, now=now)
    try:
        check_reach([place(server(store))], campaign, "the ledger of this campaign")
        return campaign, Ledger(server(store), create=False, patience=patience, now=now)
    except InputError as error:
        raise StoreError(f"{folder.marker} names a store that cannot be used: {error}") from None


_ROOM = "Nothing was changed. Make room on the disk and try again."


def _remedy(cause: list[str], *, no_room: bool) -> str:
    """What to do about an error of the database. `no_room` is whether its code is one of a full disk."""
    said = " ".join(cause).lower()
    if no_room and "unable to open" not in said:
        return _ROOM
    for words, remedy in (
        (
            ("disk i/o",),
            "Nothing was changed. If the disk works, the files beside the ledger (-wal, -shm) do not belong to it: "
            "stop every program that uses this campaign, and restore the ledger from a copy, or from "
            "ledger.rescued-*.sqlite if there is one.",
        ),
        (("full", "no space", "too large"), _ROOM),
        (("locked", "lock timeout", "busy"), "Nothing was changed. Another process is writing; try again."),
        (
            ("not a database", "malformed", "corrupt", "no such", "duplicate column", "decode to utf-8"),
            RESTORE,
        ),
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
