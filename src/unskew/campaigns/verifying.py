"""The whole ledger looked at again: commands open from a snapshot, and so do not see what becomes of old events.

`verify` is for `unskew verify`. `Watch` does the same for the chain, a little at a time, beside other work.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.chain import Head, Link
from unskew.campaigns.ledger.events import Recorded
from unskew.campaigns.ledger.live import Live
from unskew.campaigns.ledger.snapshot import Snapshot, Standing
from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import LedgerDamaged, StoreError

DAY = 24 * 3600.0
"""Seconds from one look at the whole chain to the next."""
AGAIN = 60.0
"""Seconds to the next look while the ledger is damaged, or after one that could not be finished, such
as when a server could not be reached."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at and is whole."""

    ledger: str
    """The address of the ledger."""
    events: int
    snapshot: Standing
    """Whether the snapshot agrees with the events, or why it was not compared with them."""
    snapshot_events: int | None
    """The number of events in the snapshot, if it is one of this campaign."""
    tables: tuple[str, ...]
    """The files of the campaign's folder that are, byte for byte, those that the ledger names."""


def verify(folder: Folder, ledger: Ledger, live: Live, progress: Callable[[int, int], None]) -> Verified:
    """Look at everything: the file, every event, the head, the snapshot, the tables. The first damage is an error.

    A snapshot of a damaged ledger, or one that does not agree with the events, is removed. If all is
    whole, another is kept. One that is ahead of the ledger stays: it shows that events are missing.
    """
    mark, state, kept = live.mark(), State(live.began.budget), live.snapshot()
    snapshot, last = kept if isinstance(kept, Snapshot) else None, Link(0, 0, "")
    try:
        ledger.check_file()
        for events, total in _chain(Head(folder.head), ledger, live.campaign):
            _replay(state, events, snapshot)
            last = Link(events[-1].id, events[-1].number, events[-1].hash)
            progress(last.number, total)
    except LedgerDamaged:
        live.drop()
        raise
    standing = Standing.AGREES if isinstance(kept, Snapshot) else kept.standing
    tables = tuple(_tables(folder, live, state))
    live.recover(mark)
    if standing != Standing.AHEAD:
        live.adopt(last, state, snapshot and snapshot.last)
    snapshot_events = kept.last.number if kept.last else None
    return Verified(ledger.address, last.number, standing, snapshot_events, tables)


def _replay(state: State, events: list[Recorded], snapshot: Snapshot | None) -> None:
    """Apply the events. If the last one that the snapshot contains is among them, compare it."""
    last = next((k for k, one in enumerate(events, 1) if snapshot and one.id == snapshot.last.id), 0)
    state.replay(events[:last])
    if last and snapshot is not None and state != snapshot.state:
        raise LedgerDamaged(
            f"the snapshot of the first {snapshot.last.number} events in your cache did not agree with them, and was "
            "removed. Repeat what was computed from it."
        )
    state.replay(events[last:])


def _chain(head: Head, ledger: Ledger, campaign: str) -> Iterator[tuple[list[Recorded], int]]:
    """All events in parts, each checked against the chain, with their number. In the end, the head is compared."""
    known, total = head.read(), ledger.last(campaign).number
    last, hash = None, None
    for events in ledger.parts(campaign, ledger.root(campaign)):
        if known is not None:
            hash = next((one.hash for one in events if one.number == known.number), hash)
        last = Link(events[-1].id, events[-1].number, events[-1].hash)
        yield events, max(total, last.number)
    head.check(known, last, hash)


def _tables(folder: Folder, live: Live, state: State) -> Iterator[str]:
    """Compare the files of log and pool with the digests in the ledger. Yields the names of those that agree."""
    began = live.began
    kept: list[tuple[Path, str]] = [(folder.log, began.log_sha256)]
    kept.append((folder.pool_files if folder.pool_files.exists() else folder.pool, began.pool_sha256))
    for number, part in enumerate(state.parts, start=2):
        kept.append((folder.part(number, listed=part.file.endswith(".files.json")), part.sha256))
    for path, sha256 in kept:
        folder.check_table(path, sha256)
        yield path.name


class Watch:
    """Looks at the whole chain at once and then every day, in short parts between other work.

    While the ledger is damaged it looks every minute, so that it notices when it was repaired.
    """

    def __init__(self, folder: Folder, ledger: Ledger, live: Live, clock: Callable[[], float] = time.monotonic) -> None:
        self._head, self._ledger, self._live, self._clock = Head(folder.head), ledger, live, clock
        self._next = clock()
        self._going: Iterator[None] | None = None
        self.damage: str | None = None
        """What is wrong with the ledger, from when that was seen until it is whole again."""

    def look(self) -> str | None:
        """Go on with one part, if it is time. Returns the damage, as far as it was seen."""
        if self._clock() >= self._next:
            self._going = self._going or self._whole()
            try:
                next(self._going)
            except StopIteration:
                self.damage = None
                self._rest(DAY)
            except LedgerDamaged as error:
                self.damage = str(error)
                self._live.drop()
                self._rest(AGAIN)
            except StoreError:  # whoever works with the ledger notices too
                self._rest(AGAIN)
        return self.damage

    def _rest(self, seconds: float) -> None:
        self._going, self._next = None, self._clock() + seconds

    def _whole(self) -> Iterator[None]:
        mark = self._live.mark()
        with ThreadPoolExecutor(1) as beside:  # SQLite does this in one go, however large the file is
            checked = beside.submit(self._ledger.check_file)
            while not checked.done():
                yield
            checked.result()
        for _ in _chain(self._head, self._ledger, self._live.campaign):
            yield
        self._live.recover(mark)
