"""`unskew data`: the paper's data sets, what they are, where they lie, fetching and checking them."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import Overwrite
from unskew.cli.progress import progress

if TYPE_CHECKING:
    from unskew.experiments.collections import Card

app = typer.Typer(rich_markup_mode=None)

Names = Annotated[list[str] | None, typer.Argument(help="Data sets. Default: all that have a file.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder with the data files. Default: $UNSKEW_DATA, or the cache.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback(invoke_without_command=True)
def data(context: typer.Context) -> None:
    """The paper's data sets: list, fetch, verify."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_(data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the twelve data sets and where their files are."""
    from unskew.experiments.collections import cards

    found = cards(data_dir)
    if as_json:
        print(json.dumps([asdict(card) for card in found], indent=1))
    else:
        _print_cards(found)


@app.command()
def fetch(
    names: Names = None,
    to: Annotated[Path | None, typer.Option(help="Folder to put the files into. Default: the cache.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Download missing files from the original collections."""
    from unskew.experiments.collections import OTHER, with_file
    from unskew.experiments.collections import fetch as get

    strange = False
    for name in with_file(names or []):
        with progress(f"fetching {name}") as report:
            checked, fetched = get(name, to, report, overwrite=overwrite)
        print(f"{name}: {'fetched to' if fetched else 'already at'} {checked.path}", flush=True)
        if checked.state == OTHER:
            strange = True
            print(checked.detail, file=sys.stderr)
    if strange:
        raise typer.Exit(1)


@app.command()
def verify(names: Names = None, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Check the files on this machine: checksum, rows, features, values."""
    from unskew.experiments.collections import COPY, MISSING, RIGHT, find, with_file
    from unskew.experiments.collections import verify as check
    from unskew.experiments.datasets import search_path

    chosen, folders = with_file(names or []), search_path(data_dir)
    results = []
    with progress("reading") as report:
        for name in chosen:
            results.append(check(name, find(name, folders)))
            report(len(results), len(chosen))
    if as_json:
        plain = [asdict(result) | {"path": str(result.path) if result.path else None} for result in results]
        print(json.dumps(plain, indent=1))
    else:
        for result in results:
            print(f"{result.name}: {result.state}" + (f", {result.path}" if result.path else ""))
            if result.detail:
                print(result.detail, file=sys.stderr)
    here = [result for result in results if result.state != MISSING]
    if not here:
        print(f"no file is in {', '.join(map(str, folders))}. Get them with: unskew data fetch", file=sys.stderr)
    wanted = results if names else here
    if not here or any(result.state not in (RIGHT, COPY) for result in wanted):
        raise typer.Exit(1)


def _print_cards(cards: list["Card"]) -> None:
    from rich.console import Console
    from rich.table import Table

    from unskew.experiments.collections import COLLECTIONS, MISSING
    from unskew.experiments.datasets import ROWS_USED

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, justify in (("data set", "left"), ("rows", "right"), ("features", "right"), ("+1", "right"),
                             ("-1", "right"), ("from", "left"), ("file", "left")):  # fmt: skip
        table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    folders: dict[str, list[str]] = {}
    for card in cards:
        of = f" of {card.rows_in_file}" if card.rows_in_file not in (None, card.rows) else ""
        counts = [f"{count}" if count is not None else "half" for count in (card.positive, card.negative)]
        where = "none: drawn" if card.file is None else "here" if card.path else MISSING
        table.add_row(card.name, f"{card.rows}{of}", str(card.features), *counts, card.collection or "", where)
        if card.path:
            folders.setdefault(str(Path(card.path).parent), []).append(card.name)
    console = Console(highlight=False, width=max(80, Console().width))  # a narrow terminal wraps, and nothing is cut
    console.print(table)
    for folder, names in folders.items():
        console.print(f"found in {folder}: {len(names)}", soft_wrap=True)
    console.print(f"Sets of more than {ROWS_USED} rows are cut to a random {ROWS_USED}. Licences:", soft_wrap=True)
    for name, collection in COLLECTIONS.items():
        console.print(f"  {name}: {collection.licence}", soft_wrap=True)
