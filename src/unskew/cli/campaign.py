"""What the commands of a campaign share: its folder, who is asking, what to print, what to do next."""

import getpass
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.campaigns import Campaign

Dir = Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's folder.", show_default=False)]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who labels. Default: your login name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]


def login(by: str | None) -> str:
    """The name given, or that of the user."""
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("there is no login name to label under. Say who you are with --by NAME.") from None


def print_json(record: dict[str, Any]) -> None:
    """One JSON object."""
    print(json.dumps(record, indent=1, ensure_ascii=False))


def say_next(*words: object, err: bool = False) -> None:
    """The command to go on with."""
    typer.echo(f"next: {command(*words)}", err=err)


def command(*words: object) -> str:
    """A command of ours as one types it."""
    return f"unskew {shlex.join(map(str, words))}"


def next_step(campaign: "Campaign", dir: Path, by: str | None = None) -> list[str]:
    """What to do with a campaign as it stands; for `by`, if given: rows that others have are theirs to tell."""
    status = campaign.status()
    mine = status.annotators.get(by) if by is not None else None
    if status.leased if by is None else mine is not None and mine.holds:
        return ["tell", str(dir), "rows.csv"]
    if status.waiting + status.expired + status.left:
        return ["ask", str(dir), "-n", "20", "--out", "rows.csv"]
    return ["status" if status.open else "report", str(dir)]


def checked_out(path: Path) -> Path:
    """A file that can be written; asked before the work, so that none is lost."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist. Make it first, or name another.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {str(path.parent)!r} may not be written to. Name another.")
    return path


def in_words(error: dict[str, Any] | None) -> str:
    """An estimate of the error on everyone as a person says it."""
    if error is None:
        return "not known yet: no label came at random"
    value, low, high = (100 * error[key] for key in ("value", "low", "high"))
    return f"wrong on {value:.0f} % of everyone, {100 * error['level']:g} % interval {low:.0f} to {high:.0f} %"
