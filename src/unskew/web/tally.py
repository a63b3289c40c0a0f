"""How long people take for a row: counted from the ledger's events, as they come."""

from collections.abc import Iterable
from datetime import datetime
from statistics import median

from unskew.campaigns.ledger.store import Event


class Tally:
    """Seconds from seeing a row to answering it.

    A row is seen once it is handed out and the one before it is answered.

    >>> tally = Tally()
    >>> tally.add([
    ...     Event(1, "2026-11-15T10:00:00+00:00", "leased", "ada", {"ids": ["7", "8"]}),
    ...     Event(2, "2026-11-15T10:00:03+00:00", "answered", "ada", {"id": "7", "label": "1"}),
    ...     Event(3, "2026-11-15T10:00:08+00:00", "skipped", "ada", {"id": "8"}),
    ... ])
    >>> tally.median("ada"), tally.median("bob"), tally.last
    (4.0, None, 3)
    """

    def __init__(self) -> None:
        self.last = 0
        """The last event counted."""
        self._handed: dict[tuple[str, str], datetime] = {}
        self._before: dict[str, datetime] = {}
        self._seconds: dict[str, list[float]] = {}

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            self.last = event.id
            if event.kind in ("leased", "undone"):
                ids = event.body["ids"] if event.kind == "leased" else [event.body["id"]]
                for id in ids:
                    self._handed[event.actor, id] = datetime.fromisoformat(event.at)
            elif event.kind in ("answered", "skipped"):
                handed = self._handed.pop((event.actor, event.body["id"]), None)
                at = datetime.fromisoformat(event.at)
                if handed is not None:
                    seen = max(handed, self._before.get(event.actor, handed))
                    self._seconds.setdefault(event.actor, []).append((at - seen).total_seconds())
                self._before[event.actor] = at

    def median(self, actor: str) -> float | None:
        seconds = self._seconds.get(actor)
        return median(seconds) if seconds else None
