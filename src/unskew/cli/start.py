"""`unskew start`: a new campaign from a log and a pool."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Cluster, Json, count, engine, next_step, print_json, say_next
from unskew.cli.progress import waiting
from unskew.errors import InputError
from unskew.estimation.costs import Costs
from unskew.methods.registry import POOL_METHODS

if TYPE_CHECKING:
    from unskew.campaigns import Campaign

YEAR = 525_600
"""In minutes."""


def start(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's new folder.", show_default=False)],
    log: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="The log: rows with and without a label. CSV, Parquet, Arrow, or a folder of such files.",
        ),
    ],
    pool: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="The rows that may be asked for. CSV, Parquet, Arrow, or a folder of such files."
        ),
    ],
    label: Annotated[str, typer.Option(help="The log's column of labels, empty where unknown.")],
    propensity: Annotated[
        str | None, typer.Option(help="The log's column of propensities. Default: they are estimated.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="The pool's column of ids. Default: row-1, row-2, ...")] = None,
    budget: Annotated[int, typer.Option(help="The number of labels that may be bought.")] = 500,
    method: Annotated[str, typer.Option(help=f"{', '.join(POOL_METHODS)}, or your own as module:Class.")] = "Unskew",
    drawn: Annotated[
        float, typer.Option(help="Share of the labels drawn at random, on which the error estimate rests.")
    ] = 0.5,
    false_negative: Annotated[
        float, typer.Option("--cost-false-negative", help="What it costs to miss a row of the positive class.")
    ] = 1.0,
    false_positive: Annotated[
        float, typer.Option("--cost-false-positive", help="What it costs to flag a row of the negative class.")
    ] = 1.0,
    recall: Annotated[
        float | None, typer.Option(help="Share of the positive class to find, instead of costs: 0.9, for instance.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="postgresql://user@host/database. Default: a file in DIR.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(metavar="NEG,POS", help="The two classes, the negative one first.")
    ] = None,
    lease: Annotated[float, typer.Option(help="Minutes for which a row is kept for the person who asked.")] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    look: Annotated[
        int, typer.Option(metavar="N", help="Consider only N rows, drawn at random, in each round. 0 looks at all.")
    ] = 0,
    hash: Annotated[
        bool, typer.Option("--hash", help="Keep a SHA-256 of each file of the pool, for `unskew status --hash`.")
    ] = False,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Begin a campaign: a log, a pool, a budget.

    unskew start bank --log log.csv --pool pool.csv --label repaid --propensity granted_with --id application

    unskew start bank --log log.parquet --pool pool.parquet --label repaid --store postgresql://team@db/bank

    unskew start bank --log log.parquet --pool 'pool/*.parquet' --label repaid --id application
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.ledger.engines import holds_password

    pair = None if classes is None else [name.strip() for name in classes.split(",")]
    if pair is not None and len(pair) != 2:
        raise InputError(f"--classes must be two names, the negative one first; got {classes!r}. Try --classes no,yes.")
    if not 0 < lease <= YEAR:
        raise InputError(f"--lease must be above 0 and at most {YEAR} minutes, a year; got {lease:g}. Try --lease 30.")
    with (
        engine(cluster),
        waiting("reading the files, fitting the first model") as report,
        Campaign.create(
            dir, log=log, pool=pool, label=label, propensity=propensity, id=id, budget=budget, method=method,
            drawn=drawn, costs=Costs(false_positive, false_negative), recall=recall, store=store, classes=pair,
            lease=timedelta(minutes=lease), seed=seed, look=look, hash=hash, progress=report,
        ) as campaign,
    ):  # fmt: skip
        begun = _plain(campaign)
        step = next_step(campaign.status(), dir)
    if store is not None and holds_password(store):
        typer.echo(
            f"{dir / 'campaign.json'} holds the store's password, so only you can read it. To share the folder, start "
            "again without the password and put it into ~/.pgpass.",
            err=True,
        )
    if as_json:
        print_json({"dir": str(dir), **begun, "next": step})
    else:
        _print(begun)
        say_next(*step)


def _plain(campaign: "Campaign") -> dict[str, Any]:
    from unskew.campaigns.tables.files import kinds

    settings, log = campaign.settings, campaign.log_frame
    method = campaign.method()
    known = {*settings.kinds, settings.label, settings.propensity, settings.id}
    return {
        "log_rows": settings.log_rows,
        "labelled": settings.log_labelled,
        "log_kept": settings.log_kept or None,
        "pool_rows": settings.pool_rows,
        "pool_files": campaign.measuring().fitting.pool_files,
        "columns": settings.kinds,
        "left_out": {
            name: "text for people" if kind == "text" else "the same in every row"
            for name, kind in kinds(log).items()
            if name not in known
        },
        "classes": list(settings.classes),
        "propensity": settings.propensity,
        "only_labelled": method.log_.only_labelled,
        "budget": settings.budget,
        "drawn": settings.drawn,
        "recall": settings.recall,
        "decision": settings.decision(method.costs.threshold),
        "method": settings.method,
        "seed": settings.seed,
        "look": settings.look,
    }


def _print(begun: dict[str, Any]) -> None:
    kinds: dict[str, list[str]] = {}
    for name, kind in begun["columns"].items():
        kinds.setdefault(kind, []).append(name)
    known = f"{begun['labelled']} of {begun['log_rows']} rows have a label, {' or '.join(begun['classes'])}"
    print(f"log         {known}")
    if begun["log_kept"]:
        print(f"            {begun['log_kept']} rows are kept, drawn at random from those with and without a label")
    files = begun["pool_files"]
    stays = (
        "" if files is None else f" in {count(files, 'file')}, which stay where they are: do not change or move them"
    )
    print(f"pool        {begun['pool_rows']} rows{stays}")
    for kind, names in kinds.items():
        print(f"{kind:<12}{', '.join(names)}")
    if begun["left_out"]:
        print(f"{'left out':<12}{', '.join(f'{name} ({why})' for name, why in begun['left_out'].items())}")
    given, only_labelled = begun["propensity"], begun["only_labelled"]
    estimated = "estimated from the log: read the interval as approximate"
    if only_labelled:
        estimated = "estimated up to a common factor, by telling rows of the log from rows of the pool"
    print("propensity  " + (f"given, in {given}" if given else estimated))
    print(f"budget      {begun['budget']} labels, {100 * begun['drawn']:g} % of them drawn at random")
    if begun["decision"]:
        print(f"decision    {begun['decision']}")
    if only_labelled:
        print(
            "error       not known yet: (nearly) every row of the log has a label, so it shows only those who were "
            "picked.\n            The model learns from it. How often it is wrong on everyone, only labels drawn from "
            "the pool will tell."
        )
