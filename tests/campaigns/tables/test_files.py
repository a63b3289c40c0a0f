"""Files people really have: read, or refused in one clear line."""

import datetime
import gzip
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from unskew.campaigns.tables import files
from unskew.campaigns.tables.labels import LONGEST_CLASS
from unskew.csv_text import LARGEST_CELL
from unskew.errors import InputError

GOOD = "id,income,granted,region,since,at,code,note\n"
GOOD += "a,1200.5,true,north,2024-05-01,2024-05-01T10:30,01067,\n"
GOOD += 'b,,False,"east, far",,2024-05-01 10:30:05.25,99084,"two\nlines"\n'
GOOD += "c,NaN,,,2024-12-31,,,\n"


def write(folder: Path, text: str | bytes, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(folder: Path, text: str | bytes, name: str = "log.csv") -> str:
    with pytest.raises(InputError) as caught:
        files.read_table(write(folder, text, name))
    message = str(caught.value)
    assert "\n" not in message and str(folder / name) in message
    return message


def test_types_and_missing_values(tmp_path: Path) -> None:
    frame = files.read_table(write(tmp_path, GOOD))
    assert frame.schema == {
        "id": pl.String, "income": pl.Float64, "granted": pl.Boolean, "region": pl.String, "since": pl.Date,
        "at": pl.Datetime("us"), "code": pl.String, "note": pl.String,
    }  # fmt: skip
    assert frame["income"].to_list() == [1200.5, None, None]
    assert frame["granted"].to_list() == [True, False, None]
    assert frame["region"].to_list() == ["north", "east, far", None]
    assert frame["since"].to_list() == [datetime.date(2024, 5, 1), None, datetime.date(2024, 12, 31)]
    assert frame["at"][1] == datetime.datetime(2024, 5, 1, 10, 30, 5, 250_000)
    assert frame["code"].to_list() == ["01067", "99084", None]
    assert frame["note"].to_list() == [None, "two\nlines", None]


def test_the_same_table_in_every_format(tmp_path: Path) -> None:
    frame = files.read_table(write(tmp_path, GOOD))
    frame.write_parquet(tmp_path / "log.parquet")
    frame.write_csv(tmp_path / "log.tsv", separator="\t")
    for path in (
        tmp_path / "log.parquet",
        tmp_path / "log.tsv",
        write(tmp_path, gzip.compress(GOOD.encode()), "log.csv.gz"),
        write(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").replace("two\r\n", "two\n").encode(), "crlf.csv"),
    ):
        assert files.read_table(path).equals(frame), path


def test_times_with_a_zone_are_read_as_utc(tmp_path: Path) -> None:
    frame = files.read_table(write(tmp_path, "at,x\n2024-05-01T10:30:00+02:00,1\n2024-05-01T10:30Z,2\n"))
    assert frame["at"].to_list() == [datetime.datetime(2024, 5, 1, 8, 30), datetime.datetime(2024, 5, 1, 10, 30)]


def test_quick_and_thorough_reading_agree(tmp_path: Path) -> None:
    plain = "a,b\n" + "".join(f"{k},{k % 3}\n" for k in range(2000))
    assert files.read_table(write(tmp_path, plain)).equals(
        files.read_table(write(tmp_path, plain.replace("a,b", '"a",b'), "quoted.csv"))
    )
    for break_it in ("7,1,1\n", "7\n", "\n"):
        broken = plain.replace("7,1\n", break_it, 1)
        assert "line 9" in refused(tmp_path, broken)
        assert "line 9" in refused(tmp_path, broken.replace("a,b", '"a",b'))


def test_ids_may_be_kept_as_text(tmp_path: Path) -> None:
    path = write(tmp_path, "id,x\n17,1\n18,2\na19,3\n")
    assert files.read_table(path, text=["id"])["id"].to_list() == ["17", "18", "a19"]


def test_plain_types_from_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({
        "a": pl.Series([1, 2], dtype=pl.UInt8), "b": pl.Series([0.5, float("nan")], dtype=pl.Float32),
        "c": pl.Series(["x", ""], dtype=pl.Categorical), "d": [None, None],
        "e": pl.Series([datetime.datetime(2024, 1, 1)] * 2, dtype=pl.Datetime("ns", "Europe/Berlin")),
    }).write_parquet(path)  # fmt: skip
    frame = files.read_table(path)
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.String, pl.Float64, pl.Datetime("us")]
    assert frame["b"].to_list() == [0.5, None] and frame["c"].to_list() == ["x", None]
    assert frame["e"][0].tzinfo is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "no rows"),
        ("1.5,2,3\n4,5,6\n", "line 1 must hold the column names"),
        ("a,b,a\n1,2,3\n", "2 columns are called 'a'"),
        (",b\n0,2\n", "column 1 has no name"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 cells; the header has 2"),
        ("a,b\n1,2\n3\n", "line 3 has 1 cells; the header has 2"),
        ("a,b\n1,2\n\n3,4\n", "line 3 is empty"),
        ('a,b\n"x\ny",2\n3\n', "line 4 has 1 cells"),
        ("a,b\n1,2\n3,4\nNA,5\nx,6\n", "line 4: column 'a' holds numbers, but 'NA' is not one, the first of 2"),
        ('a,b\n"1\n",2\n3,4\nfew,5\n', "line 5: column 'a' holds numbers, but 'few' is not one."),
        ("a,b\n2024-01-31,2\n2024-02-31,4\n", "line 3: column 'a' holds dates, but '2024-02-31'"),
        ("a,b\n2024-01-31,2\n2024-02-01,4\nlater,1\n", "line 4: column 'a' holds dates, but 'later'"),
        ("a,b\n1,2\ninf,4\n", "line 3: column 'a' holds inf"),
        ('a,b\n1,"x"y\n', "line 2 is not CSV"),
        ('a,b\n1,2\n3,"never closed\n4,5\n', "line 3 is not CSV"),
        ("näme,b\n1,2\nM\xfcnchen,4\n".encode("latin-1"), "line 1 is not UTF-8: byte 1 is 0xe4"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (",".join(f"x{k}" for k in range(10_000)) + "\n" + ",".join("1" * 10_000) + "\n", "has 10,000 columns"),
        ("a,b\n1,2\n3," + "x" * 10_000_000 + "\n", f"line 3: a cell is larger than {LARGEST_CELL:,} bytes"),
        ('a,b\n1,2\n3,"' + "x" * 10_000_000 + '"\n', f"line 3: a cell is larger than {LARGEST_CELL:,} bytes"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)  # fmt: skip
def test_bad_text_files(tmp_path: Path, text: str | bytes, told: str) -> None:
    assert told in refused(tmp_path, text)


def test_other_bad_files(tmp_path: Path) -> None:
    assert "Parquet" in refused(tmp_path, b"PAR1 and nothing more", "log.parquet")
    assert "gzip" in refused(tmp_path, b"a,b\n1,2\n", "log.csv.gz")
    assert "is empty" in refused(tmp_path, b"", "log.parquet")
    pl.DataFrame({"a": [1, 2], "b": [[1, 2], [3]]}).write_parquet(tmp_path / "list.parquet")
    pl.DataFrame({"a": [1], "b": ["x" * (LARGEST_CELL + 1)]}).write_parquet(tmp_path / "cell.parquet")
    pl.DataFrame({f"x{k}": [1] for k in range(10_000)}).write_parquet(tmp_path / "wide.parquet")
    pl.DataFrame({"a": [1]}).clear().write_parquet(tmp_path / "no-rows.parquet")
    pl.DataFrame({"a": [1.0, float("inf")]}).write_parquet(tmp_path / "infinite.parquet")
    for name, told in (
        ("absent.csv", "there is no file"), (".", "is a folder"),
        ("list.parquet", "row 2: column 'b' holds 1 number, and 2 in row 1"),
        ("cell.parquet", "row 1"),
        ("wide.parquet", "10,000 columns"), ("no-rows.parquet", "no rows"), ("infinite.parquet", "row 2"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=told):
            files.read_table(tmp_path / name)
    write(tmp_path, "x", "log.xlsx")
    with pytest.raises(InputError, match=r"is a spreadsheet. .*read_excel\('log.xlsx'\)"):
        files.read_table(tmp_path / "log.xlsx")
    write(tmp_path, "x", "log.txt")
    with pytest.raises(InputError, match="must end in .csv"):
        files.read_table(tmp_path / "log.txt")


def test_a_column_of_words_with_some_numbers_is_words(tmp_path: Path) -> None:
    assert files.read_table(write(tmp_path, "size,x\nS,1\nM,2\n38,3\n"))["size"].to_list() == ["S", "M", "38"]


def test_kinds() -> None:
    many = [f"he said {k} words" for k in range(60)]
    frame = pl.DataFrame({
        "n": range(60), "b": [True, False] * 30, "c": ["x", "y"] * 30, "d": [datetime.date(2024, 1, 1)] * 60,
        "t": many, "u": [f"https://example.org/{k % 7}.png" for k in range(60)], "v": [*many[:51], *many[:9]],
        "few": many[:50] + [None] * 10, "id": [f"{k:04}-ab c" for k in range(60)],
        "photo": [f"https://example.org/{k}.png" for k in range(60)], "code": [f"{k} 17 18 19" for k in range(60)],
        "chinese": [f"他在第{k}天说了很多话" for k in range(60)], "e": [[0.5, k] for k in range(60)],
    })  # fmt: skip
    assert list(files.kinds(frame).values()) == [
        "number", "boolean", "category", "date", "text", "category", "text", "category", "ignore",
        "ignore", "ignore", "text", "embedding",
    ]  # fmt: skip
    assert files.kinds(pl.concat([frame] * 2))["t"] == "category"  # each said twice
    assert files.kinds(frame, {"n": "category", "id": "text"})["n"] == "category"


LOG = pl.DataFrame({
    "id": ["a", "b", "c"], "x": [1, 2, 3], "r": ["n", "s", "n"], "y": [1, None, 0], "q0": [0.5, 0.1, 1.0],
})  # fmt: skip


def test_check_log() -> None:
    assert files.check_log(LOG, "y", "q0", "id") == ["0", "1"]
    assert files.check_log(LOG, "y", classes=("1", "0")) == ["1", "0"]
    assert files.check_log(LOG.with_columns(y=pl.Series(["paid", None, "lost"])), "y") == ["lost", "paid"]
    assert files.check_log(LOG.with_columns(y=pl.Series([True, None, False])), "y") == ["false", "true"]
    assert files.check_log(LOG.with_columns(y=pl.Series([10.0, None, 9.0])), "y") == ["9", "10"]
    assert files.check_log(LOG.with_columns(y=pl.Series([1, None, 1])), "y", classes=["0", "1"]) == ["0", "1"]
    for change, arguments, told in (
        ({}, ("Y",), "unknown label column 'Y': did you mean 'y'"),
        ({}, ("y", "q"), "did you mean 'q0'"),
        ({}, ("y", None, "key"), "unknown id column 'key'"),
        ({"y": [1, 1, None]}, ("y",), "all are '1'"),
        ({"y": [None, None, None]}, ("y",), "no row has one"),
        ({"y": [1, 2, 3]}, ("y",), "3 classes, and one row alone is '1'"),
        ({"q0": [0.5, 0.0, 1.5]}, ("y", "q0"), "got 0 in row 2, and in 1 more"),
        ({"q0": [0.5, None, 1.0]}, ("y", "q0"), "got none in row 2"),
        ({}, ("y", "r"), "must hold numbers"),
        ({"id": ["a", "b", "a"]}, ("y", "q0", "id"), "'a' of column 'id' is in rows 1, 3"),
        ({"id": ["a", None, "c"]}, ("y", "q0", "id"), "none in row 2"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=told):
            files.check_log(LOG.with_columns(**{k: pl.Series(v) for k, v in change.items()}), *arguments)
    with pytest.raises(InputError, match="no column is left"):
        files.check_log(LOG.select("y", "q0"), "y", "q0")
    with pytest.raises(InputError, match="must be 'no' or 'yes'; got '0'"):
        files.check_log(LOG, "y", classes=["no", "yes"])


def test_check_pool() -> None:
    pool = pl.DataFrame({"r": ["n", None], "x": [0.5, 2.0], "id": ["p", "q"]})
    checked = files.check_pool(LOG, pool, "y", "q0", "id")
    assert checked.columns == ["id", "x", "r"] and checked["x"].to_list() == [0.5, 2.0]
    labelled = pool.with_columns(y=pl.Series([1, 0]), q0=pl.Series([0.5, 0.5]))
    assert files.check_pool(LOG, labelled, "y", "q0", "id").columns == ["id", "x", "r", "q0"]
    empty = pool.with_columns(r=pl.Series([None, None], dtype=pl.Int64))
    assert files.check_pool(LOG, empty, "y", "q0", "id")["r"].dtype == pl.String
    codes = pool.with_columns(r=pl.Series([7, 8]))
    assert files.check_pool(LOG, codes, "y", "q0", "id")["r"].to_list() == ["7", "8"]
    no_ids = files.check_pool(LOG.drop("id"), pool.drop("id"), "y", "q0")
    assert files.row_ids(no_ids, None).to_list() == ["row-1", "row-2"]
    assert files.check_pool(LOG.drop("id"), pool, "y", "q0", "id").columns == ["id", "x", "r"]
    for other, told in (
        (
            pool.drop("r").with_columns(region=pl.lit("n")),
            "it lacks 'r' and it has 'region', which the log does not have",
        ),
        (pool.with_columns(x=pl.Series(["few", "many"])), "'x' holds numbers in the log and words in the pool"),
        (pool.drop("id"), "unknown id column"),
        (pool.with_columns(id=pl.lit("p")), "ids must differ"),
        (
            pool.with_columns(id=pl.Series(["a", "é" * 1001])),
            r"at most 1,000 characters; 'é{20}'... of column 'id' in row 2 of the pool has 1,001. Shorten it",
        ),
        (labelled.with_columns(q0=pl.lit(2.0)), r"in \(0, 1\]"),
    ):
        with pytest.raises(InputError, match=told):
            files.check_pool(LOG, other, "y", "q0", "id")


def test_numbers_too_large_to_mean_anything_are_refused(tmp_path: Path) -> None:
    told = refused(tmp_path, "a,b\n1,2\n-1.7976931348623157e308,4\n")
    assert "line 3: column 'a' holds -1.79" in told and "leave the cell empty where it means missing" in told
    assert "line 2: column 'a'" in refused(tmp_path, f"a,b\n{10**31},2\n")  # a whole number, too
    pl.DataFrame({"a": [1.0, 2e30]}).write_parquet(tmp_path / "large.parquet")
    with pytest.raises(InputError, match=r"row 2: column 'a' holds 2e\+30"):
        files.read_table(tmp_path / "large.parquet")
    assert files.read_table(write(tmp_path, "a,b\n9e29,2\n"))["a"].to_list() == [9e29]


@pytest.mark.parametrize(
    ("days", "kind"),
    [
        (3_000_000, pl.Date),
        (2**31 - 1, pl.Date),
        (2**62, pl.Datetime("us")),
        (2**62, pl.Datetime("ms")),
        (2**62, pl.Datetime("ms", "UTC")),
    ],
)
def test_dates_after_the_year_9999_are_refused(tmp_path: Path, days: int, kind: pl.DataType) -> None:
    late = pl.Series("d", [days]).cast(kind)
    late.to_frame().write_parquet(tmp_path / "late.parquet")
    with pytest.raises(InputError, match="row 1: column 'd' holds .*, and years must be from 1 to 9999"):
        files.read_table(tmp_path / "late.parquet")
    assert "line 3: column 'd' holds 0, and years" in refused(tmp_path, "d,x\n2024-01-01,1\n0000-01-01,2\n")


def test_a_date_that_begins_with_0_is_no_code(tmp_path: Path) -> None:
    assert files.read_table(write(tmp_path, "d,x\n2020-01-01,1\n0001-01-01,2\n"))["d"].dtype == pl.Date
    told = refused(tmp_path, "d,x\n2020-01-01,1\n2020-01-02,1\n01.02.2020,2\n02.02.2020,2\n")
    assert "line 4: column 'd' holds dates, but '01.02.2020' is not one, the first of 2" in told
    assert files.read_table(write(tmp_path, "d,x\n007,1\n8,2\nx,3\n"))["d"].to_list() == ["007", "8", "x"]


def test_quotes_within_cells_are_part_of_them(tmp_path: Path) -> None:
    """More of them than Polars bears."""
    frame = files.read_table(write(tmp_path, "size,x\n" + "".join(f'{k}" pipe,{k}\n' for k in range(300)) + ",300\n"))
    assert frame["x"].to_list() == list(range(301)) and frame["size"][[0, 299, 300]].to_list() == [
        '0" pipe', '299" pipe', None,
    ]  # fmt: skip


def test_names_and_bytes_that_were_taken_for_others(tmp_path: Path) -> None:
    assert files.read_table(write(tmp_path, gzip.compress(GOOD.encode()), "LOG.CSV.GZ")).height == 3
    assert "is not text at all" in refused(tmp_path, "a,b\n" + 2000 * "x,y\n" + "x,\0\n")


def test_blanks_around_labels_and_ids_are_none_of_them() -> None:
    log = LOG.with_columns(y=pl.Series([" yes", "  ", "no "]), id=pl.Series([" a", "b ", "c"]))
    assert files.label_texts(log, "y").to_list() == ["yes", None, "no"]
    assert files.check_log(log, "y", "q0", "id") == ["no", "yes"]
    pool = pl.DataFrame({"id": [" p", "q "], "x": [1, 2], "r": ["n", "s"]})
    assert files.check_pool(log, pool, "y", "q0", "id")["id"].to_list() == ["p", "q"]
    for ids, told in ((["p", "p "], "'p' of column 'id' is in rows 1, 2 of the pool"), (["p", " "], "of the pool has")):
        with pytest.raises(InputError, match=told):
            files.check_pool(log, pool.with_columns(id=pl.Series(ids)), "y", "q0", "id")
    with pytest.raises(InputError, match="in rows 1, 2 of the log"):
        files.check_log(log.with_columns(id=pl.Series(["a", "a ", "c"])), "y", "q0", "id")
    with pytest.raises(InputError, match="unknown id column of the pool 'id'"):
        files.check_pool(log, pool.drop("id"), "y", "q0", "id")


def test_classes_may_be_named_as_the_file_writes_them() -> None:
    for values, named, pair in (
        ([1.0, None, 0.0], ["0.0", "1.0"], ["0", "1"]),
        ([1.0, None, 1.0], ["0.0", "1.0"], ["0", "1"]),
        ([True, None, True], ["False", "True"], ["false", "true"]),
        (["Yes", None, "No"], ["no", "yes"], ["No", "Yes"]),
    ):
        assert files.check_log(LOG.with_columns(y=pl.Series(values)), "y", classes=named) == pair


def test_a_class_may_be_as_long_as_the_page_takes_it() -> None:
    named, too_long = "x" * LONGEST_CLASS, "x" * (LONGEST_CLASS + 1)
    assert files.check_log(LOG.with_columns(y=pl.Series([named, None, "no"])), "y") == ["no", named]
    refused = r"at most 1,000 characters; 'x{20}'... of the label 'y' has 1,001. Shorten it.$"
    with pytest.raises(InputError, match=refused):
        files.check_log(LOG.with_columns(y=pl.Series([too_long, None, "no"])), "y")
    with pytest.raises(InputError, match=refused):
        files.check_log(LOG.with_columns(y=pl.Series(["no", None, "no"])), "y", classes=["no", too_long])


def test_classes_that_the_log_does_not_show() -> None:
    none = LOG.with_columns(y=pl.Series([None, None, None], dtype=pl.Int64))
    with pytest.raises(InputError, match="takes --classes NEG,POS"):
        files.check_log(none, "y", "q0")
    assert files.check_log(none, "y", "q0", classes=["no", "yes"]) == ["no", "yes"]
    with pytest.raises(InputError, match="estimated from which rows have a label, and none has one"):
        files.check_log(none, "y", classes=["no", "yes"])


def test_tiny_propensities_are_refused() -> None:
    with pytest.raises(InputError, match="at least 1e-12 in every row, with or without a label; got 1e-300 in row 2"):
        files.check_log(LOG.with_columns(q0=pl.Series([0.5, 1e-300, 1.0])), "y", "q0")


def test_dates_in_the_log_and_times_in_the_pool() -> None:
    day, noon = datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 1, 12)
    log = LOG.with_columns(since=pl.Series([day.date()] * 3))
    pool = pl.DataFrame({"id": ["p", "q"], "x": [1, 2], "r": ["n", "s"], "since": [day, day]})
    assert files.check_pool(log, pool, "y", "q0", "id")["since"].to_list() == [day.date()] * 2
    with pytest.raises(InputError, match=r"dates in the log and times in the pool \('2024-05-01 12:00:00'\)"):
        files.check_pool(log, pool.with_columns(since=pl.Series([day, noon])), "y", "q0", "id")
    with pytest.raises(InputError, match=r"numbers in the log and words in the pool \('abc'\)"):
        files.check_pool(LOG, pool.drop("since").with_columns(x=pl.Series(["12", "abc"])), "y", "q0", "id")


def test_only_whole_numbers_of_parquet_become_text(tmp_path: Path) -> None:
    path = tmp_path / "pool.parquet"
    pl.DataFrame({"id": [17], "size": [36.0]}).write_parquet(path)
    assert files.read_table(path, text=["id", "size", "other"]).rows() == [("17", 36.0)]


def test_text_in_frames_is_read_as_in_csv_files(tmp_path: Path) -> None:
    lines = [
        "id,n,f,flag,day,at,code,word,empty",
        "1,1,0.5,True,2024-05-01,2024-05-01T10:30,007,a,",
        "2,,1.0,,,2024-05-02 10:30,8,b,",
    ]
    path = write(tmp_path, "\n".join(lines))
    wanted = files.read_table(path, text=["id"])
    assert wanted.schema["day"] == pl.Date and wanted.schema["flag"] == pl.Boolean and wanted.schema["id"] == pl.String
    all_text = pl.read_csv(path, infer_schema=False)
    for frame in (all_text, all_text.to_pandas()):
        assert files.read_table(frame, text=["id"]).equals(wanted)
    codes = {"code": pl.String}
    assert files.read_table(pl.read_csv(path, schema_overrides=codes), text=["id"]).schema == wanted.schema
    assert files.read_table(pd.read_csv(path, dtype={"code": str}), text=["id"]).schema == wanted.schema


def test_problems_of_text_in_frames_name_the_frame_and_the_row(tmp_path: Path) -> None:
    for column, told in (
        (["2024-05-01", "2024-02-31"], "the log row 2: column 'd' holds dates, but '2024-02-31' is not one"),
        (["1", "2", None, "x"], "the log row 4: column 'd' holds numbers, but 'x' is not one"),
        (["1", "1e300"], "the log row 2: column 'd' holds 1e+300"),
    ):
        frame = pl.DataFrame({"d": column})
        for source in (frame, frame.to_pandas()):
            with pytest.raises(InputError, match=re.escape(told)):
                files.read_table(source, name="the log")
        assert files.read_table(frame, text=["d"])["d"].to_list() == column
        assert files.read_table(frame.cast(pl.Categorical))["d"].to_list() == column
        frame.write_parquet(tmp_path / "text.parquet")
        with pytest.raises(InputError, match=re.escape(told.removeprefix("the log"))):
            files.read_table(tmp_path / "text.parquet")
        assert files.read_table(tmp_path / "text.parquet", text=["d"])["d"].to_list() == column


def test_a_broken_parquet_file(tmp_path: Path) -> None:
    told = refused(tmp_path, "PAR1 no more", "log.parquet")
    assert "log.parquet is incomplete or not a Parquet file: " in told and told.endswith(". Write it again.")
