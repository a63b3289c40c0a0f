"""`unskew answers`, `correct` and `comment`: what people said, and putting it right."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from unskew.cli.campaign import By, Dir, Json, count, login, print_json, say_next
from unskew.cli.progress import waiting
from unskew.errors import InputError, exact

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the row.")]
MOST = 50


def answers(
    dir: Dir,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Only what this person said.")] = None,
    label: Annotated[str | None, typer.Option(help="Only answers of this class; '' for skips.")] = None,
    search: Annotated[
        str, typer.Option(help="Only rows in which these words occur, or in what was written about them.")
    ] = "",
    since: Annotated[str | None, typer.Option(metavar="DATE", help="From this day on: 2026-11-18.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Up to this day, and not on it.")] = None,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="Only rows on which people differ.")] = False,
    doubt: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Only labels that the model, not knowing them, thinks wrong with this chance."
        ),
    ] = None,
    most: Annotated[int, typer.Option("-n", "--number", min=1, help="Show at most this many.")] = MOST,
    as_json: Json = False,
) -> None:
    """What people said, latest first.

    unskew answers bank --by ann --label yes

    unskew answers bank --doubt 0.9

    unskew answers bank --conflicts
    """
    from unskew.campaigns import Campaign

    if doubt is not None and not 0.0 <= doubt <= 1.0:
        raise InputError(f"--doubt must be a share from 0 to 1; got {exact(doubt)}. Try --doubt 0.9.")
    with Campaign.open(dir) as campaign:
        ids = [row.id for row in campaign.state.conflicts()] if conflicts else None
        found = campaign.answers(
            by=by, label=label, search=search, since=_day(since), until=_day(until), ids=ids
        )  # fmt: skip
        doubts: dict[str, float] = {}
        if doubt is not None:
            with waiting("judging the answers") as report:
                campaign.watch(report)
                doubts = campaign.doubts()
            found = [one for one in found if one.counts and doubts.get(one.row.id, 0.0) >= doubt]
    if as_json:
        listed = [{**one.as_dict(), "doubt": doubts.get(one.row.id)} for one in found[:most]]
        print_json({"found": len(found), "answers": listed})
        return
    for one in found[:most]:
        said = "skipped" if one.label is None else one.label
        marks = [
            "" if one.counts else f"{one.row.label} counts",
            "in conflict" if one.row.conflict else "",
            f"wrong with chance {doubts[one.row.id]:.2f}" if one.row.id in doubts else "",
        ]
        more = "; ".join(mark for mark in marks if mark)
        print(f"{one.at[:16].replace('T', ' ')}  {one.by:<12}{one.row.id:<16}{said}{f' ({more})' if more else ''}")
        for comment in one.comments:
            print(f"{'':<18}{comment.by:<12}{comment.text}")
    print(f"{count(len(found), 'answer')}{f', {most} shown' if len(found) > most else ''}")


def correct(
    dir: Dir,
    id: Id,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The class; '' makes it a skip.")],
    reason: Annotated[str, typer.Option(help="Why. It is kept with the row. Somebody else's answer needs one.")] = "",
    by: By = None,
    as_json: Json = False,
) -> None:
    """Correct an answer, or settle one on which people differ.

    What was said before stays in the ledger.

    unskew correct bank A0017 no --reason "the note says it was never repaid"
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        before = campaign.state.rows.get(id)
        row = campaign.correct(id, label or None, by=login(by), reason=reason)
        with waiting("learning") as report:
            campaign.watch(report)
            campaign.close_due()
        left = len(campaign.state.conflicts())
    if as_json:
        changed = {"changed": row != before}
        print_json({"id": row.id, "label": row.label, "settled": row.settled, **changed, "conflicts": left})
        return
    kept = " The reason is kept as a comment." if reason else ""
    already = f" already, so nothing was changed.{kept}" if row == before else ""
    print(f"row {row.id} is {row.label or 'skipped'}{already}")
    say_next("answers", dir, "--conflicts") if left else say_next("report", dir)


def comment(
    dir: Dir,
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say about it.")],
    by: By = None,
    as_json: Json = False,
) -> None:
    """Write something about a row that was asked for. It is shown beside the answers.

    unskew comment bank A0017 "the income may be that of the household"
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        made = campaign.comment(id, text, by=login(by))
    if as_json:
        print_json({"id": id, **made._asdict()})
    else:
        print(f"{made.by} on row {id}: {made.text}")


def _day(given: str | None) -> datetime | None:
    """The beginning of a day, or a time, in UTC."""
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise InputError(f"a date must be like 2026-11-18; got {given!r}. Correct it.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
