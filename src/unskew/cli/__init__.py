"""The command line: parse, call one function, render. What is heavy is imported inside the commands."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from unskew import __version__
from unskew.cli.audit import audit
from unskew.cli.curve import curve
from unskew.cli.data import app as data
from unskew.cli.demo import demo
from unskew.cli.labelling import ask, tell
from unskew.cli.reproduce import reproduce
from unskew.cli.results import export, predict, report, status
from unskew.cli.serve import serve
from unskew.cli.start import start
from unskew.errors import UnskewError

app = typer.Typer(name="unskew", rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
for command in (demo, audit, start, ask, tell, serve, status, report, predict, export, curve, reproduce):
    app.command()(command)
app.add_typer(data, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"unskew {__version__}")
        raise typer.Exit


@app.callback()
def unskew(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn a classifier for everyone when labels were recorded only for some."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 2 for bad input, 130 when interrupted."""
    words = list(sys.argv[1:] if args is None else args)
    try:
        status = app(args=words or ["--help"], prog_name="unskew", standalone_mode=False)
    except UnskewError as error:
        return _refuse(str(error), getattr(error, "problems", ()))
    except typer.TyperException as error:  # an unknown option, a number that is not one
        return _refuse(error.format_message())
    if status == 130:
        print("interrupted", file=sys.stderr)
    return status if isinstance(status, int) else 0


def _refuse(message: str, problems: Sequence[tuple[int, str]] = ()) -> int:
    """One line; of a file of answers, one for each line of it that is wrong."""
    if problems:
        message = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}, nothing was changed:"
    print(" ".join(message.split()), file=sys.stderr)
    for line, problem in problems:
        print(f"line {line}: {' '.join(problem.split())}", file=sys.stderr)
    return 2
