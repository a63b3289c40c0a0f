"""Whether the file of a ledger is still at its place.

A file that is deleted or replaced stays open: SQLite goes on writing to it, and nobody finds it again. So each
transaction compares the path with the file that was opened. What is no longer at the path is saved under another name.
"""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import NamedTuple, NoReturn

from platformdirs import user_state_path

from unskew.errors import LedgerReplaced

ENDS = ("", "-wal", "-shm")
"""The ledger, its latest writes, and the index of these. SQLite keeps all three as long as somebody has it open."""

MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""How the file of the latest writes begins."""
HEADER = 32
"""The bytes that say which generation of writes is in it: they change when SQLite begins anew with its first byte."""
SMALL = 16 << 20
"""Bytes of a ledger that SQLite checks in a moment, each time it is opened."""
LOOKS, PAUSE = 5, 0.02
"""How often, and after how many seconds, what looks damaged is looked at again: SQLite may be about to write it."""

Identity = tuple[int, int] | None
"""Device and number of a file; None if there is none."""
Last = tuple[int, int, str]
"""The last event of a ledger: its key, its number and its hash."""


def rescue_folder() -> Path:
    """Where a ledger is saved whose own folder is gone or full. On Linux, XDG_STATE_HOME moves it."""
    return user_state_path("unskew") / "rescued"


_LOST = (
    "What was written last cannot be saved by this program. Stop every program that uses this campaign, and restore "
    "the ledger from a copy, or from a ledger.rescued-*.sqlite beside it."
)


class _Look(NamedTuple):
    """What was seen of the file of the latest writes."""

    size: int
    header: bytes
    latest: Last | None
    """The last event that was read or acknowledged before."""

    def follows(self, before: "_Look | None", ledger: Path) -> bool:
        """Whether SQLite, which never makes this file shorter but when it begins anew, can have made this of it."""
        if before is None:
            return True
        if self.header == before.header:
            return self.size >= before.size
        begun = not self.size or (len(self.header) == HEADER and self.header[:4] in MAGIC)
        return begun and (before.latest is None or _holds(ledger, before.latest))


def _look_at(path: Path, latest: Last | None) -> _Look | None:
    # No lock is ever held on this file, so opening it takes none away from SQLite.
    try:
        with open(path, "rb", buffering=0) as file:
            return _Look(os.fstat(file.fileno()).st_size, file.read(HEADER), latest)
    except OSError:
        return None


class Place:
    """A path, and the file that all connections of one `Ledger` opened there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files: tuple[Identity, ...] = ()
        self._mode = 0o600
        self._written: tuple[int, int] | None = None
        self._keeper: sqlite3.Connection | None = None
        self._parents: sqlite3.Connection | None = None
        self._saved: tuple[Last, Path] | None = None
        self._latest: Last | None = None
        """The last event that this process read or acknowledged."""
        self._look: _Look | None = None
        self._looking = Lock()
        self.worth_saving = False
        """Whether the file was checked in full, or written to. Others may have been opened by mistake."""
        self._lock = Lock()

    @property
    def opened(self) -> bool:
        """Whether a connection was made."""
        return bool(self._files)

    @property
    def file(self) -> Identity:
        """The file that was opened."""
        return self._files[0] if self._files else None

    def admit(self, connect: Callable[[], sqlite3.Connection]) -> sqlite3.Connection:
        """A new connection, if it is one to the file that the others have open."""
        before = identity(self.path)
        if self.opened and not self.same():
            self.refuse()
        connection = connect()
        try:
            if not self.opened:
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()  # opens the other two files
                files = self._identities()
                if before not in (None, files[0]):
                    raise LedgerReplaced(f"the ledger {self.path} was replaced while it was opened. Try again.")
                self._files, self._mode = files, os.stat(self.path).st_mode & 0o777
            elif not self.same():
                self.refuse()
            if self._keeper is None:
                self._keeper = _read_only(self.path)
                self._keeper.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def small(self) -> bool:
        """Whether all of it can be checked at every opening."""
        with suppress(OSError):
            return os.stat(self.path).st_size <= SMALL
        return False

    def reach(self, last: Last, *, written: bool) -> None:
        """Note an event that was read or, if `written`, committed before the last look."""
        with self._looking:
            if self._latest is None or self._latest[0] < last[0]:
                self._latest = last
            if written and self._look is not None:
                self._look = self._look._replace(latest=self._latest if self._latest == last else self._look.latest)

    def same(self) -> bool:
        """Whether what was opened is still at the path, and nobody but SQLite has cut off the latest writes."""
        return self._in_place() and self._whole()

    def _in_place(self) -> bool:
        return all(was in (None, now) for was, now in zip(self._files, self._identities(), strict=False))

    def _whole(self) -> bool:
        """Whether the file of the latest writes grew since the last look, or SQLite has begun it anew.

        It does so only after it moved all of them into the ledger. So the ledger alone then holds what was in both.
        """
        if not self.opened or self._files[1] is None:
            return True
        with self._looking:
            before = self._look
            for attempt in range(LOOKS):
                if attempt:
                    time.sleep(PAUSE)
                latest = self._latest  # before the look: it is in the file that is looked at
                now = _look_at(self._beside("-wal"), latest)
                if now is not None and now.follows(before, self.path):
                    self._look = now
                    return True
            return False

    def touched(self) -> bool:
        """Whether the file itself was written since the last call, so that its pages are to be read again.

        SQLite does so when it moves the latest writes into it. It does not notice that somebody else did.
        """
        before = self._written
        with suppress(OSError):
            stat = os.stat(self.path)
            self._written = stat.st_mtime_ns, stat.st_size
        return before not in (None, self._written)

    def check(self) -> None:
        """Refuse to go on if it is not."""
        if not self.same():
            self.refuse()

    def refuse(self) -> NoReturn:
        """Say what happened. All that this process could read of the ledger is saved first, once."""
        name = self.path.name
        with self._lock:
            saved = self._rescue()
        told = f"the ledger {self.path} {self._happened()} while this program used it. Nothing more is taken."
        if isinstance(saved, Path):
            raise LedgerReplaced(
                f"{told} All that was acknowledged is in {saved}. Stop every program that uses this campaign, delete "
                f"{name}-wal and {name}-shm, and move that file to {self.path}.",
                saved,
            )
        raise LedgerReplaced(f"{told} {saved}")

    def continues(self) -> bool:
        """Whether another file at the path, with nothing of the old one beside it, holds all that the old one does."""
        now = self._identities()
        beside = any(was is not None and was == one for was, one in zip(self._files[1:], now[1:], strict=True))
        last = self._last() or self._latest
        if last is not None and self._latest is not None and last[0] < self._latest[0]:
            last = self._latest
        return last is not None and now[0] not in (None, self._files[0]) and not beside and _holds(self.path, last)

    def leave(self) -> None:
        """Before all other connections are closed: the last of them moves the latest writes into the ledger.

        Where other files than ours are beside the ledger, this would spoil it. A connection that may only read does
        nothing of that kind, so it then stays to be the last.
        """
        if self.same():
            self.close()

    def close(self) -> None:
        """Close the connection that is kept to save what it can read."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.close()

    def forked(self) -> None:
        """In a process that was forked, the connections are those of the other one. They are left alone."""
        self._parents, self._keeper = self._keeper, None

    def _identities(self) -> tuple[Identity, ...]:
        return tuple(identity(self._beside(end)) for end in ENDS)

    def _happened(self) -> str:
        now = self._identities()
        for was, one, end in zip(self._files, now, ENDS, strict=True):
            if was not in (None, one):
                what = "was" if not end else f"lost {self.path.name}{end}, which was"
                return f"{what} {'deleted or moved' if one is None else 'replaced by another file'}"
        if not self._whole():
            return f"lost what is in {self.path.name}-wal, which was cut off or written over,"
        return "was away for a moment"

    def _beside(self, end: str) -> Path:
        return self.path.with_name(self.path.name + end)

    def _last(self) -> Last | None:
        try:
            return None if self._keeper is None else _last_of(self._keeper)
        except sqlite3.Error:
            return None

    def _rescue(self) -> Path | str:
        """A file that holds everything, or why there is none."""
        keeper, last = self._keeper, self._last()
        if not self.worth_saving:
            return "Restore it from a copy."
        if keeper is None or last is None or (self._latest is not None and last[0] < self._latest[0]):
            return _LOST
        if self._saved is not None and self._saved[0] == last and _holds(self._saved[1], last):
            return self._saved[1]
        why = ""
        for folder in (self.path.parent, rescue_folder(), Path(tempfile.gettempdir())):
            try:
                if folder != self.path.parent:
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                saved = self._saved_by_others(folder, last) or self._save(folder, keeper)
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError):  # not the disk: what is read is not whole
                    return _LOST
                why = why or " ".join(str(error).split())[:200]
            except OSError as error:
                why = why or " ".join(str(error).split())[:200]
            else:
                self._saved = last, saved
                return saved
        return f"It cannot be saved ({why}): make room on the disk before you stop this program."

    def _saved_by_others(self, folder: Path, last: Last) -> Path | None:
        """What another process saved that had it open too."""
        found = sorted(folder.glob(f"{self.path.stem}.rescued-*{self.path.suffix}"), reverse=True)
        return next((path for path in found if _holds(path, last)), None)

    def _save(self, folder: Path, keeper: sqlite3.Connection) -> Path:
        """Write all that the keeper can read to a new file."""
        now = datetime.now(UTC)
        half = folder / f".{self.path.stem}.{os.getpid()}-{now:%H%M%S%f}.half"
        try:
            os.close(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, self._mode))
            with closing(sqlite3.connect(half)) as copy:
                keeper.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE").close()  # one file, without others beside it
                if copy.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                    raise sqlite3.DatabaseError("what can be read of the ledger is damaged")
            if self._latest is not None and not _holds(half, self._latest):
                raise sqlite3.DatabaseError("what can be read of the ledger lacks the latest writes")
            for k in range(1000):
                saved = folder / f"{self.path.stem}.rescued-{now:%Y%m%dT%H%M%SZ}{f'-{k}' * (k > 0)}{self.path.suffix}"
                with suppress(FileExistsError):
                    os.link(half, saved)  # unlike a rename, it replaces nothing
                    return saved
            raise OSError(f"{folder} has too many saved ledgers")
        finally:
            for path in (half, half.with_name(f"{half.name}-wal"), half.with_name(f"{half.name}-shm")):
                path.unlink(missing_ok=True)


def identity(path: Path) -> Identity:
    """Which file is at a path."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read_only(path: Path, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{more}", uri=True, check_same_thread=False, timeout=1)


def _last_of(connection: sqlite3.Connection) -> Last | None:
    found = connection.execute("SELECT id, number, hash FROM events ORDER BY id DESC LIMIT 1").fetchone()
    return None if found is None else (found[0], found[1], found[2])


def _holds(path: Path, last: Last) -> bool:
    """Whether the ledger in a file, which is only looked at, has that event, and with it all before it."""
    try:
        with closing(_read_only(path, "&immutable=1")) as connection:
            wanted = "SELECT id, number, hash FROM events WHERE id = ?"
            return bool(connection.execute(wanted, last[:1]).fetchone() == last)
    except sqlite3.Error:
        return False
