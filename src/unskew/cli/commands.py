"""All commands as one program."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from unskew import __version__
from unskew.cli.answers import answers, comment, correct
from unskew.cli.audit import audit
from unskew.cli.columns import columns
from unskew.cli.conduct import budget, end, guide, reopen
from unskew.cli.curve import curve
from unskew.cli.data import app as data
from unskew.cli.demo import demo
from unskew.cli.error import error
from unskew.cli.extend import extend
from unskew.cli.labelling import ask, tell
from unskew.cli.people import people
from unskew.cli.reproduce import reproduce
from unskew.cli.results import export, predict, report, status
from unskew.cli.serve import serve
from unskew.cli.start import start
from unskew.cli.verify import verify
from unskew.cli.why import why
from unskew.errors import UnskewError, brief

app = typer.Typer(name="unskew", rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
for command in (
    demo, columns, audit, start, ask, tell, serve, status, error, report, predict, why, export, budget, extend, guide,
    people, answers, correct, comment, end, reopen, verify, curve, reproduce,
):  # fmt: skip
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


def run(words: list[str]) -> int:
    """Run a command and return its exit status. For bad input, print one line and return 2."""
    try:
        found = app(args=words or ["--help"], prog_name="unskew", standalone_mode=False)
    except UnskewError as error:
        return _refuse(str(error), getattr(error, "problems", ()), conflicts=getattr(error, "conflicts", False))
    except typer.TyperException as error:  # an unknown option, or text in place of a number
        wrong = getattr(error.__cause__, "errors", None)  # Pydantic's, which have the value; the message does not
        got = f"; got {wrong()[0]['input']!r}. Correct it, or see --help." if wrong else ""
        return _refuse(brief(error.format_message() + got))
    return found if isinstance(found, int) else 0


def _refuse(message: str, problems: Sequence[tuple[int, str]] = (), *, conflicts: bool = False) -> int:
    """Print one line; for a file of answers, one for each of its lines that is wrong."""
    if problems:
        message = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}, nothing was changed:"
    print(" ".join(message.split()), file=sys.stderr)
    for line, problem in problems:
        print(f"line {line}: {' '.join(problem.split())}", file=sys.stderr)
    if conflicts:
        print("To overwrite deliberately: add --force-correct.", file=sys.stderr)
    return 2
