"""Commands run in this process as a person types them, and the files they write filled in."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from unskew.campaigns.example import LOG, truth
from unskew.cli import main

START = ["--label", "repaid", "--propensity", "granted_with", "--id", "application", "--drawn", "0.25"]
"""The options of `start` for the simulated bank."""
RUN = [sys.executable, "-W", "error", "-c", "import sys; from unskew.cli import main; sys.exit(main())"]
"""The beginning of a command in a process of its own."""
GOOD = LOG.read_text().splitlines()
"""The lines of a log with which nothing is wrong."""


def fill(path: Path, other: dict[str, str] | None = None) -> Path:
    """Answer the rows as the truth has it, or otherwise."""
    known = truth() | (other or {})
    rows = table(path)
    path.write_text("".join(",".join([*row[:-1], known.get(row[0], row[-1])]) + "\n" for row in rows))
    return path


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))


def out(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    assert main(list(args)) == 0
    return capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out(capsys, *args, "--json"))
    return found


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    assert main(list(args)) == 2
    printed, said = capsys.readouterr()
    assert printed == "" and "Traceback" not in said
    return said
