"""`unskew start`: a new campaign from a log and a pool."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.campaigns.ledger.arrangement import ARRANGED
from unskew.campaigns.options import typed
from unskew.campaigns.start_options import START
from unskew.cli.campaign import Cluster, Json, count, engine, login, next_step, print_json, say_next
from unskew.cli.conduct import arranged
from unskew.cli.options import OF_START, taking
from unskew.cli.progress import waiting

if TYPE_CHECKING:
    from unskew.campaigns import Campaign
    from unskew.campaigns.learning.own_model import Cost


@taking(OF_START)
def start(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's new folder.", show_default=False)],
    cluster: Cluster = None,
    as_json: Json = False,
    **chosen: Any,
) -> None:
    """Begin a campaign: a log, a pool, a budget.

    unskew start bank --log log.csv --pool pool.csv --label repaid --propensity granted_with --id application

    unskew start bank --log log.parquet --pool pool.parquet --label repaid --store postgresql://team@db/bank

    unskew start bank --log log.parquet --pool 'pool/*.parquet' --label repaid --id application

    unskew start bank --log log.csv --pool pool.csv --label repaid --model lightgbm:LGBMClassifier

    unskew start bank --log north.csv --log south.csv --pool pool.csv --label repaid --id application
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.ledger.engines import holds_password

    options, arrangement = typed(START, chosen), typed(ARRANGED, chosen)
    store = options.get("store")
    found: list[Cost] = []

    def costing(cost: "Cost") -> None:
        found.append(cost)
        if cost.seconds >= 1.0:  # somebody is about to wait
            typer.echo(f"{chosen['model']}: {cost}", err=True)

    with (
        engine(cluster),
        waiting("reading the files, fitting the first model") as report,
        Campaign.create(dir, progress=report, costing=costing, **options) as campaign,
    ):
        arranged(campaign, arrangement, login(None) if any(arrangement.values()) else "")
        begun = {**_plain(campaign), "cost": found[0]._asdict() if found else None}
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
    settings, measuring = campaign.settings, campaign.measuring()
    method = campaign.method()
    return {
        "log_rows": settings.log_rows,
        "labelled": settings.log_labelled,
        "log_kept": settings.log_kept or None,
        "pool_rows": settings.pool_rows,
        "pool_labelled": settings.pool_labelled,
        "sources": list(settings.sources),
        "policy": settings.policy,
        "q0_estimated": method.log_.q0_estimated,
        "pool_files": measuring.fitting.pool_files,
        "columns": settings.kinds,
        "types": settings.given,
        "left_out": measuring.left_out(),
        "classes": list(settings.classes),
        "propensity": settings.propensity,
        "only_labelled": method.log_.only_labelled,
        "budget": settings.budget,
        "drawn": settings.drawn,
        "recall": settings.recall,
        "decision": settings.decision(method.costs.threshold),
        "method": settings.method,
        "model": settings.model or None,
        "seed": settings.seed,
        "look": settings.look,
    }


def _either(classes: list[str]) -> str:
    """Two classes, or the first few of many."""
    if len(classes) <= 10:
        return " or ".join(classes) if len(classes) == 2 else f"{', '.join(classes[:-1])} or {classes[-1]}"
    return f"one of {len(classes)} classes: {', '.join(classes[:5])}, ..."


def _print(begun: dict[str, Any]) -> None:
    kinds: dict[str, list[str]] = {}
    for name, kind in begun["columns"].items():
        word, _, order = kind.partition(":")
        kinds.setdefault(word, []).append(f"{name} ({order})" if order else name)
    known = f"{begun['labelled']} of {begun['log_rows']} rows have a label, {_either(begun['classes'])}"
    print(f"log         {known}")
    if begun["log_kept"]:
        print(f"            {begun['log_kept']} rows are kept, drawn at random from those with and without a label")
    files = begun["pool_files"]
    stays = (
        "" if files is None else f" in {count(files, 'file')}, which stay where they are: do not change or move them"
    )
    print(f"pool        {begun['pool_rows']} rows{stays}")
    for k, source in enumerate(begun["sources"]):
        print(f"{'' if k else 'labels':<12}{source}")
    for kind, names in kinds.items():
        print(f"{kind:<12}{', '.join(names)}")
    if begun["left_out"]:
        print(f"{'left out':<12}{', '.join(f'{name} ({why})' for name, why in begun['left_out'].items())}")
    given, only_labelled = begun["propensity"], begun["only_labelled"]
    estimated = "estimated from the log: read the interval as approximate"
    if only_labelled:
        estimated = "estimated up to a common factor, by telling rows of the log from rows of the pool"
    elif begun["policy"] and begun["q0_estimated"]:
        estimated = f"estimated within each {begun['policy']}: read the interval as approximate"
    print("propensity  " + (estimated if begun["q0_estimated"] else f"given, in {given}"))
    print(f"budget      {begun['budget']} labels, {100 * begun['drawn']:g} % of them drawn at random")
    if begun["model"]:
        from unskew.campaigns.learning.own_model import Cost
        from unskew.campaigns.learning.recipes import shown

        packages = ", ".join(f"{name} {version}" for name, version in begun["model"]["versions"].items())
        print(f"model       {shown(begun['model'])}; {packages}")
        if begun["cost"]:
            print(f"            {Cost(**begun['cost'])}")
    if begun["decision"]:
        print(f"decision    {begun['decision']}")
    if only_labelled:
        print(
            "error       not known yet: (nearly) every row of the log has a label, so it shows only those who were "
            "picked.\n            The model learns from it. How often it is wrong on everyone, only labels drawn from "
            "the pool will tell."
        )
