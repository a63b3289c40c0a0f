"""`unskew extend`: new rows for the pool, as a person gives them."""

from pathlib import Path

import polars as pl
import pytest

from commands import fill, out, refused, told
from unskew.campaigns.example import POOL, truth
from unskew.cli import main


def more(path: Path, rows: int = 80) -> Path:
    """Rows of the example's pool under ids that nobody has."""
    frame = pl.read_csv(POOL)[:rows]
    frame.with_columns(pl.concat_str(pl.lit("N"), "application").alias("application")).write_csv(path)
    return path


def filled() -> Path:
    """The rows that were asked for with their labels. New rows have those of the rows they are copies of."""
    return fill(Path("rows.csv"), {f"N{id}": label for id, label in truth().items()})


def test_new_rows_are_told_and_asked_for(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "bank", "-n", "20", "--out", "rows.csv"]) == 0
    assert main(["tell", "bank", str(filled())]) == 0
    said = out(capsys, "extend", "bank", "--pool", str(more(Path("more.csv"))))
    assert "pool        2,500 rows, then 80 more after round 1: 2,580 in all\n" in said
    assert "the model   wrong on " in said and "Be careful: the number rests on the log alone" in said
    assert "next: unskew ask bank" in said
    found = told(capsys, "status", "bank")
    assert (found["pool_rows"], found["first_rows"], found["extensions"]) == (2580, 2500, [[80, 1]])
    everywhere = [found["error"], told(capsys, "error", "bank"), told(capsys, "report", "bank")["error"]]
    assert {(one["value"], one["low"], one["high"], one["extended"]) for one in everywhere} == {
        (found["error"]["value"], found["error"]["low"], found["error"]["high"], True)
    }
    assert found["estimates"]["error"] == found["error"]
    number = f"wrong on {100 * found['error']['value']:.1f} % of everyone"
    for some in (["--measure", "recall"], ["--against", "0"], ["--where", "age < 40"]):
        assert "Be careful: the number rests on the log alone" in out(capsys, "error", "bank", *some)
    for command in ("status", "error", "report"):
        said = out(capsys, command, "bank")
        assert number in said and "Be careful: the number rests on the log alone" in said
        assert "The log may not speak for the rows that came to the pool later" in said
    assert "pool        2,500 rows, then 80 more after round 1\n" in out(capsys, "status", "bank")
    assert main(["ask", "bank", "-n", "20", "--out", "rows.csv"]) == 0
    assert main(["tell", "bank", str(filled())]) == 0
    error = told(capsys, "status", "bank")["error"]
    assert error["extended"] and error["log_share"] == 0.0 and error["rests_on"] == "the drawn labels"
    assert "may not speak for the rows that came to the pool later" in out(capsys, "error", "bank")
    assert "The pool was extended: 2,500 rows, then 80 more after round 1." in _report(capsys)
    ledger = told(capsys, "export", "bank", "--out", "model")["files"]
    events = pl.read_parquet(next(path for path in ledger if path.endswith("ledger.parquet")))
    assert '"rows": 80' in events.filter(kind="extended")["details"].item()


def _report(capsys: pytest.CaptureFixture[str]) -> str:
    out(capsys, "report", "bank")
    return Path("bank/report.html").read_text()


def test_json_and_what_is_refused(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more(Path("more.csv"))
    found = told(capsys, "extend", "bank", "--pool", "more.csv")
    assert (found["rows"], found["pool_rows"], found["pool"]) == (80, 2580, "2,500 rows, then 80 more before round 1")
    assert found["next"][:2] == ["ask", "bank"]
    assert "'NA01501' of column 'application' and 79 more are in the pool already" in refused(
        capsys, "extend", "bank", "--pool", "more.csv"
    )
    assert "nowhere.csv" in refused(capsys, "extend", "bank", "--pool", "nowhere.csv")
    assert "bank/pool-2.parquet is a file of the campaign" in refused(
        capsys, "report", "bank", "--out", "bank/pool-2.parquet", "--overwrite"
    )
