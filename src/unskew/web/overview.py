"""Where the campaign stands, for the progress page."""

from dataclasses import asdict

from unskew.campaigns import State, Status, Work
from unskew.estimation.agreement import Agreement
from unskew.estimation.aims import MEANINGS, NAMES
from unskew.web.desk import Desk
from unskew.web.models import (
    Advice,
    Agreed,
    AgreedThen,
    Annotator,
    ErrorPoint,
    Followed,
    Gain,
    Point,
    Progress,
    TwoPeople,
)
from unskew.web.planner import Outlook, Runner


class Overview:
    """Reports the ledger's status. Findings that take long to compute come from the planner."""

    def __init__(self, desk: Desk, planner: Runner) -> None:
        self.desk, self.planner = desk, planner

    def progress(self) -> Progress:
        """Everything, as of now."""
        desk, campaign, outlook = self.desk, self.desk.campaign, self.planner.outlook
        status, state = campaign.status(), campaign.refresh()
        return Progress(
            name=campaign.name,
            method=status.method,
            budget=status.budget,
            spent=status.spent,
            skipped=status.skipped,
            held=status.leased,
            waiting=status.available,
            rounds=status.rounds,
            closed=status.closed,
            stand="rows" if status.available else desk.supply(state),
            trouble=outlook.trouble,
            damage=outlook.damage,
            aim=_followed(state, status),
            error=[
                ErrorPoint(
                    labels=labels,
                    rows=state.rows_then(labels, status.first_rows),
                    value=found.value,
                    low=found.low,
                    high=found.high,
                    commoner=found.commoner,
                    flagged=found.flagged,
                )
                for labels, found in sorted(state.errors.items())
            ],
            prospect=None if status.prospect is None else Gain(**asdict(status.prospect), words=str(status.prospect)),
            words=status.beside,
            ended=status.ended,
            advice=_advice(status, outlook),
            two_people=TwoPeople(
                share=state.arrangement.overlap,
                waiting=status.two_people.waiting,
                conflicts=status.two_people.conflicts,
                all=_agreed(status.two_people.all),
                over_time=[
                    AgreedThen(since=one.since, until=one.until, agreement=Agreed(**one.agreement._asdict()))
                    for one in status.two_people.over_time
                ],
            ),
            people=_people(state, status),
            blind_spots=list(outlook.spots),
            ahead=status.ahead(outlook.ahead and outlook.ahead.after(status.spent - outlook.spent)),
        )


def _followed(state: State, status: Status) -> Followed:
    """The estimates of what leads, over the campaign."""
    aim, now = status.aim, status.aim.leading(status.estimates)
    measure = aim.measures[0] if now is None else now.measure
    known = {labels: found[measure] for labels, found in sorted(state.estimates.items()) if measure in found}
    return Followed(
        measure=measure,
        name=NAMES[measure],
        meaning=MEANINGS[measure].format(positive=status.classes[1]),
        wanted=aim.recall if measure == "recall" else None,
        decision=status.decision,
        rows=status.pool_rows,
        told=status.told,
        rests_on=None if now is None else now.rests_on,
        alone=now is not None and now.log_share == 1.0,
        points=[
            Point(labels=n, rows=state.rows_then(n, status.first_rows), value=one.value, low=one.low, high=one.high)
            for n, one in known.items()
        ],
        left_out=len(state.estimates) - len(known),
    )


def _agreed(found: Agreement | None) -> Agreed | None:
    return None if found is None else Agreed(**found._asdict())


def _advice(status: Status, outlook: Outlook) -> Advice:
    """The advice of the stopping rule, and what the next labels should do: as many as are left of those looked at."""
    gain, then = status.prospect, outlook.next
    labels = 0 if then is None else then[0] - (status.spent - outlook.spent)
    if labels <= 0:  # nothing is known of the interval; the gain was looked at for some labels of its own
        then, labels = None, min(gain.labels if gain else 0, status.more or status.unasked)
    known = gain is not None and gain.measure == "error" and labels > 0
    return Advice(
        stop=None if gain is None else gain.enough,
        words=status.advice,
        spent=not status.more,
        labels=labels or None,
        half_width=then and then[1],
        gain=gain.each * min(labels, gain.labels) if gain is not None and known else None,
    )


def _people(state: State, status: Status) -> list[Annotator]:
    """Everybody who worked or was invited, most labels first."""
    annotators = status.annotators
    invited = {name for name, person in state.people.items() if person.role == "annotator"}
    people = []
    for name in {*annotators, *invited}:
        work = annotators.get(name, Work())
        people.append(
            Annotator(
                name=name,
                labels=work.answered,
                skips=work.skipped,
                held=work.holds,
                last_seen=work.last,
                median_seconds=work.median_seconds,
                by_class=work.labels,
                invited=name in invited,
                barred=state.barred(name),
                agreement=_agreed(status.two_people.by_person.get(name)),
            )
        )
    return sorted(people, key=lambda person: (-person.labels, person.name))
