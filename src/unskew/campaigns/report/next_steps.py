"""What to do next in a campaign, as the end of its report."""

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from unskew.campaigns.audit.filling import Filled
from unskew.campaigns.ledger.status import Status
from unskew.estimation.ahead import Ahead
from unskew.estimation.sentences import percent
from unskew.methods.prospect import AHEAD

THIN = 0.5
"""A blind spot is still thin if its share of all labels is less than this part of its share of everyone."""

ENOUGH = "Stop here, unless the interval is too wide for you"


class Step(NamedTuple):
    """Something to do, why, and the commands that do it, if there are any."""

    title: str
    text: str
    commands: tuple[str, ...] = ()


def next_steps(name: str, status: Status, to_come: Ahead | None, spots: Sequence[Filled]) -> list[Step]:
    """What to do next: about labels, about blind spots, with the model. `name` is the campaign's folder."""
    thin = [spot for spot in spots if spot.share_now < THIN * spot.population_share]
    use = Step(
        "Use the model",
        "It classifies new rows that have the pool's columns, with their probabilities. Export it to use it elsewhere. "
        "If the population changes, label some rows drawn at random again, and write this page again.",
        (_command("predict", name, "new.csv", "--out", "predictions.csv"), _command("export", name)),
    )
    return [_labels(name, status, to_come), *([_look(name, thin[0])] if thin and status.spent else []), use]


def _labels(name: str, status: Status, to_come: Ahead | None) -> Step:
    """Whether to ask for more labels, and how."""
    found, label, more = status.prospect, _command("serve", name), status.more
    gain = "What more labels would gain cannot be said yet." if found is None else str(found)
    told = f"{gain} {status.ahead(to_come)}".strip()
    enough = found is not None and found.enough
    if status.ended:
        return Step("Stop here, or reopen the campaign", f"{status.advice} {told}", (_command("reopen", name),))
    if more and not status.spent:
        return Step("Label the first rows", f"Nobody has labelled yet. {status.budget} labels may be given.", (label,))
    if more and not enough:
        return Step(f"Go on labelling: {more} of {status.budget} labels are left", told, (label,))
    if more:
        return Step(ENOUGH, told, (label,))
    if not status.unasked:
        extend = _command("extend", name, "--pool", "more.csv")
        return Step("Stop here, or find more rows", status.advice, (extend,))
    wanted = [plan.labels for plan in to_come.needed if plan.labels] if to_come else []
    if enough:
        commands = [_command("budget", name, str(status.budget + labels)) for labels in wanted[:1]]
        return Step(ENOUGH, f"The budget is spent. {told}", tuple(commands))
    raised = _command("budget", name, str(status.budget + min(AHEAD, status.unasked)))
    return Step("Raise the budget, if you can", f"The budget is spent. {told}", (raised, label))


def _command(*words: str) -> str:
    return f"unskew {shlex.join(words)}"


def _look(name: str, spot: Filled) -> Step:
    """Check the largest blind spot that still has few labels."""
    shares = f"{percent(spot.population_share)} % of everyone and {percent(spot.share_now)} % of the labels"
    return Step(
        "Look at the blind spot before you rely on predictions there",
        f"The region where {spot.rule} has {shares}. It may do well there all the same: ask for the error there.",
        (_command("error", name, "--where", spot.where),),
    )
