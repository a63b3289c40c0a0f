"""Where the campaign stands, for the progress page."""

from dataclasses import asdict

from unskew.campaigns import State, Status, Work
from unskew.estimation.aims import MEANINGS, NAMES
from unskew.web.desk import Desk
from unskew.web.models import Annotator, ErrorPoint, Followed, Gain, Point, Progress
from unskew.web.planner import Runner


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
            aim=_followed(state, status),
            error=[
                ErrorPoint(
                    labels=labels,
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
            people=_people(state, status.annotators),
            blind_spots=list(outlook.spots),
            ahead=outlook.ahead,
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
        points=[Point(labels=n, value=found.value, low=found.low, high=found.high) for n, found in known.items()],
        left_out=len(state.estimates) - len(known),
    )


def _people(state: State, annotators: dict[str, Work]) -> list[Annotator]:
    """Everybody who worked or was invited, most labels first."""
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
            )
        )
    return sorted(people, key=lambda person: (-person.labels, person.name))
