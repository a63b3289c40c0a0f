"""The state of a campaign in memory, kept up with its ledger."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.store import Ledger, Writer
from unskew.errors import UnskewError


class Transaction:
    """While nobody else writes: `state` is what the ledger says, and every event that is appended is in it at once."""

    def __init__(self, write: Writer, state: State) -> None:
        self._write, self.state = write, state
        self.appended = False

    def append(self, kind: str, actor: str, body: dict[str, Any]) -> None:
        """One more event."""
        self.append_all([(kind, actor, body)])

    def append_all(self, events: list[tuple[str, str, dict[str, Any]]]) -> None:
        """More events (kind, actor, body), in this order."""
        if events:
            self.appended = True
            self._write.append_all(events)
            self.state.replay(self._write.events(self.state.last))


class Live:
    """The state of one campaign. Several threads may share it; `lock` keeps it still for as long as one looks."""

    def __init__(self, ledger: Ledger, campaign: str, budget: int) -> None:
        self._ledger, self._campaign, self._budget = ledger, campaign, budget
        self._state = State(budget)
        self.lock = threading.RLock()

    def refresh(self) -> State:
        """Apply what others wrote since."""
        with self.lock:
            return self._state.replay(self._ledger.events(self._campaign, self._state.last))

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """The one writer's transaction: all that is appended in it is kept, or none."""
        with self.lock:
            transaction = None
            try:
                with self._ledger.writing(self._campaign) as write:
                    self._state.replay(write.events(self._state.last))
                    transaction = Transaction(write, self._state)
                    yield transaction
            except BaseException as error:
                refused = isinstance(error, UnskewError) and not (transaction and transaction.appended)
                if not refused:  # the state may hold what was not committed: replay
                    self._state = State(self._budget)
                raise
