"""`unskew budget`, `end`, `reopen` and `guide`: what may change while a campaign runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import By, Dir, Json, command, count, login, next_step, print_json, say_next
from unskew.errors import InputError

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


def guide(
    dir: Dir,
    question: Annotated[str | None, typer.Option(help="What is asked of each row.")] = None,
    guidelines: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How to decide, as a Markdown file. An empty one removes them.")
    ] = None,
    explain: Annotated[
        list[str] | None, typer.Option(metavar="CLASS=WORDS", help="A word of explanation for a class. Repeatable.")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN[=NAME]", help="A column that people see, under this name. In order; repeatable."),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--show-all", help="Show all columns again, under their own names.")
    ] = False,
    highlight: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A word to highlight in texts. Repeatable; '' for none.")
    ] = None,
    overlap: Annotated[
        float | None, typer.Option(help="Share of the rows planned from now on that a second person sees too.")
    ] = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """What people read on the page: question, guidelines, columns.

    Without options, this shows it.

    unskew guide bank --question "Did the applicant repay within a year?" --guidelines how.md

    unskew guide bank --explain yes="all instalments were paid" --show income="Income a year" --show purpose

    unskew guide bank --overlap 0.1
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        changes: dict[str, Any] = {"question": question, "overlap": overlap}
        if guidelines is not None:
            changes["guidelines"] = guidelines_in(guidelines)
        if explain is not None:
            changes["explained"] = {
                **campaign.arrangement.explained,
                **dict(_pair(one, "--explain") for one in explain),
            }
        if show is not None or show_all:
            if show is not None and show_all:
                raise InputError("--show and --show-all contradict each other. Leave one of them out.")
            changes["columns"] = [one.partition("=")[::2] for one in show or ()]
        if highlight is not None:
            changes["highlighted"] = highlight
        wanted = {name: value for name, value in changes.items() if value is not None}
        found = campaign.arrange(by=login(by), **wanted) if wanted else campaign.arrangement
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


def guidelines_in(path: Path) -> str:
    """The text of a file of guidelines."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{path} cannot be read: {why}. Name a text file in Markdown.") from None


def _pair(given: str, option: str) -> tuple[str, str]:
    name, found, words = given.partition("=")
    if not found:
        raise InputError(f'{option} must be CLASS=WORDS; got {given!r}. Try {option} yes="all was paid".')
    return name.strip(), words


def arranged(campaign: "Campaign", changes: dict[str, Any], by: str) -> None:
    """Arrange what was given at the start of a campaign."""
    wanted = {name: value for name, value in changes.items() if value}
    if wanted:
        campaign.arrange(by=by, **wanted)
