"""`unskew ask` and `unskew tell`: rows out, labels in."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import By, Dir, Json, count, in_words, login, next_step, print_json, say_next
from unskew.cli.progress import waiting
from unskew.errors import InputError, unknown
from unskew.writing import put_text, writable

if TYPE_CHECKING:
    from unskew.campaigns import Campaign


def ask(
    dir: Dir,
    n: Annotated[int, typer.Option("-n", "--number", help="The number of rows wanted.")] = 20,
    form: Annotated[str, typer.Option("--as", metavar="FORM", help="csv, jsonl or label-studio.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write. Default: print the rows.")] = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Get the next rows to label.

    Asking again gives the same rows until they are answered.

    unskew ask bank -n 20 --out rows.csv

    unskew ask bank -n 50 --as label-studio --out tasks.json

    unskew ask bank --by ann > ann.csv
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.exchange.label_files import FORMS, as_record, written

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    end = ".json" if form == "label-studio" else f".{form}"
    if out is not None:
        writable(out, end)
    actor = login(by)
    with Campaign.open(dir) as campaign, waiting("choosing rows"):
        if out is not None and out.exists():
            _check_told(out, campaign)
        campaign.close_due()
        rows = campaign.ask(n, by=actor)
        status = campaign.status()
        text = written(rows, campaign.settings, form)
    step = next_step(status, dir, actor)
    if rows:
        file = f"export{end}" if form == "label-studio" else f"rows{end}" if out is None else str(out)
        step = ["tell", str(dir), file]
    if out is not None and rows:
        put_text(out, text)
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
        told = f": others hold {count(status.open, 'row')}"
    typer.echo(f"{count(len(rows), 'row')} to label{told}", err=aside)
    if rows and form == "label-studio":
        file = "them" if out is None else str(out)
        typer.echo(f"import {file} into Label Studio, label, export as JSON, and tell the exported file", err=aside)
    say_next(*step, err=aside)


def _check_told(path: Path, campaign: "Campaign") -> None:
    """Refuse to replace a file with labels that the campaign does not have yet."""
    from unskew.campaigns.exchange.label_files import answers
    from unskew.campaigns.tables.labels import canonical
    from unskew.campaigns.telling import NotAnswers, Unread

    remedy = "Tell it first, or name another file."
    if not path.stat().st_size or (path.suffix.lower() == ".json" and b'"annotation' not in path.read_bytes()):
        return  # without annotations, these are tasks as `ask` wrote them
    try:
        lines, _ = answers(path, campaign.settings)
    except NotAnswers:
        raise InputError(f"{path} exists and is not a file that `ask` wrote. Name another file.") from None
    rows = campaign.refresh().rows
    for one in lines:
        if isinstance(one, Unread):
            raise InputError(f"{path} exists, and its line {one.line} cannot be read. {remedy}")
        line, id, text = one
        row = rows.get(id) or rows.get(id.strip())
        label = None if text is None else canonical(text, campaign.settings.classes) or text
        if row is None or not row.done or row.label != label:
            raise InputError(f"{path} has labels that were not told yet, the first in line {line}. {remedy}")


def tell(
    dir: Dir,
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="The filled-in file: .csv, .jsonl, or Label Studio's .json.")
    ],
    force_correct: Annotated[
        bool, typer.Option("--force-correct", help="Overwrite answers that were given before.")
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
    actor = login(by)
    with Campaign.open(dir) as campaign:
        lines, empty = answers(labels, campaign.settings)
        counts = {**asdict(campaign.tell_lines(lines, by=actor, force_correct=force_correct)), "empty": empty}
        if not as_json:  # at once: learning from them may take a while
            print(", ".join(f"{number} {words[name]}" for name, number in counts.items() if number) or "nothing new")
            print(f"{campaign.state.spent} of {campaign.settings.budget} labels", flush=True)
        with waiting("learning"):
            campaign.close_due()
        status = campaign.status()
    step = next_step(status, dir, actor, str(labels))
    if as_json:
        spent = {"spent": status.spent, "budget": status.budget, "error": status.error and asdict(status.error)}
        print_json({**counts, **spent, "next": step})
        return
    if status.closed:
        print(f"the model is {in_words(status.error)}" if status.error else f"the error is {in_words(None)}")
    say_next(*step)
