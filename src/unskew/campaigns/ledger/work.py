"""What each person did in a campaign. The status, the report and the page all count with this."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from unskew.campaigns.ledger.state import Barred, Row, State


@dataclass(frozen=True, slots=True)
class Work:
    """What one person did, and the number of rows they hold now."""

    labels: dict[str, int] = field(default_factory=dict)
    """The number of labels by class; classes that were never given are left out. A label that somebody corrected counts
    for them. If a row is for two people, all that they said counts."""
    skipped: int = 0
    holds: int = 0
    corrections: int = 0
    first: str | None = None
    """When the first answer or skip that still stands was given, as ISO time."""
    last: str | None = None
    median_seconds: float | None = None
    barred: Barred | None = None
    """Why they get no rows, if that is so."""

    @property
    def answered(self) -> int:
        """The number of labels."""
        return sum(self.labels.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"answered": self.answered, **asdict(self)}


def said_of(row: Row) -> list[tuple[str, str | None, str]]:
    """Who gave which label of a row when, None for a skip: every opinion, and the answer that settled it."""
    said = [(one.by, one.label, one.at) for one in row.opinions]
    if row.by is not None and row.at is not None and row.said(row.by) is None:
        said.append((row.by, row.label, row.at))
    return said


def work_of(state: State, now: datetime) -> dict[str, Work]:
    """Everybody who answered, skipped, corrected or holds a row, by name."""
    labels: dict[str, Counter[str]] = {}
    skipped, holds = Counter[str](), Counter[str]()
    times: dict[str, list[str]] = {}
    for row in (*state.rows.values(), *state.again.values()):
        for by, label, at in said_of(row)[-1:] if not row.for_two else said_of(row):
            times.setdefault(by, []).append(at)
            if label is None:
                skipped[by] += 1
            else:
                labels.setdefault(by, Counter())[label] += 1
        if row.holder is not None and not row.free(now):
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
            barred=state.barred(name),
        )
        for name in sorted({*times, *holds, *state.corrections, *state.paused})
    }
