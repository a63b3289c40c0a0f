"""What the commands of a campaign share: its folder, who is asking, what to print, what to do next."""

import getpass
import json
import shlex
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.campaigns.start_options import START
from unskew.cli.options import declared
from unskew.errors import InputError
from unskew.methods.prospect import AHEAD

if TYPE_CHECKING:
    from unskew.campaigns import Status
    from unskew.estimation.population import PopulationEstimate

Dir = Annotated[Path, typer.Argument(metavar="DIR", help="The campaign's folder.", show_default=False)]
By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who labels. Default: your login name.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Also replace files that this command did not write.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786, whose workers read the files.")
]
Types = Annotated[list[str] | None, declared(START["types"])]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def engine(cluster: str | None) -> AbstractContextManager[Any]:
    """Within this, files are read by the workers of a cluster, if one is named."""
    if cluster is None:
        return nullcontext()
    from unskew.pools.cluster import on_cluster

    return on_cluster(cluster)


def login(by: str | None) -> str:
    """The name given, or that of the user."""
    if by is not None:
        return by
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InputError("there is no login name to label under. Give your name with --by NAME.") from None


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(record, indent=1, ensure_ascii=False))


def say_next(*words: object, err: bool = False) -> None:
    """Print the command to continue with."""
    typer.echo(f"next: {command(*words)}", err=err)


def command(*words: object) -> str:
    """One of our commands as a person types it."""
    return f"unskew {shlex.join(map(str, words))}"


def next_step(status: "Status", dir: Path, by: str | None = None, file: str = "rows.csv") -> list[str]:
    """What to do next in a campaign. For `by`, if given, only rows that `by` holds can be told, in `file`."""
    mine = status.annotators.get(by) if by is not None else None
    if status.leased if by is None else mine is not None and mine.holds:
        return ["tell", str(dir), file]
    if status.available + status.left and not status.ended:
        return ["ask", str(dir), "-n", str(min(20, status.available + status.left)), "--out", "rows.csv"]
    return ["status" if status.open and not status.ended else "report", str(dir)]


def after_all(status: "Status", dir: Path) -> list[str]:
    """What to do once the model is in use: label on, with a higher budget if it is spent, or look at the report."""
    step = next_step(status, dir)
    if step[0] == "report" and status.unasked:
        return ["budget", str(dir), str(status.budget + min(AHEAD, status.unasked))]
    return step


def as_record(found: "PopulationEstimate | None") -> dict[str, Any] | None:
    """An estimate ready for JSON, with what stands beside it."""
    if found is None:
        return None
    sides = {name: side and side._asdict() for name, side in (("log", found.log), ("draw", found.draw))}
    return {**asdict(found), **sides, "commoner": found.commoner, "rests_on": found.rests_on}


def estimates(status: "Status") -> dict[str, Any]:
    """The latest estimates ready for JSON, what the campaign aims at, and the same in words."""
    aim, lead = status.aim, status.aim.leading(status.estimates)
    return {
        "error": as_record(status.error),
        "estimates": {name: as_record(found) for name, found in status.estimates.items()},
        "aim": {
            "measure": aim.measures[0],
            "recall": aim.recall,
            "costs": asdict(aim.costs) if aim.recall is None else None,
            "threshold": lead and lead.threshold,
        },
        "words": [f"The model {status.told}.", *status.beside] if lead else [],
    }


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {what}{'s' if number != 1 else ''}"
