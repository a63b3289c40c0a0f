"""`unskew ask` and `unskew tell`: rows out, labels in."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.campaign import By, Dir, Json, checked_out, in_words, login, next_step, print_json, say_next
from unskew.cli.progress import waiting


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
    from unskew.campaigns.folder import put
    from unskew.campaigns.label_files import FORMS, as_record, written
    from unskew.errors import unknown

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    if out is not None:
        checked_out(out)
    with Campaign.open(dir) as campaign, waiting("choosing rows"):
        campaign.close_due()
        rows = campaign.ask(n, login(by))
        left = campaign.status().left
        text = written(rows, campaign.settings, form)
    step = ["tell", str(dir), "rows.csv" if out is None else str(out)] if rows else ["report", str(dir)]
    if out is not None:
        put(out, lambda beside: _write(beside, text))
    if as_json:
        record = {"asked": len(rows), "left": left, "next": step}
        print_json(record | ({"rows": [as_record(row) for row in rows]} if out is None else {"out": str(out)}))
        return
    if out is None:
        print(text, end="", flush=True)
    aside = out is None
    kept = (
        f", kept for you until {max(r.lease_until for r in rows if r.lease_until):%Y-%m-%d %H:%M} UTC" if rows else ""
    )
    typer.echo(f"{_count(len(rows), 'row')} to label{kept}; {left} more may be asked for", err=aside)
    say_next(*step, err=aside)


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
    from unskew.campaigns.label_files import answers

    words = {"answered": "new", "skipped": "skipped", "corrected": "corrected", "repeated": "known already",
             "empty": "without a label"}  # fmt: skip
    with Campaign.open(dir) as campaign:
        records, empty = answers(labels, campaign.settings)
        counts = {**asdict(campaign.tell(records, login(by), force_correct=force_correct)), "empty": empty}
        status = campaign.status()
        if not as_json:  # at once: to learn from them may take a while
            print(", ".join(f"{count} {words[name]}" for name, count in counts.items() if count) or "nothing new")
            print(f"{status.spent} of {status.budget} labels", flush=True)
        with waiting("learning"):
            campaign.close_due()
        status = campaign.status()
        step = next_step(campaign, dir)
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
