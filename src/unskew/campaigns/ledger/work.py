"""What each person did in a campaign. The status, the report and the page all count with this."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from unskew.campaigns.ledger.state import State


@dataclass(frozen=True, slots=True)
class Work:
    """What one person did, and the number of rows they hold now."""

    labels: dict[str, int] = field(default_factory=dict)
    """The number of labels by class; classes that were never given are left out."""
    skipped: int = 0
    holds: int = 0
    corrections: int = 0
    first: str | None = None
    """When the first answer or skip that still stands was given, as ISO time."""
    last: str | None = None
    median_seconds: float | None = None

    @property
    def answered(self) -> int:
        """The number of labels."""
        return sum(self.labels.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"answered": self.answered, **asdict(self)}


def work_of(state: State, now: datetime) -> dict[str, Work]:
    """Everybody who answered, skipped, corrected or holds a row, by name."""
    labels: dict[str, Counter[str]] = {}
    skipped, holds = Counter[str](), Counter[str]()
    times: dict[str, list[str]] = {}
    for row in state.rows.values():
        if row.by is not None and row.at is not None:
            times.setdefault(row.by, []).append(row.at)
            if row.label is None:
                skipped[row.by] += 1
            else:
                labels.setdefault(row.by, Counter())[row.label] += 1
        elif row.holder is not None and not row.free(now):
            holds[row.holder] += 1
    return {
        name: Work(
            labels=dict(labels.get(name, {})),
            skipped=skipped[name],
            holds=holds[name],
            corrections=state.corrections[name],
            first=min(times[name]) if name in times else None,
            last=max(times[name]) if name in times else None,
            median_seconds=state.pace.median(name),
        )
        for name in sorted({*times, *holds, *state.corrections})
    }
