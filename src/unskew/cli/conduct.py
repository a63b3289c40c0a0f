"""`unskew budget`, `end`, `reopen` and `guide`: what may change while a campaign runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.campaigns.ledger.arrangement import ARRANGED
from unskew.campaigns.options import typed
from unskew.cli.campaign import By, Dir, Json, command, count, login, next_step, print_json, say_next
from unskew.cli.options import OF_GUIDE, taking

if TYPE_CHECKING:
    from unskew.campaigns import Campaign


def budget(
    dir: Dir,
    labels: Annotated[int | None, typer.Argument(metavar="LABELS", help="The new budget. Default: show it.")] = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Show, raise or lower the number of labels that may be bought.

    unskew budget bank 300
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        if labels is not None:
            campaign.arrange(budget=labels, by=login(by))
        status = campaign.status()
    step = next_step(status, dir)
    if as_json:
        print_json({"budget": status.budget, "spent": status.spent, "left": status.left, "next": step})
        return
    print(f"{status.spent} of {count(status.budget, 'label')} given, {status.left} more may be asked for")
    say_next(*step)


def end(dir: Dir, by: By = None, as_json: Json = False) -> None:
    """End a campaign: no more rows are handed out. Answers to rows that people hold still count.

    unskew end bank
    """
    _end(dir, by, as_json, ended=True)


def reopen(dir: Dir, by: By = None, as_json: Json = False) -> None:
    """Go on with a campaign that was ended.

    unskew reopen bank
    """
    _end(dir, by, as_json, ended=False)


def _end(dir: Path, by: str | None, as_json: bool, *, ended: bool) -> None:
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        campaign.arrange(ended=ended, by=login(by))
        status = campaign.status()
    step = ["report", str(dir)] if ended else next_step(status, dir)
    if as_json:
        print_json({"ended": status.ended, "spent": status.spent, "budget": status.budget, "next": step})
        return
    given = f"{status.spent} of {count(status.budget, 'label')} given"
    print(f"the campaign has ended with {given}" if ended else f"the campaign goes on: {given}")
    say_next(*step)


@taking(OF_GUIDE, optional=True)
def guide(dir: Dir, by: By = None, as_json: Json = False, **chosen: Any) -> None:
    """What people read on the page: question, guidelines, columns.

    Without options, this shows it.

    unskew guide bank --question "Did the applicant repay within a year?" --guidelines how.md

    unskew guide bank --explain yes="all instalments were paid" --show income="Income a year" --show purpose

    unskew guide bank --overlap 0.1
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        changes = typed(ARRANGED, chosen)
        if "explained" in changes:
            changes["explained"] = {**campaign.arrangement.explained, **changes["explained"]}
        found = campaign.arrange(by=login(by), **changes) if changes else campaign.arrangement
    if as_json:
        print_json(found.as_record())
        return
    print(f"question    {found.question or '(the name of the column)'}")
    lines = found.guidelines.splitlines() or ["none"]
    more = f" (and {count(len(lines) - 1, 'line')} more)" if len(lines) > 1 else ""
    print(f"guidelines  {lines[0]}{more}")
    for name, words in found.explained.items():
        print(f"            {name}: {words}")
    shown = [f"{column} as {name!r}" if name else column for column, name in found.columns]
    print(f"columns     {', '.join(shown) or 'all'}")
    print(f"highlighted {', '.join(found.highlighted) or 'no words'}")
    print(f"two people  {100 * found.overlap:g} % of the rows")
    typer.echo(f"next: {command('serve', dir)}")


def arranged(campaign: "Campaign", changes: dict[str, Any], by: str) -> None:
    """Arrange what was given at the start of a campaign."""
    wanted = {name: value for name, value in changes.items() if value}
    if wanted:
        campaign.arrange(by=by, **wanted)
