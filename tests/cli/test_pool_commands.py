"""Commands on a pool of many files, and predictions from file to file."""

import os
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from commands import out, refused, told
from dask_processes import scheduler, workers
from many_files import ROWS, paid, whole_pool, write_log, write_pool
from unskew.campaigns.tables import blocks
from unskew.cli import main

NAMES = ["--label", "paid", "--propensity", "q0", "--id", "loan", "--budget", "40"]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    write_log(folder / "log.parquet")
    write_pool(folder / "pool", whole_pool())
    files = ["--log", str(folder / "log.parquet"), "--pool", str(folder / "pool" / "*.parquet")]
    assert main(["start", str(folder / "bank"), *files, *NAMES]) == 0
    return folder


@pytest.fixture
def bank(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(begun / "bank", tmp_path / "bank")


def snapshot(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_campaign_on_many_files(bank: Path, begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = ["start", "other", "--log", str(begun / "log.parquet"), "--pool", str(begun / "pool"), *NAMES]
    said = out(capsys, *other)
    assert f"pool        {ROWS} rows in 8 files, which stay where they are: do not change or move them\n" in said
    shutil.rmtree("other")
    found = told(capsys, *other, "--look", "3000")
    assert (found["pool_rows"], found["pool_files"], found["look"]) == (ROWS, 8, 3000)
    for _ in range(2):
        assert main(["ask", "bank", "-n", "20", "--out", "rows.csv"]) == 0
        rows = pl.read_csv("rows.csv").with_columns(pl.col("x0").map_elements(paid, pl.Int64).alias("paid"))
        rows.write_csv("rows.csv")
        assert main(["tell", "bank", "rows.csv"]) == 0
    assert told(capsys, "status", "bank")["spent"] == 40
    assert "% of all rows are like this: region = north" in out(capsys, "error", "bank", "--where", "region = north")
    assert "an estimate needs 200. Use a wider rule." in refused(capsys, "error", "bank", "--where", "x0 > 3.2")
    assert "from 40 labels of 40." in out(capsys, "report", "bank")
    assert re.search("<td[^>]*>about 3", Path("bank/report.html").read_text())


def test_a_small_pool_is_copied_and_start_says_nothing_else(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole_pool(500).write_parquet(tmp_path / "pool.parquet")
    files = ["--log", str(begun / "log.parquet"), "--pool", str(tmp_path / "pool.parquet")]
    found = told(capsys, "start", str(tmp_path / "bank"), *files, *NAMES)
    assert (found["pool_rows"], found["pool_files"]) == (500, None)
    assert (tmp_path / "bank" / "pool.parquet").exists() and not (tmp_path / "bank" / "pool.files.json").exists()


def test_a_file_that_is_gone_is_one_line_and_nothing_changes(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = shutil.copytree(begun / "pool", tmp_path / "pool")
    bank = str(tmp_path / "bank")
    assert main(["start", bank, "--log", str(begun / "log.parquet"), "--pool", str(pool), *NAMES]) == 0
    (pool / "part-2.parquet").rename(tmp_path / "kept")
    before = snapshot(tmp_path / "bank")
    said = refused(capsys, "ask", bank, "-n", "5", "--out", str(tmp_path / "rows.csv"))
    assert said.count("\n") == 1 and "part-2.parquet" in said and "Restore it from a copy." in said
    assert snapshot(tmp_path / "bank") == before and not (tmp_path / "rows.csv").exists()
    (tmp_path / "kept").rename(pool / "part-2.parquet")
    assert main(["ask", bank, "-n", "5", "--out", str(tmp_path / "rows.csv")]) == 0


def test_a_scheduler_that_does_not_answer(bank: Path, begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, nobody = snapshot(bank), ["--cluster", "tcp://127.0.0.1:9"]
    start = ["start", "new", "--log", str(begun / "log.parquet"), "--pool", str(begun / "pool"), *NAMES]
    predict = ["predict", "bank", str(begun / "pool"), "--out", "found.csv"]
    for command in (start, ["ask", "bank"], ["report", "bank"], predict):
        said = refused(capsys, *command, *nobody)
        assert said.startswith("no Dask scheduler answers at 'tcp://127.0.0.1:9'")
    assert snapshot(bank) == before and sorted(path.name for path in Path().iterdir()) == ["bank"]


def test_a_cluster_gives_the_same(bank: Path, begun: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dask = Path("dask").absolute()
    dask.mkdir()
    shutil.copytree("bank", "other")
    files = ["--log", str(begun / "log.parquet"), "--pool", str(begun / "pool")]
    with scheduler(dask) as address, workers(dask):
        on = ["--cluster", address]
        assert told(capsys, "start", "new", *files, *NAMES, *on)["pool_files"] == 8
        there = told(capsys, "ask", "other", "-n", "10", *on)
        assert told(capsys, "predict", "bank", str(begun / "pool"), "--out", "there.parquet", *on)["rows"] == ROWS
    here = told(capsys, "ask", "bank", "-n", "10")
    assert here["rows"] == there["rows"] == told(capsys, "ask", "new", "-n", "10")["rows"]
    assert main(["predict", "bank", str(begun / "pool"), "--out", "here.parquet"]) == 0
    assert pl.read_parquet("here.parquet").equals(pl.read_parquet("there.parquet"))


@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet", "arrow", "folder", "texts"])
def test_predictions_block_by_block_are_those_of_the_whole(
    source: str, end: str, bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = whole_pool(2500)
    rows.write_csv("rows.csv")
    rows.write_parquet("rows.parquet", row_group_size=400)
    rows.write_ipc("rows.arrow", record_batch_size=400)
    write_pool(Path("folder"), rows, files=4)
    Path("texts").mkdir()
    for k, first in enumerate((0, 900, 901)):
        rows[first : (900, 901, 2500)[k]].write_csv(f"texts/{k}.csv")
    Path("texts/empty.csv").write_text(Path("texts/0.csv").read_text().partition("\n")[0])
    name = f"rows.{source}" if Path(f"rows.{source}").exists() else source
    assert "2500 predictions in whole" in out(capsys, "predict", "bank", name, "--out", f"whole.{end}")
    monkeypatch.setattr(blocks, "BYTES", 20_000)
    monkeypatch.setattr(blocks, "ROWS", 300)
    assert told(capsys, "predict", "bank", name, "--out", f"parts.{end}") == {"rows": 2500, "out": f"parts.{end}"}
    read = pl.read_csv if end == "csv" else pl.read_parquet
    whole, parts = read(f"whole.{end}"), read(f"parts.{end}")
    assert parts.drop("probability").equals(whole.drop("probability"))
    assert parts["loan"].equals(rows["loan"])
    assert parts["probability"].to_list() == pytest.approx(whole["probability"].to_list(), rel=1e-9)
    printed = out(capsys, "predict", "bank", name)
    assert printed.splitlines()[0] == "loan,prediction,probability" and printed.count("\n") == 2501


def test_bad_rows_at_the_end_leave_no_predictions(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "ROWS", 300)
    rows = whole_pool(1000)
    bad = pl.concat([rows, rows[:1].with_columns(x0=pl.lit(1e31))])
    bad.write_parquet("rows.parquet")
    for more in ([], ["--out", "found.csv"], ["--out", "found.parquet"], ["--json"]):
        said = refused(capsys, "predict", "bank", "rows.parquet", *more)
        assert said.startswith("rows.parquet row 1001: column 'x0' holds 1e+31")
    assert sorted(path.name for path in Path().iterdir()) == ["bank", "rows.parquet"]
    Path("empty").mkdir()
    assert "the folder 'empty' is empty" in refused(capsys, "predict", "bank", "empty")


def test_bad_text_files_are_one_line_and_make_no_campaign(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool"
    pool.mkdir()
    start = ["start", str(tmp_path / "bank"), "--log", str(begun / "log.parquet"), "--pool", str(pool), *NAMES]
    whole_pool(300).write_csv(pool / "a.csv")
    good = (pool / "a.csv").read_bytes()
    for content, wrong in (
        (good + b"A9,1,2,3,north,more\n", "b.csv line 302 has 6 cells; the header has 5."),
        (good + b'A9,1,2,3,"north\n', "b.csv line 302 is not CSV: unexpected end of data."),
        (good + b"A9,1,2,3,n\xf6rd\n", "b.csv line 302 is not UTF-8: byte "),
        (good + b"A9,one,2,3,north\n", "b.csv row 301: column 'x0' holds numbers, but 'one' is not one."),
        (good, "ids must differ; 'A000000'"),
    ):
        (pool / "b.csv").write_bytes(content)
        said = refused(capsys, *start)
        assert wrong in said and said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pool"]


def test_hashes_on_demand(bank: Path, begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "status", "bank", "--hash").startswith("no hashes of the pool's files were kept.")
    files = ["--log", str(begun / "log.parquet"), "--pool", str(shutil.copytree(begun / "pool", tmp_path / "pool"))]
    assert main(["start", "new", *files, *NAMES, "--hash"]) == 0
    assert "8 files of the pool: every byte is as it was when the campaign" in out(capsys, "status", "new", "--hash")
    assert told(capsys, "status", "new", "--hash")["hashed"] == 8 and told(capsys, "status", "new")["hashed"] is None
    path = tmp_path / "pool" / "part-3.parquet"
    times, content = path.stat(), bytearray(path.read_bytes())
    content[500] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert f"{path} is not the file the campaign began with: its bytes" in refused(capsys, "status", "new", "--hash")
