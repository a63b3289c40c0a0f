"""Where the campaign stands, for the progress page."""

from unskew.campaigns import State, Work
from unskew.web.desk import Desk
from unskew.web.models import Annotator, ErrorPoint, Progress
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
            error=[
                ErrorPoint(labels=labels, value=found.value, low=found.low, high=found.high)
                for labels, found in sorted(state.errors.items())
            ],
            people=_people(state, status.annotators),
            blind_spots=list(outlook.spots),
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
