"""How long people take for a row, counted from the ledger's events as they come."""

from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

from unskew.campaigns.ledger.events import Answered, Leased, Recorded, Seconded, Skipped, Undone

LATEST = 1000
"""The number of answers of a person that count, the latest: of a history without end, only so much is kept."""


@dataclass
class Pace:
    """The seconds from seeing a row to answering it, of each person's latest answers.

    A person sees a row once it is handed out and the row before it is answered.

    >>> until = datetime.fromisoformat("2026-11-15T10:30:00+00:00")
    >>> pace = Pace()
    >>> for recorded in (
    ...     Recorded(1, "2026-11-15T10:00:00+00:00", "ada", Leased(("7", "8"), until)),
    ...     Recorded(2, "2026-11-15T10:00:03+00:00", "ada", Answered("7", "1")),
    ...     Recorded(3, "2026-11-15T10:00:08+00:00", "ada", Skipped("8")),
    ... ):
    ...     pace.add(recorded)
    >>> pace.median("ada"), pace.median("bob")
    (4.0, None)
    """

    handed: dict[tuple[str, str], datetime] = field(default_factory=dict)
    """When (person, row) came together, for rows not answered yet."""
    before: dict[str, datetime] = field(default_factory=dict)
    """When each person answered last."""
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, recorded: Recorded) -> None:
        """Count one more event."""
        event, actor = recorded.event, recorded.actor
        if isinstance(event, Leased | Undone):
            at = datetime.fromisoformat(recorded.at)
            for id in event.ids if isinstance(event, Leased) else (event.id,):
                self.handed[actor, id] = at
        elif isinstance(event, Answered | Seconded | Skipped):
            handed = self.handed.pop((actor, event.id), None)
            at = datetime.fromisoformat(recorded.at)
            if handed is not None:
                seen = max(handed, self.before.get(actor, handed))
                seconds = self.seconds.setdefault(actor, [])
                seconds.append((at - seen).total_seconds())
                del seconds[:-LATEST]
            self.before[actor] = at

    def median(self, actor: str) -> float | None:
        """The median number of seconds; None if there is no answer yet."""
        seconds = self.seconds.get(actor)
        return median(seconds) if seconds else None
