"""Where a campaign stands, in numbers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import RowStatus, State
from unskew.campaigns.ledger.two_people import TwoPeople, two_people
from unskew.campaigns.ledger.work import Work, work_of
from unskew.estimation.agreement import label_noise
from unskew.estimation.aims import UNKNOWN, Aim
from unskew.estimation.sentences import ahead
from unskew.methods.prospect import Prospect

if TYPE_CHECKING:
    from unskew.estimation.ahead import Ahead
    from unskew.estimation.population import PopulationEstimate


@dataclass(frozen=True, slots=True)
class Status:
    """Where a campaign stands.

    `spent` labels of `budget` have been given. `open` rows have been asked for and not answered: they are `waiting`
    for somebody, `leased` to somebody, or `expired`, and then go to the next person who asks. `left` more rows may be
    planned. `aim` is what the model is for, and `decision` says from what probability on a row is flagged, if errors
    differ in what they cost or a recall is wanted. `estimates` are the latest, by measure: made when a round closed,
    before that from the log alone. There are none while no label was drawn at random, nor while they are `stale`: the
    pool was extended, and they have to be made again for all of its rows. `error` is one of them.
    `prospect` is what the next labels were then expected to gain, if that could be said. `sources` says where labels
    came from before the campaign, and `known` is the number of rows of the pool that had one. The pool had `first_rows`
    when the campaign began, and `extensions` say how many rows came later, and after how many rounds. `ended` says
    whether the campaign was ended, and `two_people` how far people agree on the rows that two of them saw.
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
    ended: bool = False
    two_people: TwoPeople = field(default_factory=TwoPeople)
    first_rows: int = 0
    extensions: tuple[tuple[int, int], ...] = ()
    stale: bool = False

    @property
    def error(self) -> "PopulationEstimate | None":
        """The latest estimate of the error."""
        return self.estimates.get("error")

    @property
    def told(self) -> str:
        """How far the model gets, as the end of a sentence about it."""
        if self.stale:
            return "not known yet: the pool was extended since it was estimated"
        if self.extensions and not self.estimates:
            return f"{UNKNOWN} since the pool was extended"
        return self.aim.told(self.estimates, self.classes[1])

    @property
    def pool(self) -> str:
        """The number of rows of the pool, and how it grew."""
        return grown(self.first_rows, self.extensions)

    @property
    def beside(self) -> list[str]:
        """The sentences that stand beside that."""
        return [*self.aim.beside(self.estimates, self.classes), *self.noise]

    @property
    def noise(self) -> list[str]:
        """What labels that are partly wrong do to the error, if that is worth a word."""
        found = self.error
        if found is None:
            return []
        told = label_noise(self.two_people.all, (found.value, found.low, found.high), len(self.classes))
        return [told] if told else []

    @property
    def available(self) -> int:
        """The number of rows that anybody may have now."""
        return self.waiting + self.expired

    @property
    def unasked(self) -> int:
        """The number of rows of the pool that nobody was asked for yet."""
        return self.pool_rows - self.known - self.spent - self.skipped - self.open

    @property
    def more(self) -> int:
        """The number of labels that may still be given."""
        return self.left + self.open

    @property
    def advice(self) -> str:
        """Whether to go on, by the stopping rule, the budget and the pool."""
        gain = self.prospect
        if self.ended:
            return f"The campaign has ended with {self.spent} of {self.budget} labels."
        if not self.more and not self.unasked:
            return "Every row of the pool was asked for. Stop here, or give the pool new rows."
        if self.more:
            if gain is None:
                return "It is too early to say whether more labels are worth it. Go on."
            return (
                "You can stop here: more labels would gain little."
                if gain.enough
                else "Go on: more labels are worth it."
            )
        if gain is None:
            return "The budget is spent. It is too early to say whether more labels are worth it: raise it, if you can."
        if gain.enough:
            return "The budget is spent, and you can stop here: more labels would gain little."
        return "The budget is spent, and more labels are worth it: raise it, if you can."

    def ahead(self, found: "Ahead | None") -> str:
        """What more labels would do to the interval, in sentences."""
        return ahead(found, self.aim.interval if self.more else "the interval of the error")

    @property
    def exhausted(self) -> str | None:
        """Why no row can be asked for although labels are left in the budget, if that is so."""
        if self.open or self.left or self.spent >= self.budget:
            return None
        skipped = f"{self.skipped} {'was' if self.skipped == 1 else 'were'} skipped"
        return f"No row is left: {skipped}, and {self.spent} of {self.budget} labels were given."

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        error = None if self.error is None else asdict(self.error)
        annotators = {name: work.as_dict() for name, work in self.annotators.items()}
        return {**asdict(self), "error": error, "annotators": annotators, "two_people": self.two_people.as_dict()}


def status_of(state: State, settings: Settings, now: datetime) -> Status:
    """The status of a state at a time."""
    settings = settings.with_parts(state.parts)
    expired = sum(row.expired(now) for row in state.open.values())
    lead = settings.aim.leading(state.latest)
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
        estimates=state.latest,
        prospect=state.prospect,
        annotators=work_of(state, now),
        known=settings.pool_labelled,
        sources=settings.sources,
        ended=state.arrangement.ended,
        two_people=two_people(state),
        first_rows=settings.first_rows,
        extensions=tuple((part.rows, part.after) for part in state.parts),
        stale=state.stale,
    )


def grown(first: int, extensions: Sequence[tuple[int, int]]) -> str:
    """The rows that a pool had first, and those that came later: how many, after how many rounds.

    >>> grown(2500, [(800, 4), (1, 6)]), grown(1, [(9, 0)])
    ('2,500 rows, then 800 more after round 4, then 1 more after round 6', '1 row, then 9 more before round 1')
    """
    later = (f"{rows:,} more {f'after round {after}' if after else 'before round 1'}" for rows, after in extensions)
    return ", then ".join((f"{first:,} row{'s' if first != 1 else ''}", *later))


def room(state: State, settings: Settings) -> int:
    """The number of rows that may still be planned: as many as both the budget and the pool allow; none once ended."""
    if state.arrangement.ended:
        return 0
    rows = settings.with_parts(state.parts).pool_rows
    return min(state.left, rows - settings.pool_labelled - len(state.rows))


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
