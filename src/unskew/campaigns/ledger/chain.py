"""The chain of a campaign's events: each has a number, and a hash that covers it and the hash before it.

An event that was changed, lost or slipped in breaks the chain, and so do settings that were changed. The number and
the hash of the last event are also kept in a small file beside the ledger, so that events lost at the end are noticed.
"""

import hashlib
import json
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from unskew.campaigns.ledger.events import Recorded
from unskew.errors import LedgerDamaged

RESTORE = "Restore the ledger from a copy."


@dataclass(frozen=True, slots=True)
class Link:
    """How far a chain has come: the last event's key in its table, its number in the campaign, and its hash."""

    id: int
    number: int
    hash: str


def root(campaign: str, at: str, settings: str) -> Link:
    """Where the chain of a campaign begins. `settings` is the text that the ledger keeps.

    >>> root("c", "2026-11-15T10:00:00+00:00", '{"budget":10}').hash[:8]
    'aecb7a90'
    """
    return Link(0, 0, _hash(campaign, at, settings))


def after(before: Link, id: int, at: str, kind: str, actor: str, body: str) -> Link:
    """The link of the event that follows `before`. `body` is the text that the ledger keeps."""
    number = before.number + 1
    return Link(id, number, _hash(before.hash, number, at, kind, actor, body))


def _hash(*parts: Any) -> str:
    # Whatever a damaged ledger gives in place of a text has a hash too, and not the right one.
    return hashlib.sha256(json.dumps(parts, default=repr).encode()).hexdigest()


class Head:
    """The last event, as a small file keeps it: at least this much was written.

    The file is not flushed to the disk, so writing it takes no time. After a power failure it may be some events
    behind. It is never ahead, because it is written after the events are.

    Examples
    --------
    >>> import tempfile
    >>> head = Head(Path(tempfile.mkdtemp(), "ledger.head"))
    >>> head.read()
    >>> head.write(Link(id=12, number=9, hash=64 * "0"))
    >>> head.read().number
    9
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Link | None:
        """What the file says; None if it is not there or damaged."""
        try:
            with self._open(os.O_RDONLY) as file:
                line, _, sum = file.read(200).rstrip().rpartition(b" ")
            number, hash = line.decode("ascii").split()
            return Link(0, int(number), hash) if int(sum, 16) == zlib.crc32(line) else None
        except (OSError, ValueError):
            return None

    def write(self, last: Link | Recorded) -> None:
        """Keep the number and the hash. Where the file cannot be written, this does nothing: it is a second look."""
        line = f"{last.number:020d} {last.hash}".encode()
        text = line + b" %08x\n" % zlib.crc32(line)  # always as long, so that it can be replaced in one write
        try:
            with self._open(os.O_WRONLY | os.O_CREAT) as file:
                os.pwrite(file.fileno(), text, 0)
                os.ftruncate(file.fileno(), len(text))
        except OSError:
            pass

    def _open(self, flags: int) -> IO[bytes]:
        """The file itself: not one that a link leads to, and not a pipe, which might never end."""
        file = os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(f"{self.path} is not a plain file")
        return os.fdopen(file, "wb" if flags & os.O_WRONLY else "rb", buffering=0)

    def check(self, known: Link | None, last: Link | None, hash: str | None) -> None:
        """Refuse a ledger that lacks events which were written.

        `known` was read before the events, `last` is the last of them, and `hash` that of the one with `known.number`.
        """
        if last is None:  # a campaign begins with an event
            raise LedgerDamaged(f"the ledger has no event of this campaign: all are lost. {RESTORE}")
        if known is None or known.number < 1:
            return
        lost = known.number - last.number
        if lost > 0:
            raise LedgerDamaged(
                f"the ledger ends with event {last.number}, and {known.number} were written: {lost} missing. Restore "
                "it from a copy (ledger.sqlite-wal too, if there is one), or delete "
                f"{self.path} to do without them."
            )
        if hash != known.hash:
            raise LedgerDamaged(
                f"event {known.number} of the ledger is not the one that was written. {RESTORE} If this ledger is the "
                f"right one, delete {self.path}."
            )
