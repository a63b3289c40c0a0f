"""Where a campaign stands, in numbers."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from unskew.campaigns.ledger.state import State


@dataclass(frozen=True, slots=True)
class Work:
    """What one annotator did, and holds now."""

    answered: int = 0
    skipped: int = 0
    holds: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """Where a campaign stands.

    `spent` labels of `budget` are in; `open` rows are asked for and not answered: `waiting` for somebody, `leased`, or
    `expired`, which go to whoever asks next. `left` rows may still be planned. `error` is the estimate written last:
    when a round closed, before that from the log alone; None while no label came at random.
    """

    method: str
    budget: int
    spent: int
    skipped: int
    open: int
    waiting: int
    leased: int
    expired: int
    left: int
    rounds: int
    closed: int
    log_rows: int
    pool_rows: int
    classes: list[str]
    error: dict[str, Any] | None
    annotators: dict[str, Work]

    @property
    def ended(self) -> str | None:
        """Why no row can be asked for although labels are left, if that is so."""
        if self.open or self.left or self.spent >= self.budget:
            return None
        skipped = f"{self.skipped} {'was' if self.skipped == 1 else 'were'} skipped"
        return f"No row is left: {skipped}, {self.spent} of {self.budget} labels spent."

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return asdict(self)


def status_of(state: State, settings: dict[str, Any], now: datetime) -> Status:
    """The status of a state at a time."""
    counts: dict[str, list[int]] = {}
    for row in state.rows.values():
        if row.by is not None:
            counts.setdefault(row.by, [0, 0, 0])[row.status == "skipped"] += 1
        elif row.holder is not None and not row.free(now):
            counts.setdefault(row.holder, [0, 0, 0])[2] += 1
    expired = sum(row.expired(now) for row in state.open.values())
    waiting = sum(row.status == "waiting" for row in state.open.values())
    return Status(
        method=settings["method"],
        budget=state.budget,
        spent=state.spent,
        skipped=state.skipped,
        open=len(state.open),
        waiting=waiting,
        leased=len(state.open) - waiting - expired,
        expired=expired,
        left=min(state.left, settings["pool_rows"] - len(state.rows)),
        rounds=len(state.batches),
        closed=sum(batch.closed is not None for batch in state.batches),
        log_rows=settings["log_rows"],
        pool_rows=settings["pool_rows"],
        classes=list(settings["classes"]),
        error=next(reversed(state.errors.values()), None),
        annotators={name: Work(*count) for name, count in sorted(counts.items())},
    )
