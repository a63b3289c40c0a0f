"""The state of a campaign in memory, kept up to date with its ledger."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from unskew.campaigns.ledger.chain import Head
from unskew.campaigns.ledger.events import Event, Recorded
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.store import Ledger, Writer
from unskew.errors import StoreError, UnskewError


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
        self._live.learn(self._write.events)
        last = self._live.last
        if last is None or (last.number, last.hash) != (link.number, link.hash):
            raise StoreError("the ledger does not give back what is written to it. Restore it from a copy.")


class Live:
    """The state of one campaign. Several threads may share it; while one holds `lock`, the state does not change."""

    def __init__(self, ledger: Ledger, campaign: str, began: Settings, head: Head) -> None:
        self._ledger, self._campaign, self.began, self._head = ledger, campaign, began, head
        self.lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self.known = State(self.began.budget)
        self.last: Recorded | None = None
        """The last event that `known` is up to."""

    def learn(self, read: Callable[[Recorded | None], Sequence[Recorded]]) -> None:
        """Read the events after the last one, and apply them. The first time, none may be missing."""
        head = self._head.read() if self.last is None else None  # before the events: they may grow meanwhile
        events = read(self.last)
        try:
            if self.last is None:
                self._head.check(head, events)
            self.known.replay(events)
        except BaseException:  # some of them may have been applied
            self._forget()
            raise
        if self.last is None:
            self._ledger.checked()
        self.last = events[-1] if events else self.last

    @property
    def settings(self) -> Settings:
        """What the campaign was created with, and the rows that its pool has got since, as far as is known here."""
        state = self.known if self.last is not None else self.refresh()
        return self.began.with_parts(state.parts)

    def refresh(self) -> State:
        """Apply the events that others have written since."""
        with self.lock:
            self.learn(partial(self._ledger.events, self._campaign))
            return self.known

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction in which nobody else writes. Everything appended in it is kept, or nothing."""
        with self.lock:
            transaction = None
            try:
                with self._ledger.writing(self._campaign) as write:
                    self.learn(write.events)
                    transaction = Transaction(write, self)
                    yield transaction
            except BaseException as error:
                refused = isinstance(error, UnskewError) and not (transaction and transaction.appended)
                if not refused:  # the state may include events that were not committed: replay them all
                    self._forget()
                raise
            if transaction.appended and self.last is not None:
                self._head.write(self.last)
