"""`unskew why` and what `unskew report` says about columns: in words, as JSON, for rows of any pool."""

import re
from pathlib import Path

import polars as pl
import pytest

from commands import START, fill, out, refused, told
from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.learning import prepared
from unskew.campaigns.report.chart import importance_chart
from unskew.campaigns.tables import pool_files
from unskew.cli import main


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on the simulated bank with 20 labels."""
    folder = tmp_path_factory.mktemp("why")
    bank, rows = folder / "bank", folder / "rows.csv"
    assert main(["start", str(bank), "--log", str(LOG), "--pool", str(POOL), *START, "--budget", "60"]) == 0
    assert main(["ask", str(bank), "-n", "20", "--out", str(rows)]) == 0
    assert main(["tell", str(bank), str(fill(rows))]) == 0
    return bank


def test_one_row_in_words_and_as_json(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "why", str(bank), "A01506")
    found = told(capsys, "why", str(bank), "A01506")
    assert re.search(r"^row A01506: the model predicts 'yes'\. The chance of 'yes' is [\d.]+ %, which is", said)
    assert re.search(r"^employment +permanent +\+\d\.\d\d +[\d.]+ %$", said, re.M)
    assert "values of 200 other rows" in said and "say nothing about causes" in said and "-0.00" not in said
    assert found["prediction"] == found["about"] == "yes" and 0.5 < found["probability"] < 1.0
    moved = [abs(effect["log_odds"]) for effect in found["effects"]]
    assert moved == sorted(moved, reverse=True) and found["effects"][0]["column"] == "employment"
    assert {effect["column"] for effect in found["effects"]} < set(pl.read_csv(POOL).columns)


def test_an_id_that_no_row_has(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "why", str(bank), "A1")
    assert said == "no row of the pool has the id 'A1'. Ids are in the column 'application'.\n"


def test_rows_without_ids_have_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pool = pl.read_csv(POOL).drop("application")
    pool.write_csv(tmp_path / "pool.csv")
    pl.read_csv(LOG).drop("application").write_csv(tmp_path / "log.csv")
    tables = ["--log", str(tmp_path / "log.csv"), "--pool", str(tmp_path / "pool.csv")]
    assert main(["start", str(tmp_path / "c"), *tables, "--label", "repaid", "--propensity", "granted_with"]) == 0
    capsys.readouterr()
    last = told(capsys, "why", str(tmp_path / "c"), f"row-{pool.height}")
    values = {effect["column"]: effect["value"] for effect in last["effects"]}
    assert values == pool[-1].select(list(values)).to_dicts()[0]
    for id in (f"row-{pool.height + 1}", "row-0", "1", "row--1", "row-x"):
        said = refused(capsys, "why", str(tmp_path / "c"), id)
        assert f"no row of the pool has the id '{id}'. The first row of the pool is row-1." in said


def test_rows_of_a_large_pool_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also a row that is in no sample."""
    monkeypatch.setattr(prepared, "JUDGE", 300)
    monkeypatch.setattr(pool_files, "COPIED", 1000)
    files = tmp_path / "pool"
    files.mkdir()
    pool = pl.read_csv(POOL, try_parse_dates=True)
    for k in range(5):
        pool[500 * k : 500 * (k + 1)].write_parquet(files / f"{k}.parquet")
    large = str(tmp_path / "large")
    assert main(["start", large, "--log", str(LOG), "--pool", str(files), *START]) == 0
    capsys.readouterr()
    for k in (0, 1234, 2499):
        found = told(capsys, "why", large, pool["application"][k])
        assert {effect["column"]: effect["value"] for effect in found["effects"]}["income"] == pool["income"][k]


def test_the_report_says_which_columns_matter(bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "report", str(bank), "--out", str(tmp_path / "report.html"))["importance"]
    columns = [one["column"] for one in found["columns"]]
    assert columns[0] == "employment" and found["weighted"] and found["labels"] > 20
    assert all(
        one["log_loss"]["low"] <= one["log_loss"]["value"] <= one["log_loss"]["high"] for one in found["columns"]
    )
    page = (tmp_path / "report.html").read_text()
    section = page[page.index('aria-labelledby="drivers"') :].partition("</section>")[0]
    assert section.count("<svg ") == 2 and all(
        section.count(f'<tr><th scope="row">{name}</th>') == 1 for name in columns
    )
    assert "Most of all: employment, by 0." in section and "on everyone" in section


def test_any_name_of_a_column_can_be_drawn() -> None:
    """Letters that no font here has, a formula that is none, and characters that no page may hold."""
    from unskew.campaigns.learning.drivers import Driver, Rise

    names = ["年龄", "$x^", "a\x00b", "<b>&", "long " * 30]
    picture = importance_chart([Driver(name, Rise(0.1, 0.0, 0.2), Rise(0.1, 0.0, 0.2)) for name in names])
    assert "年龄" in picture and "$x^" in picture and "\x00" not in picture and "&lt;b&gt;&amp;" in picture
    assert "long long" in picture and "long " * 8 not in picture
