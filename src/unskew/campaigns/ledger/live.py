"""The state of a campaign in memory, kept up to date with its ledger."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from unskew.campaigns.ledger.events import Event
from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.store import Ledger, Writer
from unskew.errors import UnskewError


class Transaction:
    """While nobody else writes: `state` is up to date with the ledger, and with every event appended here."""

    def __init__(self, write: Writer, state: State) -> None:
        self._write, self.state = write, state
        self.appended = False

    def append(self, *events: Event, by: str = "") -> None:
        """Add events, in this order, done by one person or, with "", by the program."""
        if events:
            self.appended = True
            self._write.append(*events, by=by)
            self.state.replay(self._write.events(self.state.last))


class Live:
    """The state of one campaign. Several threads may share it; while one holds `lock`, the state does not change."""

    def __init__(self, ledger: Ledger, campaign: str, budget: int) -> None:
        self._ledger, self._campaign, self._budget = ledger, campaign, budget
        self._state = State(budget)
        self.lock = threading.RLock()

    def refresh(self) -> State:
        """Apply the events that others have written since."""
        with self.lock:
            return self._state.replay(self._ledger.events(self._campaign, self._state.last))

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction in which nobody else writes. Everything appended in it is kept, or nothing."""
        with self.lock:
            transaction = None
            try:
                with self._ledger.writing(self._campaign) as write:
                    self._state.replay(write.events(self._state.last))
                    transaction = Transaction(write, self._state)
                    yield transaction
            except BaseException as error:
                refused = isinstance(error, UnskewError) and not (transaction and transaction.appended)
                if not refused:  # the state may include events that were not committed: replay them all
                    self._state = State(self._budget)
                raise
