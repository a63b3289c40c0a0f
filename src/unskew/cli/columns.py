"""`unskew columns`: how the columns of a log and a pool are understood."""

from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import Json, Types, print_json, say_next
from unskew.cli.progress import waiting
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.campaigns.tables.understanding import Understanding


def columns(
    log: Annotated[list[str], typer.Option(metavar="PATH", help="The log, as for `unskew start`. Repeatable.")],
    pool: Annotated[str, typer.Option(metavar="PATH", help="The pool, as for `unskew start`.")],
    label: Annotated[str | None, typer.Option(help="The log's column of labels. Default: it is guessed.")] = None,
    propensity: Annotated[
        str | None, typer.Option(help="The log's column of propensities. Default: it is guessed.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="The pool's column of ids. Default: it is guessed.")] = None,
    types: Types = None,
    as_json: Json = False,
) -> None:
    """How are the columns of a log and a pool understood?

    unskew columns --log log.csv --pool pool.csv

    unskew columns --log log.csv --pool pool.csv --type zip=category
    """
    from unskew.campaigns.start_options import parsed
    from unskew.campaigns.tables.understanding import understood

    with waiting("reading the files") as report:
        found = understood(
            log[0] if len(log) == 1 else log, pool, label=label, id=id, propensity=propensity,
            types=parsed(types or []), progress=report,
        )  # fmt: skip
    named = {"--label": found.label, "--propensity": found.propensity, "--id": found.id}
    chosen = [word for option, column in named.items() if column is not None for word in (option, column)]
    chosen += [word for given in types or [] for word in ("--type", given)]
    step = ["start", "campaign", *(word for path in log for word in ("--log", path)), "--pool", pool, *chosen]
    if as_json:
        print_json({**found.as_dict(), "next": None if found.problem else step})
    else:
        _print(found)
    if found.problem:  # the columns are shown all the same, so that one sees what to name
        raise InputError(found.problem)
    if not as_json:
        say_next(*step)


def _print(found: "Understanding") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, width=min(120, Console().width))
    console.print(f"log {found.log_rows:,} rows, pool {found.pool_rows:,} rows")
    if (found.log_seen, found.pool_seen) != (found.log_rows, found.pool_rows):
        console.print(f"missing values were counted in {found.log_seen:,} and {found.pool_seen:,} of them")
    console.print()
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading, right in (("column", 0), ("type", 0), ("is", 0), ("missing: log", 1), ("pool", 1), ("such as", 0)):
        grid.add_column(heading, justify="right" if right else "left")
    for column in found.columns:
        missing = ("-" if count is None else f"{count:,}" for count in (column.missing, column.pool_missing))
        kind = f"{column.kind} (given)" if column.given else column.kind
        shown = [column.name, kind, column.role, *missing, ", ".join(column.examples)]
        grid.add_row(*map(escape, shown))
    console.print(grid)
    console.print()
    told = [f"{column.name} is left out: {column.left_out}." for column in found.columns if column.left_out]
    told += [column.problem for column in found.columns if column.problem]
    if len(found.classes) == 2:
        told.append(f"The positive class is {list(found.classes)[1]}.")
    for sentence in dict.fromkeys((*told, *found.sources)):
        if sentence:
            console.print(escape(sentence))
