"""`unskew reproduce`: the paper's whole experiment section, resumable, with tables, figures and a report."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Overwrite
from unskew.errors import InputError
from unskew.methods.registry import EXPERIMENT_METHODS

if TYPE_CHECKING:
    from unskew.experiments.reproduce import Finished, Grid
    from unskew.experiments.summary import Summary

LINE_EVERY = 30.0
"""Seconds between lines of progress where there is no terminal."""


def reproduce(
    datasets: Annotated[str | None, typer.Option(help="Names, separated by commas. Default: all twelve.")] = None,
    policies: Annotated[
        str | None,
        typer.Option(help="identical, uniform, uncertainty, certainty, blind-spot. Default: the first four."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Names, separated by commas: {', '.join(EXPERIMENT_METHODS)}, or your own as module:Class. "
            "Default: the paper's four."
        ),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(help="released: as the authors' program ran the experiments. text: as the paper's text says."),
    ] = "released",
    tune_repeats: Annotated[
        int | None,
        typer.Option(help="The number of repeats to tune C and eta on. Default: 16; 10 in the text; 8 with --quick."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            help="The number of repeats to report: fresh ones, in the text those of the tuning. "
            "Default: 64; 10 in the text; 16 with --quick."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    jobs: Annotated[int, typer.Option(help="The number of processes on this machine; -1 means one per core.")] = -1,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786, to run on.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results, tables, figures and report.html.")] = Path(
        "reproduction"
    ),
    overwrite: Overwrite = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder with the data files. Default: $UNSKEW_DATA, or the cache.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three data sets, few parameters and repeats: under a minute.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Run all of the paper's experiments: tables, figures, a report."""
    from unskew.experiments.outputs import check, write_summary
    from unskew.experiments.protocols import protocol_named
    from unskew.experiments.reproduce import QUICK_DATASETS, Grid
    from unskew.experiments.reproduce import reproduce as run
    from unskew.experiments.summary import summarise

    chosen = protocol_named(protocol)
    if quick:
        chosen = replace(chosen, tune_repeats=8, repeats=16 if chosen.fresh else 8, grid="coarse")
    if not chosen.fresh:  # the same repeats: one number says the other
        tune_repeats = repeats if tune_repeats is None else tune_repeats
        repeats = tune_repeats if repeats is None else repeats
    chosen = replace(
        chosen,
        tune_repeats=chosen.tune_repeats if tune_repeats is None else tune_repeats,
        repeats=chosen.repeats if repeats is None else repeats,
    )
    base = Grid(datasets=QUICK_DATASETS) if quick else Grid()
    grid = Grid(
        datasets=_names("--datasets", datasets, base.datasets),
        policies=_names("--policies", policies, base.policies),
        methods=_names("--methods", methods, base.methods),
        seed=seed,
        protocol=chosen,
    )
    if jobs == 0 or jobs < -1:
        raise InputError(f"jobs must be at least 1, or -1 for one per core; got {jobs}. Leave it out for all cores.")
    check(out, grid.policies, overwrite=overwrite)  # before hours of work
    try:
        with _progress(grid) as report:
            records = run(grid, out, data_dir=data_dir, jobs=jobs, cluster=cluster, progress=report)
        summary = summarise(records)
        paths = write_summary(summary, out, overwrite=overwrite)
    except KeyboardInterrupt:
        print(f"{_kept(out)} results are kept in {out}; run the same command to continue.", file=sys.stderr)
        raise
    if as_json:
        print(json.dumps(_plain(summary, out, paths), indent=1))
    else:
        _print_pairs(summary, paths[-1])
    if not summary.failed.is_empty():
        _say_failed(summary)
        raise typer.Exit(1)


def _names(option: str, given: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """A list as typed, without repetitions."""
    if given is None:
        return default
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    if not names:
        raise InputError(f"{option} must name at least one; got {given!r}. Known: {', '.join(default)}.")
    return names


@contextmanager
def _progress(grid: "Grid") -> Iterator[Callable[["Finished"], None]]:
    """A callback for finished results: a bar with the time left on a terminal, else a line now and then."""
    standing = _Standing(len(grid.methods))
    if not sys.stderr.isatty():
        last = time.monotonic()

        def line(finished: "Finished") -> None:
            nonlocal last
            standing.add(finished.record)
            if time.monotonic() - last > LINE_EVERY:
                print(f"{finished.done} of {finished.total} results. {standing}", file=sys.stderr, flush=True)
                last = time.monotonic()

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("running"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    best = TextColumn("{task.description}", markup=False)
    with Progress(*columns, best, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(grid))

        def draw(finished: "Finished") -> None:
            standing.add(finished.record)
            bar.update(task, completed=finished.done, description=str(standing))

        yield draw


class _Standing:
    """Which method is best in how many of the cells that have all their methods."""

    def __init__(self, methods: int) -> None:
        self.methods = methods
        self.areas: dict[tuple[str, str], dict[str, float]] = {}

    def add(self, record: dict[str, Any]) -> None:
        from unskew.experiments.summary import Result

        task = record["task"]
        area = float("inf") if "failed" in record else Result(record, task["method"]).auc
        self.areas.setdefault((task["dataset"], task["policy"]), {})[task["method"]] = area

    def __str__(self) -> str:
        whole = [areas for areas in self.areas.values() if len(areas) == self.methods]
        if not whole or self.methods == 1:
            return ""
        best = [min(areas, key=areas.__getitem__) for areas in whole]
        leader = max(sorted(set(best)), key=best.count)
        return f"{leader.rpartition(':')[2]} best in {best.count(leader)} of {len(whole)} cells"


def _kept(out: Path) -> int:
    """Finished results in the folder."""
    from unskew.experiments.store import NAME, Store

    if not (out / NAME).exists():
        return 0
    with Store(out) as store:
        return sum("task" in record and "failed" not in record for record in store.records.values())


def _plain(summary: "Summary", out: Path, paths: list[Path]) -> dict[str, Any]:
    return {
        **summary.run,
        "datasets": summary.datasets,
        "policies": summary.policies,
        "methods": summary.methods,
        "pairs": summary.pairs.to_dicts(),
        "standings": summary.standings.to_dicts(),
        "failed": summary.failed.to_dicts(),
        "out": str(out),
        "files": [str(path) for path in paths],
    }


def _print_pairs(summary: "Summary", report: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from unskew.experiments.tables import best_text, pair_rows

    console = Console(highlight=False)
    if not summary.pairs.is_empty():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for k, heading in enumerate(("AUC of", "won", "clear", "mean ratio (95 %)", "paper", "mean")):
            table.add_column(heading, justify="right" if k else "left", no_wrap=True)
        for pair, won, wins, losses, mean, paper_won, paper_mean in pair_rows(summary):
            table.add_row(pair, won, f"{wins} : {losses}", mean.replace(" to ", "-"), paper_won, paper_mean)
        console.print(table)
        console.print("won: cells with a ratio below 1; clear: wins : losses beyond noise; paper: the same cells.")
        console.print(best_text(summary), soft_wrap=True)
    console.print(f"Report: {report}", soft_wrap=True)


def _say_failed(summary: "Summary") -> None:
    for dataset, policy, method, failed in summary.failed.iter_rows():
        print(f"failed: {dataset}, {policy}, {method}: {failed}", file=sys.stderr)
    print("The same command tries the failed ones again.", file=sys.stderr)
