"""`unskew status`, `report`, `predict` and `export`: the results of a campaign."""

import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import (
    Cluster,
    Dir,
    Json,
    Overwrite,
    after_all,
    as_record,
    count,
    engine,
    estimates,
    next_step,
    print_json,
    say_next,
)
from unskew.cli.progress import waiting
from unskew.errors import InputError, NoRandomLabel
from unskew.estimation.sentences import uncomputable

if TYPE_CHECKING:
    import polars as pl

    from unskew.campaigns import Status
    from unskew.campaigns.measuring import Measuring, Worth
    from unskew.estimation.ahead import Ahead
    from unskew.estimation.population import PopulationEstimate


def status(
    dir: Dir,
    hash: Annotated[
        bool, typer.Option("--hash", help="First compare all bytes of the pool's files with those at the start.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Where a campaign stands: labels, rows, people, error.

    unskew status bank

    unskew status bank --json
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign, waiting("closing rounds") as told:
        hashed = campaign.check_hashes(told) if hash else None
        campaign.close_due()
        found = campaign.status()
        try:
            measuring, unknown = campaign.measuring(), None
            to_come = measuring.ahead(found.more)
            measures = _measures(measuring) if as_json else {}
            changed = (measuring.fitting.own and measuring.fitting.own.changed) or None
        except InputError as error:  # the model cannot be fitted here: the rest is known without it
            to_come, unknown, measures, changed = None, str(error), {}, None
    step = next_step(found, dir)
    if as_json:
        record = {**found.as_dict(), **estimates(found), "measures": measures, "hashed": hashed}
        record["advice"] = found.advice
        print_json({**record, "ahead": _plain(to_come), "unknown": unknown, "changed": changed, "next": step})
    else:
        more = f"What more labels would do is not known: {unknown}" if unknown else found.ahead(to_come)
        _print(found, more)
        if changed:
            print(changed)
        if hashed is not None:
            print(f"{count(hashed, 'file')} of the pool: every byte is as it was when the campaign began")
        say_next(*step)


def _plain(found: "Ahead | None") -> dict[str, Any] | None:
    """What is to be expected, ready for JSON, which has no infinity."""
    if found is None:
        return None
    width = found.half_width if found.half_width < 1.0 else None
    return {"left": found.left, "half_width": width, "labels_for": [plan._asdict() for plan in found.needed]}


def _measures(measuring: "Measuring") -> dict[str, Any]:
    """Every measure, ready for JSON; where one has no value, why."""
    try:
        return _records(measuring.measures())
    except NoRandomLabel:
        return {}


def _records(found: "dict[str, PopulationEstimate | None]") -> dict[str, Any]:
    return {name: as_record(one) or {"value": None, "why": uncomputable(name)} for name, one in found.items()}


def report(
    dir: Dir,
    out: Annotated[Path | None, typer.Option(help="The page to write. Default: report.html in DIR.")] = None,
    overwrite: Overwrite = False,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """The campaign as one page: error, blind spots, model card.

    unskew report bank

    unskew report bank --out bank.html
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.report.drivers import as_record as importance_record
    from unskew.campaigns.report.report import page, write_report

    with engine(cluster), Campaign.open(dir) as campaign, waiting("writing the report") as told:
        campaign.watch(told)
        path = dir / "report.html" if out is None else out
        page(path, overwrite=overwrite)  # before the work
        campaign.close_due()
        facts = write_report(campaign, path, overwrite=overwrite)
        step = next_step(campaign.status(), dir)
    if as_json:
        error = as_record(facts["error"])
        said = {"headline": facts["headline"], "words": facts["beside"], "decision": facts["decision"]}
        rival = {"against_built_in": as_record(facts["against_built_in"]), "changed": facts["changed"] or None}
        more = {"members": _members(facts["members"]), "importance": importance_record(facts["importance"])}
        print_json({"report": str(path), **said, "error": error, **more, **rival, "next": step})
    else:
        print(facts["headline"], *facts["beside"], *filter(None, (facts["rival"], facts["changed"])), sep="\n")
        print(f"report: {path}")
        say_next(*(step if step[0] != "report" else ("predict", dir, "new.csv", "--out", "predictions.csv")))


def _members(members: "list[Worth]") -> list[dict[str, Any]]:
    """The members of the model, ready for JSON."""
    return [{"name": one.name, "weight": one.weight, "alone": _records(one.alone)} for one in members]


def predict(
    dir: Dir,
    rows: Annotated[
        str,
        typer.Argument(
            metavar="ROWS", help="Rows with the pool's columns. CSV, Parquet, Arrow, or a folder of such files."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="A .csv or .parquet file. Default: print CSV.")] = None,
    overwrite: Overwrite = False,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Classify new rows, with their probabilities.

    unskew predict bank new.parquet --out predictions.parquet

    unskew predict bank new.csv > predictions.csv
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.learning.predictions import output_for, predictions, put_predictions

    output = None if out is None else output_for(out, overwrite=overwrite)
    with engine(cluster), Campaign.open(dir) as campaign, waiting("predicting") as report:
        found = predictions(campaign.model(), campaign.settings, rows, report)
        if output is not None:
            said: dict[str, Any] = {"rows": put_predictions(found, output), "out": str(out)}
        elif as_json:
            said = _listed(found)
        else:
            _print_whole(found)
            return
    if as_json:
        print_json(said)
    else:
        print(f"{count(said['rows'], 'prediction')} in {out}")
        say_next("export", dir)


def _listed(blocks: "Iterator[pl.DataFrame]") -> dict[str, Any]:
    found = [row for block in blocks for row in block.to_dicts()]
    return {"rows": len(found), "predictions": found}


def _print_whole(blocks: "Iterator[pl.DataFrame]") -> None:
    """Print CSV, all of it or nothing: first it is written to a file that has no name."""
    from unskew.campaigns.learning.predictions import write_csv

    with TemporaryFile("w+", encoding="utf-8", newline="") as file:
        write_csv(blocks, file)
        file.seek(0)
        copyfileobj(file, sys.stdout)


def export(
    dir: Dir,
    out: Annotated[Path | None, typer.Option(help="Folder for the files. Default: export in DIR.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """The model for scikit-learn and ONNX, the ledger as Parquet.

    unskew export bank

    unskew export bank --out model
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.exchange.export import export as write

    with Campaign.open(dir) as campaign, waiting("exporting"):
        done = write(campaign, dir / "export" if out is None else out, overwrite=overwrite)
        step = after_all(campaign.status(), dir)
    if as_json:
        print_json({"files": [str(path) for path in done.files], "no_onnx": done.no_onnx})
        return
    for path in done.files:
        print(path)
    if done.no_onnx:
        print(f"no model.onnx: {done.no_onnx}")
    say_next(*step)


def _print(found: "Status", to_come: str) -> None:
    print(f"labels      {found.spent} of {found.budget}, {found.skipped} skipped")
    for source in found.sources:
        print(f"            {source}")
    if found.extensions:
        print(f"pool        {found.pool}")
    print(f"rows        {found.leased} assigned, {found.available} available, {found.left} more may be asked for")
    print(f"rounds      {found.rounds}, {found.closed} closed{'; the campaign has ended' if found.ended else ''}")
    print(f"the {'model' if found.error else 'error'}   {found.told.removeprefix('is ')}")
    for told in [*found.beside, *([to_come] if to_come else ())]:
        print(f"            {told}")
    if found.decision:
        print(f"decision    {found.decision}")
    print(f"advice      {found.advice}")
    if found.prospect is not None:
        print(f"            {found.prospect}")
    for name, work in found.annotators.items():
        print(f"{name:<12}{work.answered} answered, {work.skipped} skipped, {work.holds} assigned")
    two = found.two_people
    if two.all is not None:
        print(
            f"two people  same label on {100 * two.all.raw:.0f} % of {two.all.rows} rows, {two.conflicts} in conflict"
        )
