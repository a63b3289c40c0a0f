"""`unskew ask` and `unskew tell`: rows out, labels in."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.campaign import (
    By,
    Cluster,
    Dir,
    Json,
    Overwrite,
    count,
    engine,
    estimates,
    login,
    next_step,
    print_json,
    say_next,
)
from unskew.cli.progress import waiting
from unskew.errors import unknown
from unskew.writing import Output


def ask(
    dir: Dir,
    n: Annotated[int, typer.Option("-n", "--number", help="The number of rows wanted.")] = 20,
    form: Annotated[str, typer.Option("--as", metavar="FORM", help="csv, jsonl or label-studio.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="File to write. Default: print the rows.")] = None,
    overwrite: Overwrite = False,
    by: By = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Get the next rows to label.

    Asking again gives the same rows until they are answered.

    unskew ask bank -n 20 --out rows.csv

    unskew ask bank -n 50 --as label-studio --out tasks.json

    unskew ask bank --by ann > ann.csv
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.exchange.asked_files import is_told
    from unskew.campaigns.exchange.label_files import FORMS, as_record, written

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    end = ".json" if form == "label-studio" else f".{form}"
    actor = login(by)
    with engine(cluster), Campaign.open(dir) as campaign, waiting("choosing rows") as report:
        campaign.watch(report)
        output = None  # checked before rows are handed out
        if out is not None:
            output = Output(out, "unskew ask", partial(is_told, campaign), overwrite, (end,))
        campaign.close_due()
        rows = campaign.ask(n, by=actor)
        status = campaign.status()
        text = written(rows, campaign.settings, form)
        if output is not None and rows:
            output.put_text(text)
    step = next_step(status, dir, actor)
    if rows:
        file = f"export{end}" if form == "label-studio" else f"rows{end}" if out is None else str(out)
        step = ["tell", str(dir), file]
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
            print(f"{campaign.state.spent} of {campaign.state.budget} labels", flush=True)
        with waiting("learning") as report:
            campaign.watch(report)
            campaign.close_due()
        status = campaign.status()
    step = next_step(status, dir, actor, str(labels))
    if as_json:
        spent = {"spent": status.spent, "budget": status.budget, **estimates(status)}
        print_json({**counts, **spent, "next": step})
        return
    if status.closed:
        print(f"the model {status.told}" if status.error else f"the error is {status.told}", *status.beside, sep="\n")
    say_next(*step)
