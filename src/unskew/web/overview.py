"""How the campaign stands, for the progress page."""

from collections import Counter, defaultdict
from datetime import datetime

from unskew.campaigns import State
from unskew.web.desk import Desk
from unskew.web.models import Estimate, Person, Status
from unskew.web.planner import Runner
from unskew.web.tally import Tally


class Overview:
    """Counts what the ledger says; what takes long to find out, the planner says."""

    def __init__(self, desk: Desk, planner: Runner) -> None:
        self.desk, self.planner = desk, planner
        self._tally = Tally()

    def status(self) -> Status:
        """Everything, as of now."""
        desk, campaign, outlook = self.desk, self.desk.campaign, self.planner.outlook
        with desk.lock:
            state, now = campaign.refresh(), campaign.ledger.now()
            self._tally.add(campaign.ledger.events(campaign.id, self._tally.last))
            free = sum(row.free(now) for row in state.open.values())
            newest = next(reversed(state.errors), 0)  # after an undo others may tell of labels that are no more
            return Status(
                name=campaign.folder.path.absolute().name,
                method=campaign.settings["method"],
                budget=state.budget,
                spent=state.spent,
                skipped=state.skipped,
                held=len(state.open) - free,
                waiting=free,
                rounds=len(state.batches),
                closed=sum(batch.closed is not None for batch in state.batches),
                stand="rows" if free else desk.stand(state),
                trouble=outlook.trouble,
                error=[
                    Estimate(labels=labels, value=e["value"], low=e["low"], high=e["high"])
                    for labels, e in sorted(state.errors.items())
                    if labels <= newest
                ],
                people=self._people(state, now),
                blind_spots=list(outlook.spots),
            )

    def _people(self, state: State, now: datetime) -> list[Person]:
        given: dict[str, Counter[str]] = defaultdict(Counter)
        skips, held, last = Counter[str](), Counter[str](), dict[str, str]()
        for row in state.rows.values():
            if row.by is not None and row.at is not None:
                last[row.by] = max(last.get(row.by, ""), row.at)
                if row.label is None:
                    skips[row.by] += 1
                else:
                    given[row.by][row.label] += 1
            elif row.holder is not None and not row.free(now):
                held[row.holder] += 1
        invited = {name for name, person in state.people.items() if person.role == "annotator"}
        people = [
            Person(
                name=name,
                labels=given[name].total(),
                skips=skips[name],
                held=held[name],
                last_seen=last.get(name),
                median_seconds=self._tally.median(name),
                by_class=dict(given[name]),
                invited=name in invited,
            )
            for name in {*given, *skips, *held, *invited}
        ]
        return sorted(people, key=lambda person: (-person.labels, person.name))
