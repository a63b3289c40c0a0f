"""Where a campaign stands, in numbers."""

from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import RowStatus, State
from unskew.campaigns.ledger.work import Work, work_of
from unskew.estimation.aims import Aim
from unskew.methods.prospect import Prospect

if TYPE_CHECKING:
    from unskew.estimation.population import PopulationEstimate


@dataclass(frozen=True, slots=True)
class Status:
    """Where a campaign stands.

    `spent` labels of `budget` have been given. `open` rows have been asked for and not answered: they are `waiting`
    for somebody, `leased` to somebody, or `expired`, and then go to the next person who asks. `left` more rows may be
    planned. `aim` is what the model is for, and `decision` says from what probability on a row is flagged, if errors
    differ in what they cost or a recall is wanted. `estimates` are the latest, by measure: made when a round closed,
    before that from the log alone. There are none while no label was drawn at random. `error` is one of them.
    `prospect` is what the next labels were then expected to gain, if that could be said. `sources` says where labels
    came from before the campaign, and `known` is the number of rows of the pool that had one.
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
    aim: Aim
    decision: str | None
    estimates: "dict[str, PopulationEstimate]"
    prospect: Prospect | None
    annotators: dict[str, Work]
    known: int = 0
    sources: tuple[str, ...] = ()

    @property
    def error(self) -> "PopulationEstimate | None":
        """The latest estimate of the error."""
        return self.estimates.get("error")

    @property
    def told(self) -> str:
        """How far the model gets, as the end of a sentence about it."""
        return self.aim.told(self.estimates, self.classes[1])

    @property
    def beside(self) -> list[str]:
        """The sentences that stand beside that."""
        return self.aim.beside(self.estimates, self.classes)

    @property
    def available(self) -> int:
        """The number of rows that anybody may have now."""
        return self.waiting + self.expired

    @property
    def ended(self) -> str | None:
        """Why no row can be asked for although labels are left in the budget, if that is so."""
        if self.open or self.left or self.spent >= self.budget:
            return None
        skipped = f"{self.skipped} {'was' if self.skipped == 1 else 'were'} skipped"
        return f"No row is left: {skipped}, and {self.spent} of {self.budget} labels were given."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        error = None if self.error is None else asdict(self.error)
        annotators = {name: work.as_dict() for name, work in self.annotators.items()}
        return {**asdict(self), "error": error, "annotators": annotators}


def status_of(state: State, settings: Settings, now: datetime) -> Status:
    """The status of a state at a time."""
    expired = sum(row.expired(now) for row in state.open.values())
    latest: dict[str, PopulationEstimate] = next(reversed(state.estimates.values()), {})
    lead = settings.aim.leading(latest)
    waiting = sum(row.status == RowStatus.WAITING for row in state.open.values())
    return Status(
        method=settings.method,
        budget=state.budget,
        spent=state.spent,
        skipped=state.skipped,
        open=len(state.open),
        waiting=waiting,
        leased=len(state.open) - waiting - expired,
        expired=expired,
        left=room(state, settings),
        rounds=len(state.batches),
        closed=sum(batch.closed is not None for batch in state.batches),
        log_rows=settings.log_rows,
        pool_rows=settings.pool_rows,
        classes=list(settings.classes),
        aim=settings.aim,
        decision=settings.decision(None if lead is None else lead.threshold),
        estimates=latest,
        prospect=state.prospect,
        annotators=work_of(state, now),
        known=settings.pool_labelled,
        sources=settings.sources,
    )


def room(state: State, settings: Settings) -> int:
    """The number of rows that may still be planned: as many as both the budget and the pool allow."""
    return min(state.left, settings.pool_rows - settings.pool_labelled - len(state.rows))


def as_html(name: str, status: Status) -> str:
    """A small table, for notebooks."""
    people = ", ".join(f"{name} ({work.answered})" for name, work in status.annotators.items())
    facts = {
        "campaign": name,
        "labels": f"{status.spent} of {status.budget}",
        "rounds": f"{status.rounds}, {status.closed} closed",
        "the model": status.told.removeprefix("is "),
        "people": people or "nobody yet",
    }
    rows = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f'<table class="unskew-campaign"><tbody>{rows}</tbody></table>'
