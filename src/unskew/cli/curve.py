"""`unskew curve`: one cell of the paper's experiments, as a table, as JSON, as a picture."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import Overwrite
from unskew.cli.progress import progress
from unskew.methods.registry import EXPERIMENT_METHODS, PAPER_METHODS, method_named

if TYPE_CHECKING:
    from unskew.experiments import Point


def curve(
    dataset: Annotated[
        str,
        typer.Option(
            help="synthetic, letter, skin, magic, covtype, mushrooms, phishing, splice, svmguide1, a5a, cod-rna or "
            "german."
        ),
    ],
    policy: Annotated[
        str, typer.Option(help="Logging policy: identical, uniform, uncertainty, certainty or blind-spot.")
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<str>",
            help=f"{', '.join(EXPERIMENT_METHODS)}, or your own as module:Class; repeat for several. "
            "Default: the paper's four.",
        ),
    ] = None,
    C: Annotated[float, typer.Option("--C", help="Model capacity: how wide the disagreement region is.")] = 0.64,
    eta: Annotated[float, typer.Option(help="Learning rate.")] = 0.0256,
    logged_fraction: Annotated[float, typer.Option(help="The share of the training rows that forms the log.")] = 0.5,
    budget: Annotated[int, typer.Option(help="A curve ends after more than twice this number of labels.")] = 200,
    repeats: Annotated[int, typer.Option(help="The number of splits and logs to average over.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    variant: Annotated[str, typer.Option(help="released (as the authors ran it) or paper (as written).")] = "released",
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the data files. Default: $UNSKEW_DATA, or the cache.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the curves: a .png, .pdf or .svg file.")] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show test error against labels, for one data set and policy."""
    from unskew.cli.pictures import checked, curves_picture, save
    from unskew.experiments import mean_curve

    names = list(dict.fromkeys(method or PAPER_METHODS))
    for name in names:
        method_named(name)  # refuses an unknown one before the work begins
    picture = None if plot is None else checked(plot, overwrite)
    curves: dict[str, list[Point]] = {}
    with progress("running") as report:

        def step(done: int, total: int) -> None:
            report(len(curves) * total + done, len(names) * total)

        for name in names:
            curves[name] = mean_curve(
                dataset=dataset, policy=policy, method=name, C=C, eta=eta, logged_fraction=logged_fraction,
                label_budget=budget, repeats=repeats, seed=seed, variant=variant, data_dir=data_dir,
                progress=step,
            )  # fmt: skip
    if as_json:
        settings = {
            "dataset": dataset, "policy": policy, "C": C, "eta": eta, "logged_fraction": logged_fraction,
            "label_budget": budget, "repeats": repeats, "seed": seed, "variant": variant,
        }  # fmt: skip
        print(json.dumps(settings | {"methods": records(curves)}, indent=1))
    else:
        _print_tables(curves, f"{dataset}, {policy}: {repeats} repeats, C = {C:g}, eta = {eta:g}, {variant}")
    if picture is not None:
        written = save(curves_picture(curves, f"{dataset}, {policy} policy, {repeats} repeats"), picture)
        typer.echo(f"picture: {written}", err=as_json)


def records(curves: Mapping[str, Sequence["Point"]]) -> dict[str, list[dict[str, float]]]:
    """Curves as plain records, as a curves file holds them."""
    from dataclasses import asdict

    return {name: [asdict(point) for point in points] for name, points in curves.items()}


def _print_tables(curves: Mapping[str, Sequence["Point"]], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("method")
    for heading in ("stream rows", "labels ± se", "test error ± se, %"):
        table.add_column(heading, justify="right")
    for name, points in curves.items():
        for k, point in enumerate(points):
            table.add_row(
                "" if k else name,
                str(point.horizon),
                f"{point.labels:.1f} ± {point.labels_se:.1f}",
                f"{100 * point.error:.2f} ± {100 * point.error_se:.2f}",
                end_section=k == len(points) - 1,
            )
    console = Console(highlight=False)
    console.print(title, soft_wrap=True)
    console.print(table)
