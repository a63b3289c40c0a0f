"""What columns hold by the word of whoever knows them: taken, or refused by one line that names the row."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unskew.campaigns.start_options import parsed
from unskew.campaigns.tables.encoding import from_plain, plain_column, schema_of, to_plain
from unskew.campaigns.tables.files import check_pool, read_table
from unskew.campaigns.tables.given_types import as_given, checked, levels, settled
from unskew.campaigns.tables.log_files import read_log
from unskew.errors import InputError

COLUMNS: dict[str, tuple[list[Any], str, list[Any]]] = {
    "number": (["1", " 2.5", None, "007"], "number", [1.0, 2.5, None, 7.0]),
    "code": ([1067, 99084, None, 1], "category", ["1067", "99084", None, "1"]),
    "share": ([1.0, 2.5, None, float("nan")], "category", ["1", "2.5", None, None]),
    "written": (["1.0", "2.50", None, "01"], "category", ["1", "2.50", None, "01"]),
    "flag": (["Yes", "no", None, "1"], "boolean", [True, False, None, True]),
    "bit": ([1, 0, None, 1], "boolean", [True, False, None, True]),
    "day": (["2024-05-01", "31.12.2024", None, "1.2.2024"], "date",
            [datetime.date(2024, 5, 1), datetime.date(2024, 12, 31), None, datetime.date(2024, 2, 1)]),
    "at": (["2024-05-01", "2024-05-01T10:30", None, "2024-05-01T10:30Z"], "date",
           [datetime.datetime(2024, 5, 1), *[datetime.datetime(2024, 5, 1, 10, 30)] * 3]),
    "stars": ([3, 1, None, 2], "ordinal", [3, 1, None, 2]),
    "tenure": (["6-10 years", "1-5 years", None, "11+"], "ordinal", ["6-10 years", "1-5 years", None, "11+"]),
    "size": (["M", "S", None, "L"], "ordinal:S,M,L", ["M", "S", None, "L"]),
    "grade": ([1.0, 3.0, None, 2.0], "ordinal:3,2,1", ["1", "3", None, "2"]),
    "vector": (["[0.5, 2]", "[1 2]", None, "[-1e-1,4]"], "embedding", [[0.5, 2.0], [1.0, 2.0], None, [-0.1, 4.0]]),
    "post": ([1, 2, None, 3], "text", ["1", "2", None, "3"]),
    "note": ([True, False, None, True], "ignore", ["true", "false", None, "true"]),
}  # fmt: skip
COLUMNS["at"][2][2] = None


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_read_as_the_type_given(name: str, tmp_path: Path) -> None:
    values, kind, wanted = COLUMNS[name]
    column = pl.Series(name, values, strict=False)
    frame = column.to_frame().with_columns(x=pl.lit(1))
    frame.write_parquet(tmp_path / "log.parquet")
    sources: list[Any] = [frame, frame.to_pandas(), tmp_path / "log.parquet"]
    if column.dtype == pl.String:
        frame.write_csv(tmp_path / "log.csv")
        sources += [
            tmp_path / "log.csv",
            frame.cast({name: pl.Categorical}),
            frame.to_pandas().astype({name: "category"}),
        ]
    for source in sources:
        read = read_table(source, types={name: kind})[name]
        got = read.to_list()
        if kind == "embedding":
            assert read.dtype == pl.Array(pl.Float32, 2)
            assert [None if one is None else pytest.approx(one) for one in wanted] == got
        else:
            assert got == wanted, source


def test_orders_come_from_the_list_the_column_or_leading_numbers() -> None:
    frame = pl.DataFrame({
        "list": ["a", "b"], "enum": pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"])),
        "leading": ["10 or more", "2 to 9"],
    })  # fmt: skip
    given = {"list": "ordinal:b,a", "enum": "ordinal", "leading": "ordinal"}
    wanted = {"list": "ordinal:b,a", "enum": "ordinal:lo,mid,hi", "leading": "ordinal:2 to 9,10 or more"}
    read, types = settled(read_table(frame, types=given), given)
    assert types == wanted and set(read.dtypes) == {pl.String}
    ordered = pd.DataFrame({"enum": pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True)})
    assert settled(read_table(ordered, types={"enum": "ordinal"}), {"enum": "ordinal"})[1] == {"enum": wanted["enum"]}
    assert plain_column(read["list"], types["list"]).to_list() == [1.0, 0.0]
    assert plain_column(frame["enum"], types["enum"]).to_list() == [0.0, 2.0]
    with pytest.raises(InputError, match="column 'list' must hold one of b, a; got 'c'. Write it as in the log."):
        plain_column(pl.Series("list", ["a", "c"]), types["list"])


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        (["1", "x", "y"], "number", "the log row 2: column 'c' must hold numbers, by the type given; got 'x', the"),
        ([datetime.date(2024, 1, 1)], "number", "row 1: column 'c' must hold numbers, by the type given; got"),
        (["1", "1e300"], "number", "row 2: column 'c' holds 1e+300"),
        (["yes", "perhaps"], "boolean", "row 2: column 'c' must hold true or false"),
        ([0, 2], "boolean", "row 2: column 'c' must hold true or false, yes or no, or 1 or 0, by"),
        (["2024-05-01", "2024-02-31"], "date", "row 2: column 'c' must hold dates like 2024-05-31"),
        ([20240501], "date", "row 1: column 'c' must hold dates"),
        (["1 few", "many"], "ordinal", "row 2: column 'c' must hold numbers, or words that begin with one"),
        (["1,000 or less", "2"], "ordinal", "row 1: column 'c' must hold numbers, or words"),
        (["2020-01", "2020-02"], "ordinal", "'2020-01' and '2020-02' begin with the same number. Give the order"),
        (["S", "XL"], "ordinal:S,M", "row 2: column 'c' must hold one of S, M, by the type given; got 'XL'. Give"),
        (["[1, 2]", "[1]"], "embedding", "row 2: column 'c' holds 1 number, and 2 in row 1; an embedding has"),
        (["[1, 2]", "none"], "embedding", "row 2: column 'c' must hold lists of numbers like [0.1, 0.2]"),
        ([[1.0, None]], "embedding", "row 1: column 'c' holds a list in which a number is missing"),
        ([[1.0], [float("inf")]], "embedding", "row 2: column 'c' holds a list in which a number is missing"),
        ([0.5], "embedding", "row 1: column 'c' must hold lists of numbers"),
        ([[1.0, 2.0]], "number", "column 'c' holds lists, and the type given is number"),
        ([["a"]], "embedding", "an embedding is a list of numbers"),
    ],
)  # fmt: skip
def test_a_type_that_does_not_fit_is_refused(values: list[Any], kind: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        as_given("the log", pl.Series("c", values), kind)
    assert told in str(refused.value) and str(refused.value).isprintable()


def test_what_is_no_type_is_refused() -> None:
    log = pl.DataFrame({"x": [1, 2, 3], "y": [0, 1, None], "key": ["a", "b", "c"]})
    for types, told in (
        ({"x": "numbre"}, "unknown type of column 'x' 'numbre': did you mean 'number'"),
        ({"x": "number:1,2"}, "only an ordinal has an order"),
        ({"x": "ordinal:1"}, "two or more different values"),
        ({"x": "ordinal:1,1"}, "two or more different values"),
        ({"z": "number"}, "unknown column of --type 'z'"),
        ({"y": "category"}, "column 'y' is the label"),
        ({"key": "text"}, "column 'key' is the id"),
    ):
        with pytest.raises(InputError, match=told):
            read_log(log, "y", id="key", types=types)
    for options, told in ((["age"], "--type is like age=number"), (["a=text", "a=date"], "names 'a' twice")):
        with pytest.raises(InputError, match=told):
            parsed(options)
    assert parsed(["a=b=ordinal:x=1,y"]) == {"a=b": "ordinal:x=1,y"}
    assert levels(checked({"a": 'ordinal:"1,000", more '})["a"]) == ["1,000", "more"]


def test_categories_of_frames_stay_categories(tmp_path: Path) -> None:
    polars = pl.DataFrame({
        "c": pl.Series(["1", "2", None], dtype=pl.Categorical),
        "e": pl.Series(["2", "1", "2"], dtype=pl.Enum(["1", "2"])),
    })  # fmt: skip
    polars.write_parquet(tmp_path / "log.parquet")
    pandas = pd.DataFrame({"c": pd.Categorical([1, 2, None]), "e": pd.Categorical([2.0, 1.0, 2.0])})
    for source in (polars, polars.to_pandas(), pandas, tmp_path / "log.parquet"):
        read = read_table(source)
        assert read.dtypes == [pl.String] * 2 and read.rows() == [("1", "2"), ("2", "1"), (None, "2")]


def test_a_pool_of_another_type_than_the_log() -> None:
    log = pl.DataFrame({"n": [1, 2], "c": ["a", "b"], "v": pl.Series([[1.0, 2.0]] * 2, dtype=pl.Array(pl.Float32, 2))})
    pool = pl.DataFrame({"n": pl.Series(["7", "8"], dtype=pl.Categorical), "c": [1, 2], "v": [[1, 2], None]})
    found = check_pool(log, read_table(pool, text=["c"]), "y")
    assert found["n"].to_list() == [7, 8] and found["c"].to_list() == ["1", "2"] and found["v"].dtype == log["v"].dtype
    empty = pool.with_columns(v=pl.lit(None))
    assert check_pool(log, read_table(empty, text=["c"]), "y")["v"].dtype == log["v"].dtype
    longer = pool.with_columns(v=pl.Series([[1, 2, 3]] * 2))
    with pytest.raises(
        InputError, match="column 'v' holds lists of 2 numbers in the log and lists of 3 numbers in the"
    ):
        check_pool(log, read_table(longer, text=["c"]), "y")


def test_embeddings_in_frames_and_in_the_ledger() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, 4)).astype(np.float32)
    pandas = pd.DataFrame({"v": list(vectors)})
    polars = pl.DataFrame({"v": vectors})
    read = read_table(pandas)
    assert read.equals(read_table(polars)) and (read["v"].to_numpy() == vectors).all()
    again = from_plain(to_plain(read), schema_of(read))
    assert again.equals(read) and again.schema == read.schema
    assert from_plain([{"v": None}], {"v": "Array(4)"})["v"].to_list() == [None]
