"""A campaign whose pool is in CSV or Arrow files: the same as with Parquet files of the same rows."""

import os

import numpy as np
import polars as pl
import pytest

from many_files import ROWS, told, whole_pool, write_log
from unskew.campaigns import Campaign
from unskew.campaigns.report.report import write_report
from unskew.errors import InputError, StoreError
from unskew.pools import text_files

WRITE = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc, "csv": pl.DataFrame.write_csv}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The same rows as Parquet, Arrow and CSV, cut differently."""
    folder = tmp_path_factory.mktemp("tables")
    log = pl.read_parquet(write_log(folder / "log.parquet"))
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 30), eager=True)
    log = more(log, days[np.arange(log.height) % 30]).with_columns(code=pl.lit("007"), empty=pl.lit(None))
    log.write_parquet(folder / "log.parquet")
    rows = more(whole_pool(), days[np.arange(ROWS) % 30]).with_columns(
        code=pl.format("0{}", pl.int_range(ROWS) % 9), empty=pl.lit(None, dtype=pl.String)
    )
    for kind, cuts in (("parquet", [0, 20_000, ROWS]), ("csv", [0, 7, 31_000, ROWS]), ("arrow", [0, 45_000, ROWS])):
        write(folder / kind, kind, rows, cuts)
    return folder


def more(frame, days):
    """Columns of every type. The whole numbers of many rows are followed by one that is not whole."""
    number = pl.int_range(pl.len())
    return frame.with_columns(
        pl.col("x2").cast(pl.Float64),
        age=18 + number % 60,
        share=pl.when(number == 50_000).then(0.5).otherwise(number % 3),
        member=number % 2 == 0,
        since=pl.Series(days),
    )


def write(folder, kind, rows, cuts):
    folder.mkdir()
    for k in range(len(cuts) - 1):
        WRITE[kind](rows[cuts[k] : cuts[k + 1]], folder / f"part-{k}.{kind}")
    return folder


def create(tables, folder, pool, **changed):
    wanted = {"log": tables / "log.parquet", "pool": pool, "label": "paid", "propensity": "q0", "id": "loan"}
    return Campaign.create(folder, **(wanted | {"budget": 40} | changed))


def labelled(campaign, rounds=2):
    asked = []
    for _ in range(rounds):
        rows = campaign.ask(20, by="ann")
        asked += [(row.id, row.probability, row.reason, row.values) for row in rows]
        campaign.tell(told(rows), by="ann")
        campaign.close_due()
    return asked


def test_every_kind_of_file_gives_the_same(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BYTES", 300_000)
    with create(tables, tmp_path / "parquet", tables / "parquet") as one:
        expected, error = labelled(one), one.error()
        for kind in ("csv", "arrow"):
            with create(tables, tmp_path / kind, str(tables / kind / "*")) as other:
                assert other.settings.types == one.settings.types
                assert labelled(other) == expected
                assert (other.error().value, other.error().high) == (error.value, error.high)
                assert other.pool_sample.equals(one.pool_sample)
                facts = write_report(other, tmp_path / f"{kind}.html")
                assert facts["spots"][0].rows == write_report(one, tmp_path / "one.html")["spots"][0].rows
    assert expected[0][-1]["share"] in (0.0, 0.5, 1.0, 2.0) and expected[0][-1]["code"].startswith("0")


@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_a_file_that_changed_is_noticed_before_a_label_is_spent(kind, tables, tmp_path):
    pool = write(tmp_path / "pool", kind, pl.read_ipc(tables / "arrow" / "part-1.arrow"), [0, 5000, 9000])
    file = pool / f"part-1.{kind}"
    with create(tables, tmp_path / "bank", pool) as campaign:
        labelled(campaign, 1)
        content, times, before = file.read_bytes(), file.stat(), campaign.state.last
        file.write_bytes(content.replace(b"A050001", b"B050001"))
        with pytest.raises(StoreError, match=rf"part-1.{kind} is not the file the campaign began with"):
            campaign.ask(20, by="ann")
        assert campaign.state.last == before
        file.write_bytes(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert len(campaign.ask(20, by="ann")) == 20


BAD = {
    "a word": ("x0", pl.lit("high"), r"part-1.csv.* column 'x0' holds numbers in the log and words in the pool"),
    "a code": ("x0", pl.lit("007"), r"part-1.csv.* column 'x0' holds numbers in the log and .* in the pool \('007'\)"),
    "a few words": ("age", pl.lit(None), r"part-1.csv row 4001: column 'age' holds numbers, but 'old' is not one"),
    "no date": ("since", pl.lit("2024-02-31"), r"part-1.csv row 1: column 'since' holds dates, but '2024-02-31' is"),
    "too large": ("x1", pl.lit("1e31"), r"part-1.csv row 1: column 'x1' holds 1e\+31"),
    "no id": ("loan", pl.lit(None), r"column 'loan' has none in row 1 of \S+part-1.csv"),
    "an id twice": (
        "loan",
        pl.lit("A000001"),
        r"'A000001' of column 'loan' is in row 2 of \S+part-0.csv and in row",
    ),
    "a column more": ("more", pl.lit(1), r"all files must have the same columns; of 'more'"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_pool_makes_no_campaign(name, tables, tmp_path):
    column, value, message = BAD[name]
    rows = pl.read_parquet(tables / "parquet" / "part-0.parquet")[:9000]
    pool = write(tmp_path / "pool", "csv", rows, [0, 4000, 9000])
    text = pl.read_csv(pool / "part-1.csv", infer_schema=False)
    if name == "a few words":
        value = pl.when(pl.int_range(pl.len()) == 4000).then(pl.lit("old")).otherwise(pl.col("age"))
    text.with_columns(value.alias(column)).write_csv(pool / "part-1.csv")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match=message):
        create(tables, tmp_path / "bank", pool)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("rows", [3, 30])
@pytest.mark.parametrize("kind", ["csv", "arrow"])
def test_one_large_file_stays_and_a_small_one_is_copied(kind, rows, tables, tmp_path, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.tables.pool_files.COPIED", 10)
    path = tmp_path / f"pool.{kind}"
    WRITE[kind](pl.read_ipc(tables / "arrow" / "part-1.arrow")[:rows], path)
    with create(tables, tmp_path / "bank", path) as campaign:
        assert (campaign.folder.pool.exists(), campaign.folder.pool_files.exists()) == (rows < 10, rows > 10)
        assert len(campaign.ask(3, by="ann")) == 3


def test_lines_are_not_rows(tables, tmp_path, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.tables.pool_files.COPIED", 10)
    rows = pl.read_ipc(tables / "arrow" / "part-1.arrow")[:9].with_columns(code=pl.lit("two\nlines"))
    rows.write_csv(tmp_path / "pool.csv")
    with create(tables, tmp_path / "bank", tmp_path / "pool.csv") as campaign:
        assert campaign.folder.pool.exists() and campaign.ask(1, by="ann")[0].values["code"] == "two\nlines"


def test_a_log_in_an_arrow_file(tables, tmp_path):
    pl.read_parquet(tables / "log.parquet").write_ipc(tmp_path / "log.feather")
    with create(tables, tmp_path / "bank", tables / "arrow", log=tmp_path / "log.feather") as campaign:
        assert campaign.settings.log_rows == 400
    (tmp_path / "log.feather").write_bytes(b"ARROW1\0\0")
    with pytest.raises(InputError, match=r"log.feather is incomplete or not an Arrow file: "):
        create(tables, tmp_path / "other", tables / "arrow", log=tmp_path / "log.feather")


def test_hashes_tell_bytes_apart_that_size_time_and_footer_do_not(tables, tmp_path):
    pool = write(tmp_path / "pool", "parquet", pl.read_ipc(tables / "arrow" / "part-1.arrow"), [0, 5000, 9000])
    file, bars = pool / "part-1.parquet", []
    with create(tables, tmp_path / "bank", pool, hash=True) as campaign:
        assert campaign.check_hashes(lambda done, total: bars.append((done, total))) == 2
        assert bars[-1] == (sum(path.stat().st_size for path in pool.iterdir()),) * 2
        content, times = bytearray(file.read_bytes()), file.stat()
        content[3000] ^= 1
        file.write_bytes(content)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        campaign.ask(1, by="ann")  # nobody has noticed
        with pytest.raises(StoreError, match=r"part-1.parquet is not the file .*: its bytes have another SHA-256"):
            campaign.check_hashes()
        file.unlink()
        with pytest.raises(StoreError, match=r"part-1.parquet is gone"):
            campaign.check_hashes()
    with create(tables, tmp_path / "without", tables / "csv") as campaign, pytest.raises(InputError, match="--hash"):
        campaign.check_hashes()
    with create(tables, tmp_path / "copied", pl.read_parquet(pool / "part-0.parquet"), hash=True) as campaign:
        assert campaign.check_hashes() == 1


def test_predictions_of_folders_in_memory_and_to_a_file(tables, tmp_path):
    with create(tables, tmp_path / "bank", tables / "csv") as campaign:
        found = {kind: campaign.predict(tables / kind) for kind in ("parquet", "csv", "arrow")}
        for one in found.values():  # the last bits depend on the blocks
            assert one.drop("probability").equals(found["csv"].drop("probability")) and one.height == ROWS
            assert one["probability"].to_list() == pytest.approx(found["csv"]["probability"].to_list(), rel=1e-9)
        assert campaign.predict_to(tmp_path / "out.parquet", str(tables / "arrow" / "*.arrow")) == ROWS
        assert pl.read_parquet(tmp_path / "out.parquet").equals(found["arrow"])
        with pytest.raises(InputError, match=r"out.parquet exists"):
            campaign.predict_to(tmp_path / "out.parquet", tables / "csv")
        assert campaign.predict_to(tmp_path / "out.parquet", tables / "csv" / "part-0.csv", overwrite=True) == 7
        (tmp_path / "mixed").mkdir()
        for name in ("a.csv", "b.arrow"):
            (tmp_path / "mixed" / name).touch()
        with pytest.raises(InputError, match=r"must be of one kind; \S+a.csv is CSV and \S+b.arrow is Arrow"):
            campaign.predict(tmp_path / "mixed")
