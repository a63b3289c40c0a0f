"""The state of a campaign in memory, kept up to date with its ledger."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from unskew.campaigns.ledger.chain import Head, Link
from unskew.campaigns.ledger.events import Event, Recorded
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.snapshot import Snapshot, SnapshotFile, Standing, Unfit, size
from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.store import Ledger, Writer
from unskew.errors import StoreError, UnskewError

SNAPSHOT_AFTER = 1000
"""The least number of events after which another snapshot is kept. A large state waits for as many as it has rows."""


class Transaction:
    """While nobody else writes: `state` is up to date with the ledger, and with every event appended here."""

    def __init__(self, write: Writer, live: "Live") -> None:
        self._write, self._live = write, live
        self.appended = False

    @property
    def state(self) -> State:
        """What the ledger says, with what was appended here."""
        return self._live.known

    def append(self, *events: Event, by: str = "") -> None:
        """Add events, in this order, done by one person or, with "", by the program."""
        if not events:
            return
        self.appended = True
        link = self._write.append(*events, by=by)
        self._live.learn(lambda last: [self._write.events(last)])
        last = self._live.last
        if last is None or (last.number, last.hash) != (link.number, link.hash):
            raise StoreError("the ledger does not give back what is written to it. Restore it from a copy.")


class Live:
    """The state of one campaign. Several threads may share it; while one holds `lock`, the state does not change.

    It begins with the user's snapshot, if there is one (`ledger.snapshot`), and then only later events are read.
    """

    def __init__(self, ledger: Ledger, campaign: str, began: Settings, head: Head) -> None:
        self._ledger, self.campaign, self.began, self._head = ledger, campaign, began, head
        self._snapshot = SnapshotFile(ledger.address, campaign)
        self.lock = threading.RLock()
        self._dropped = False
        self._mark: bytes | None = None
        """The mark of damage that was there before every event was read (`ledger.snapshot`)."""
        self._forget()

    def _forget(self) -> None:
        self.known = State(self.began.budget)
        self.last: Link | None = None
        """The last event that `known` is up to."""
        self._root = ""
        self._kept, self._size = 0, 0
        """The number of the last event in the snapshot, and the size of its state."""

    def learn(self, read: Callable[[Link | None], Iterable[Sequence[Recorded]]]) -> None:
        """Read the events after the last one, and apply them. The first time, none may be missing."""
        first = self.last is None
        head = self._head.read() if first else None  # before the events: they may grow meanwhile
        try:
            if first:
                self._begin(head)
            hash = self.last.hash if self.last and head and self.last.number == head.number else None
            for events in read(self.last):
                self.known.replay(events)
                for one in events[-1:]:
                    self.last = Link(one.id, one.number, one.hash)
                if head is not None:
                    hash = next((one.hash for one in events if one.number == head.number), hash)
            if first:
                self._head.check(head, self.last, hash)
                self._ledger.checked()
        except BaseException:  # some of them may have been applied
            self._forget()
            raise

    def _begin(self, head: Link | None) -> None:
        """Begin with the snapshot, if the ledger still has its last event and the head does not end before it."""
        self._mark = self.mark()
        kept = self.snapshot()
        if isinstance(kept, Snapshot) and (head is None or head.number >= kept.last.number):
            self.last, self.known = kept
            self._kept, self._size = self.last.number, size(self.known)

    def mark(self) -> bytes | None:
        """The mark that somebody found the ledger damaged, if there is one."""
        return self._snapshot.mark()

    def snapshot(self) -> Snapshot | Unfit:
        """The user's snapshot, or why it is not used: the ledger must have its last event."""
        self._root = self._ledger.root(self.campaign).hash
        if self.mark() is not None:
            return Unfit(Standing.NONE)
        kept = self._snapshot.read(self._root, self._ledger.file)
        if kept.last is not None and not self._ledger.holds(self.campaign, kept.last):
            return Unfit(Standing.AHEAD, kept.last)
        return kept

    def keep(self) -> None:
        """Keep a snapshot, if enough has happened since the last one. Where that is not possible, nothing is lost."""
        with self.lock:
            if self.last is None or self._dropped:
                return
            enough = max(SNAPSHOT_AFTER, len(self.known.rows), self._size)
            if self.last.number - self._kept < enough:
                return
            if not self._snapshot.unmark(self._mark):  # somebody found the ledger damaged since
                return
            self._snapshot.write(self._root, self._ledger.file, self.last, self.known)
            self._kept, self._size = self.last.number, size(self.known)
            head = self._head.read()
            if head is None or head.number < self.last.number:  # others have written these events
                self._head.write(self.last)

    def drop(self) -> None:
        """Remove the snapshot: the ledger is damaged.

        No process of this user keeps another until every event was read and is whole.
        """
        self._dropped = True
        self._snapshot.drop()

    def recover(self, mark: bytes | None) -> None:
        """End what `drop` began: every event was read, after `mark` was, and is whole."""
        with self.lock:
            if self._snapshot.unmark(mark) and (self._dropped or mark is not None):
                self._dropped = False
                self._forget()
                self.refresh()

    def adopt(self, last: Link, state: State, kept: Link | None) -> None:
        """Go on with this state, all of whose events were read just now, and keep it.

        `kept` is the last event of a snapshot that agrees with them.
        """
        with self.lock:
            self.last, self.known = last, state
            self._kept, self._size = (kept.number, size(state)) if kept else (0, 0)
            self.keep()

    @property
    def settings(self) -> Settings:
        """What the campaign was created with, and the rows that its pool has got since, as far as is known here."""
        state = self.known if self.last is not None else self.refresh()
        return self.began.with_parts(state.parts)

    def refresh(self) -> State:
        """Apply the events that others have written since."""
        with self.lock:
            self.learn(partial(self._ledger.parts, self.campaign))
            return self.known

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction in which nobody else writes. Everything appended in it is kept, or nothing."""
        with self.lock:
            if self.last is None:  # all events are read before anybody has to wait
                self.refresh()
            transaction = None
            try:
                with self._ledger.writing(self.campaign) as write:
                    self.learn(lambda last: [write.events(last)])
                    transaction = Transaction(write, self)
                    yield transaction
            except BaseException as error:
                refused = isinstance(error, UnskewError) and not (transaction and transaction.appended)
                if not refused:  # the state may include events that were not committed: replay them all
                    self._forget()
                raise
            if transaction.appended and self.last is not None:
                self._head.write(self.last)
