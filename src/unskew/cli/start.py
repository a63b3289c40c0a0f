"""`unskew start`: a new campaign from a log and a pool."""

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Cluster, Json, Types, count, engine, login, next_step, print_json, say_next
from unskew.cli.conduct import arranged, guidelines_in
from unskew.cli.progress import waiting
from unskew.errors import InputError, exact
from unskew.estimation.costs import Costs
from unskew.methods.registry import POOL_METHODS

if TYPE_CHECKING:
    from unskew.campaigns import Campaign
    from unskew.campaigns.learning.own_model import Cost

YEAR = 525_600
"""In minutes."""


def start(
    dir: Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's new folder.", show_default=False)],
    log: Annotated[
        list[str],
        typer.Option(
            metavar="PATH",
            help="The log: rows with and without a label. CSV, Parquet, Arrow, or a folder of such files. "
            "Several logs: --log a.csv --log b.csv.",
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
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy-column", help="The log's column of who decided. Propensities are estimated within each."
        ),
    ] = None,
    pool_labels: Annotated[
        str, typer.Option(help="Labels in the pool: known, logged (with propensities of their own) or ignore.")
    ] = "known",
    same_ids: Annotated[
        str, typer.Option(help="Ids in both log and pool: refuse, merge, or separate (different people).")
    ] = "refuse",
    question: Annotated[str | None, typer.Option(help="What people are asked of each row, on the page.")] = None,
    guidelines: Annotated[
        Path | None, typer.Option(metavar="FILE", help="How to decide, as a Markdown file, for the page.")
    ] = None,
    overlap: Annotated[float, typer.Option(help="Share of the rows that a second person sees too.")] = 0.0,
    budget: Annotated[int, typer.Option(help="The number of labels that may be bought.")] = 500,
    method: Annotated[str, typer.Option(help=f"{', '.join(POOL_METHODS)}, or your own as module:Class.")] = "Unskew",
    model: Annotated[
        str | None,
        typer.Option(metavar="MODULE:CLASS", help="Learn with this classifier, such as lightgbm:LGBMClassifier."),
    ] = None,
    model_parameters: Annotated[
        str | None, typer.Option(metavar="JSON", help="""Its parameters, such as '{"n_estimators": 50}'.""")
    ] = None,
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
        str | None, typer.Option(metavar="NEG,POS", help="The classes, of two the negative one first.")
    ] = None,
    lease: Annotated[float, typer.Option(help="Minutes for which a row is kept for the person who asked.")] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    look: Annotated[
        int, typer.Option(metavar="N", help="Consider only N rows, drawn at random, in each round. 0 looks at all.")
    ] = 0,
    types: Types = None,
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

    unskew start bank --log log.csv --pool pool.csv --label repaid --model lightgbm:LGBMClassifier

    unskew start bank --log north.csv --log south.csv --pool pool.csv --label repaid --id application
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.ledger.arrangement import checked_overlap
    from unskew.campaigns.ledger.engines import holds_password
    from unskew.campaigns.tables.given_types import parsed

    names = None if classes is None else [name.strip() for name in classes.split(",")]
    if names is not None and len(names) < 2:
        raise InputError(f"--classes must be two names or more; got {classes!r}. Try --classes no,yes.")
    if not 0 < lease <= YEAR:
        raise InputError(
            f"--lease must be above 0 and at most {YEAR} minutes, a year; got {exact(lease)}. Try --lease 30."
        )
    arrangement = {"question": question, "guidelines": guidelines and guidelines_in(guidelines), "overlap": overlap}
    checked_overlap(overlap)
    found: list[Cost] = []

    def costing(cost: "Cost") -> None:
        found.append(cost)
        if cost.seconds >= 1.0:  # somebody is about to wait
            typer.echo(f"{model}: {cost}", err=True)

    with (
        engine(cluster),
        waiting("reading the files, fitting the first model") as report,
        Campaign.create(
            dir, log=log, pool=pool, label=label, propensity=propensity, id=id, policy=policy,
            pool_labels=pool_labels, same_ids=same_ids, budget=budget, method=method,
            model=_recipe(model, model_parameters), drawn=drawn, costs=Costs(false_positive, false_negative),
            recall=recall, store=store, classes=names, lease=timedelta(minutes=lease), seed=seed, look=look, hash=hash,
            types=parsed(types or []), progress=report, costing=costing,
        ) as campaign,
    ):  # fmt: skip
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


def _recipe(model: str | None, parameters: str | None) -> dict[str, Any] | None:
    """A classifier of the user's own, by name and parameters."""
    if model is None:
        if parameters is not None:
            raise InputError(f"--model-parameters needs --model; got {parameters!r:.60} alone. Name the model.")
        return None
    example = """Try --model-parameters '{"n_estimators": 50}'."""
    try:
        given = json.loads(parameters or "{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"--model-parameters must be JSON; got {parameters!r:.60}: {error}. {example}") from None
    if not isinstance(given, dict):
        raise InputError(f"--model-parameters must be a JSON object; got {parameters!r:.60}. {example}")
    return {"class": model, "parameters": given}


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
