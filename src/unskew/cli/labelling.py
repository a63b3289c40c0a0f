"""`unskew ask` and `unskew tell`: rows out, labels in."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import By, Dir, Json, checked_out, in_words, login, next_step, print_json, say_next
from unskew.cli.progress import waiting
from unskew.errors import InputError, unknown

if TYPE_CHECKING:
    from unskew.campaigns import Campaign


def ask(
    dir: Dir,
    n: Annotated[int, typer.Option("-n", "--number", help="Rows wanted.")] = 20,
    form: Annotated[str, typer.Option("--as", metavar="FORM", help="csv, jsonl or label-studio.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write. Default: print the rows.")] = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Rows to label next.

    Asking again gives the same rows until they are answered.

    unskew ask bank -n 20 --out rows.csv

    unskew ask bank -n 50 --as label-studio --out tasks.json

    unskew ask bank --by ann > ann.csv
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.exchange.label_files import FORMS, as_record, written
    from unskew.campaigns.folder import put

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    end = ".json" if form == "label-studio" else f".{form}"
    if out is not None and checked_out(out).suffix.lower() != end:
        raise InputError(f"rows as {form} go into a file named *{end}; got {out.name!r}. Try {out.stem}{end}.")
    with Campaign.open(dir) as campaign, waiting("choosing rows"):
        if out is not None and out.exists():
            _check_told(out, campaign)
        campaign.close_due()
        rows = campaign.ask(n, login(by))
        status = campaign.status()
        text = written(rows, campaign.settings, form)
        step = next_step(campaign, dir, login(by))
    if rows:
        file = f"export{end}" if form == "label-studio" else f"rows{end}" if out is None else str(out)
        step = ["tell", str(dir), file]
    if out is not None and rows:
        put(out, lambda beside: _write(beside, text))
    if as_json:
        record = {"asked": len(rows), "left": status.left, "next": step}
        where = str(out) if rows else None
        print_json(record | ({"rows": [as_record(row) for row in rows]} if out is None else {"out": where}))
        return
    aside = out is None
    if aside and rows:
        print(text, end="", flush=True)
    told = f"; {status.left} more may be asked for"
    if rows:
        told = f", kept for you until {max(r.lease_until for r in rows if r.lease_until):%Y-%m-%d %H:%M} UTC{told}"
    elif status.open:
        told = f": others hold {_count(status.open, 'row')}"
    typer.echo(f"{_count(len(rows), 'row')} to label{told}", err=aside)
    if rows and form == "label-studio":
        file = "them" if out is None else str(out)
        typer.echo(f"import {file} into Label Studio, label, export as JSON, and tell what it exported", err=aside)
    say_next(*step, err=aside)


def _check_told(path: Path, campaign: "Campaign") -> None:
    """Refuse to replace a file in which somebody wrote labels that the campaign does not have."""
    from unskew.campaigns.exchange.label_files import answers
    from unskew.campaigns.tables.labels import canonical
    from unskew.campaigns.telling import Unread

    remedy = "Tell it first, or name another file."
    if not path.stat().st_size or (path.suffix.lower() == ".json" and b'"annotation' not in path.read_bytes()):
        return  # the latter are tasks as they went out
    try:
        records, _ = answers(path, campaign.settings)
    except InputError:
        raise InputError(f"{path} exists and is no file that `ask` wrote. Name another file.") from None
    rows = campaign.refresh().rows
    for record in records:
        if isinstance(record, Unread):
            raise InputError(f"{path} exists, and its line {record.line} cannot be read. {remedy}")
        line, id, said = record
        row = rows.get(id) or rows.get(id.strip())
        label = None if said is None else canonical(said, campaign.settings["classes"]) or said
        if row is None or row.status not in ("answered", "skipped") or row.label != label:
            raise InputError(f"{path} has labels that were not told, the first in line {line}. {remedy}")


def tell(
    dir: Dir,
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="The filled-in file: .csv, .jsonl, or Label Studio's .json.")
    ],
    force_correct: Annotated[
        bool, typer.Option("--force-correct", help="Let labels replace other labels given before.")
    ] = False,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Take in a file of labels, the whole of it or nothing.

    unskew tell bank rows.csv

    unskew tell bank corrections.csv --force-correct

    unskew tell bank export.json --by "Label Studio"
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.exchange.label_files import answers

    words = {"answered": "new", "skipped": "skipped", "corrected": "corrected", "repeated": "known already",
             "empty": "without a label"}  # fmt: skip
    with Campaign.open(dir) as campaign:
        records, empty = answers(labels, campaign.settings)
        actor = login(by)
        counts = {**asdict(campaign.tell(records, actor, force_correct=force_correct)), "empty": empty}
        status = campaign.status()
        if not as_json:  # at once: to learn from them may take a while
            print(", ".join(f"{count} {words[name]}" for name, count in counts.items() if count) or "nothing new")
            print(f"{status.spent} of {status.budget} labels", flush=True)
        with waiting("learning"):
            campaign.close_due()
        status = campaign.status()
        step = next_step(campaign, dir, actor)
    if as_json:
        spent = {"spent": status.spent, "budget": status.budget, "error": status.error}
        print_json({**counts, **spent, "next": step})
        return
    if status.closed:
        print(f"the model is {in_words(status.error)}" if status.error else f"the error is {in_words(None)}")
    say_next(*step)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
