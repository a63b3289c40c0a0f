"""How the columns of a log and a pool are understood, and the command that prints it."""

import json
from pathlib import Path

import polars as pl
import pytest

from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.tables.understanding import understood
from unskew.cli import main
from unskew.errors import InputError


def test_roles_are_guessed_and_a_word_overrides_the_guess() -> None:
    found = understood(LOG, POOL)
    assert (found.label, found.id, found.propensity, found.problem) == ("repaid", "application", "granted_with", "")
    assert understood(LOG, POOL, label="homeowner").label == "homeowner"
    none = understood(LOG, POOL, label="repaid", guess=False)
    assert (none.id, none.propensity) == (None, None)
    flipped = understood(LOG, POOL, classes=["yes", "no"])
    assert list(flipped.classes) == ["yes", "no"]


def test_a_column_that_cannot_be_read_is_shown_beside_the_others(tmp_path: Path) -> None:
    log, pool = tmp_path / "log.csv", tmp_path / "pool.csv"
    log.write_text("x,size,paid\n1,3,yes\n2,old,no\n3,4,\n4,5,yes\n")
    pool.write_text("x,size\n5,3\n")
    found = understood(log, pool)
    size = found.columns[1]
    assert size.name == "size" and size.examples == ("3", "old", "4")
    assert size.problem == found.problem and "line 3: column 'size' holds numbers, but 'old'" in size.problem
    assert understood(log, pool, types={"size": "category"}).problem == ""
    log.write_text("x,x\n1,2\n")
    with pytest.raises(InputError, match="'x'"):
        understood(log, pool)


def test_a_pool_in_files_and_several_logs(tmp_path: Path) -> None:
    pool = pl.read_csv(POOL, infer_schema=False)
    for k in range(2):
        pool[k::2].write_csv(tmp_path / f"part{k}.csv")
    heading, *lines = LOG.read_text().splitlines()
    for name, some in (("a.csv", lines[:800]), ("b.csv", lines[800:])):
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / name).write_text("\n".join([heading, *some]) + "\n")
    found = understood([tmp_path / "logs" / "a.csv", tmp_path / "logs" / "b.csv"], str(tmp_path / "part*.csv"))
    assert (found.log_rows, found.pool_rows, found.problem) == (1500, 2500, "")
    assert {column.name: column.missing for column in found.columns}["repaid"] == 828
    assert any("b.csv" in one for one in found.sources)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    tables = ["columns", "--log", str(LOG), "--pool", str(POOL)]
    assert main([*tables, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["label"] == "repaid" and said["next"][:2] == ["start", "campaign"]
    assert main([*tables, "--type", "region=number"]) == 2
    out, problem = capsys.readouterr()
    assert "number (given)" in out and "next:" not in out and "must hold numbers" in problem


def test_a_column_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--json"]):
        assert main(["columns", "--log", str(LOG), "--pool", str(POOL), "--label", "colour", *more]) == 2
        shown, said = capsys.readouterr()
        assert "debt_percent" in shown and said.startswith("unknown label column 'colour'")
