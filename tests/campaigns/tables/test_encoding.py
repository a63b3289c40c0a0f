"""Features of mixed columns: from the log alone, the same for a row wherever it is met."""

import datetime
import json
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables import encoding
from unskew.campaigns.tables.files import kinds
from unskew.errors import InputError


def mixed(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def holes(values: list[object]) -> list[object]:
        return [None if rng.random() < 0.1 else value for value in values]

    return pl.DataFrame({
        "income": holes(list(rng.lognormal(7, 1, rows))),
        "children": [int(k) for k in rng.integers(0, 5, rows)],
        "owner": holes([bool(k) for k in rng.integers(0, 2, rows)]),
        "region": holes([f"r{k}" for k in rng.geometric(0.08, rows)]),
        "since": holes([datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, rows)]),
        "at": [datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=int(k)) for k in rng.integers(0, 9**6, rows)],
        "same": ["one"] * rows,
        "note": [f"note {k}" for k in range(rows)],
    }, schema_overrides={"region": pl.String, "owner": pl.Boolean, "since": pl.Date, "income": pl.Float64})  # fmt: skip


def test_a_row_has_the_same_features_alone_and_among_others() -> None:
    log, pool = mixed(300), mixed(500, seed=1).with_columns(
        region=pl.when(pl.int_range(500) % 9 == 0).then(pl.lit("new")).otherwise("region")
    )  # fmt: skip
    fitted = encoding.encoder(log, kinds(log))
    X = encoding.features(fitted, pool)
    assert X.dtype == np.float64 and X.flags.c_contiguous and np.isfinite(X).all()
    assert X.shape[1] == len(encoding.feature_names(fitted))
    for i in range(0, 500, 7):
        assert encoding.features(fitted, pool[i]).tobytes() == X[i].tobytes()


def with_blocks(rows: int, seed: int = 0) -> pl.DataFrame:
    """Columns of every kind: numbers, categories, dates, texts and vectors, with holes in each."""
    rng = np.random.default_rng(seed)
    words = np.array(["refund", "please", "great", "product", "broken", "late", "thanks", ""])
    vectors = [None if k % 11 == 5 else rng.normal(size=3).tolist() for k in range(rows)]
    return mixed(rows, seed).with_columns(
        note=pl.Series([" ".join(rng.choice(words, 5)) if k % 7 else None for k in range(rows)]),
        vector=pl.Series(vectors, dtype=pl.Array(pl.Float64, 3)),
    )


PLAIN_KINDS = {"income": "number", "region": "category", "since": "date", "owner": "boolean"}
BLOCK_KINDS = {**PLAIN_KINDS, "note": "text", "vector": "embedding"}


ONE_BLOCK = [{"note": "text"}, {"vector": "embedding"}]


@pytest.mark.parametrize("columns", [PLAIN_KINDS, BLOCK_KINDS, *ONE_BLOCK])
def test_chunks_make_no_difference(
    columns: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every row of every chunk, also of the last and shorter one, has the features it has alone."""
    log = with_blocks(100)
    fitted = encoding.encoder(log, columns)
    X = encoding.features(fitted, log)
    assert len(np.unique(X, axis=0)) > 60, "rows that can be told apart"
    monkeypatch.setattr(encoding, "CHUNK", 7)
    assert encoding.features(fitted, log).tobytes() == X.tobytes()
    alone = np.concatenate([encoding.features(fitted, log[i]) for i in range(len(log))])
    assert alone.tobytes() == X.tobytes()


def test_rows_beyond_the_first_chunk_have_their_own_blocks() -> None:
    """With the chunk as it is: rows of the second one are rows of the first, in another order."""
    log = with_blocks(200)
    fitted = encoding.encoder(log, BLOCK_KINDS)
    X = encoding.features(fitted, log)
    order = np.random.default_rng(1).integers(0, len(log), encoding.CHUNK + 500)
    assert encoding.features(fitted, log[order]).tobytes() == X[order].tobytes()


def test_features_are_what_the_pipeline_makes() -> None:
    """The exported pipeline and the campaign see the same numbers, to the last bit."""
    log, other = mixed(300), mixed(700, seed=3).with_columns(region=pl.lit(None, pl.String))
    fitted = encoding.encoder(log, kinds(log))
    for frame in (log, other, other[:1], other[:0], other.to_pandas()):
        expected = np.empty((0, len(encoding.feature_names(fitted)))) if not len(frame) else fitted.transform(frame)
        np.testing.assert_array_equal(encoding.features(fitted, frame), expected)


def test_what_the_features_are() -> None:
    log = mixed(300).drop("note")
    fitted = encoding.encoder(log, kinds(log), levels=20)
    names = encoding.feature_names(fitted)
    assert names[:5] == ["income", "children", "owner", "since", "at"]
    assert names[5:8] == ["income is missing", "owner is missing", "since is missing"]
    assert all(name.startswith("region is ") for name in names[8:]) and len(names) == 8 + encoding.MOST_CATEGORIES
    row = dict(zip(names, encoding.features(fitted, log)[0].tolist(), strict=True))
    assert row["since"] == (log["since"][0] - datetime.date(1970, 1, 1)).days
    assert row[f"region is {log['region'][0]}"] == 1.0
    unknown = encoding.features(fitted, log[:1].with_columns(region=pl.lit("elsewhere")))
    assert unknown[0, 8:].tolist() == [0.0] * encoding.MOST_CATEGORIES


def test_missing_values_where_the_log_has_none() -> None:
    log = pl.DataFrame({"x": [1.0, 2.0, 6.0], "r": ["a", "b", "a"]})
    fitted = encoding.encoder(log, kinds(log))
    pool = pl.DataFrame({"x": [None, 1], "r": [None, None]})
    assert encoding.features(fitted, pool).tolist() == [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_pandas_frames_and_pickles(tmp_path: Path) -> None:
    log = mixed(200)
    fitted = encoding.encoder(log, kinds(log))
    X = encoding.features(fitted, log)
    joblib.dump(fitted, tmp_path / "encoder.joblib")
    again = joblib.load(tmp_path / "encoder.joblib")
    assert encoding.features(again, log).tobytes() == X.tobytes()
    assert encoding.features(fitted, log.to_pandas()).tobytes() == X.tobytes()


def test_refusals() -> None:
    log = pl.DataFrame({"x": [1.0, 2.0], "same": [1, 1]})
    fitted = encoding.encoder(log, kinds(log))
    with pytest.raises(InputError, match="'x' is missing"):
        encoding.features(fitted, log.drop("x"))
    with pytest.raises(InputError, match="'x' must hold a number; got 'few'"):
        encoding.features(fitted, pl.DataFrame({"x": ["few"]}))
    with pytest.raises(InputError, match="no column of the log can be learned from"):
        encoding.encoder(log.select("same"), {"same": "number"})


def test_skl2onnx_converts_what_follows_the_columns() -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    log = mixed(300).drop("note")
    fitted = encoding.encoder(log, kinds(log))
    columns, matrix = fitted.named_steps["columns"], fitted.named_steps["matrix"]
    plain = columns.transform(log)
    plain.columns = [name.replace(" ", "_") for name in plain.columns]
    types = [
        (name, (StringTensorType if kind == pl.String else FloatTensorType)([None, 1]))
        for name, kind in columns.transform(log).schema.items()
    ]
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(matrix, initial_types=types).SerializeToString())
    given = {
        name: plain[name].to_numpy().reshape(-1, 1).astype(object if plain[name].dtype == pl.String else np.float32)
        for name in (field.name for field in session.get_inputs())
    }
    np.testing.assert_allclose(session.run(None, given)[0], encoding.features(fitted, log), rtol=1e-6)


values = st.fixed_dictionaries({
    "f": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "i": st.none() | st.integers(-(2**63), 2**63 - 1),
    "b": st.none() | st.booleans(),
    "s": st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    "d": st.none() | st.dates(),
    "t": st.none() | st.datetimes(),
})  # fmt: skip
SCHEMA = {"f": "Float64", "i": "Int64", "b": "Boolean", "s": "String", "d": "Date", "t": "Datetime"}


@given(rows=st.lists(values, min_size=1, max_size=5))
@settings(deadline=None)
def test_rows_to_json_and_back(rows: list[dict[str, object]]) -> None:
    frame = pl.DataFrame(rows, schema={name: encoding.TYPES[kind] for name, kind in SCHEMA.items()})
    assert encoding.schema_of(frame) == SCHEMA
    told = json.loads(json.dumps(encoding.to_plain(frame), allow_nan=False))
    again = encoding.from_plain(told, json.loads(json.dumps(SCHEMA)))
    assert again.schema == frame.schema
    assert [str(row) for row in again.rows()] == [str(row) for row in frame.rows()]  # -0.0 stays -0.0


@pytest.mark.parametrize(
    ("kind", "values", "shown"),
    [
        ("number", ["12", "abc", "x"], "'abc'"),
        ("number", ["12", "007"], "'007'"),
        ("number", [datetime.date(2020, 1, 1)], "'2020-01-01'"),
        ("number", [True], "'true'"),
        ("boolean", ["true", "yes"], "'yes'"),
        ("boolean", [None, 7], "'7'"),
        ("date", [20200309], "'20200309'"),
        ("date", ["2020-03-09", "09.03.2020"], "'09.03.2020'"),
    ],
)
def test_a_column_must_hold_what_it_held_in_the_log(kind: str, values: list[object], shown: str) -> None:
    with pytest.raises(InputError, match=f"column 'c' must hold a {kind}; got {shown}. Write it as in the log."):
        encoding.plain_column(pl.Series("c", values), kind)


def test_dates_are_days_since_1970_and_times_parts_of_a_day() -> None:
    times = [datetime.datetime(1970, 1, 3, 18), datetime.datetime(1969, 12, 31, 12), None]
    found = encoding.plain_column(pl.Series("c", times), "date").to_list()
    assert found[:2] == [2.75, -0.5] and np.isnan(found[2])
    dates = pl.Series("c", [datetime.date(1970, 1, 3), datetime.date(1969, 12, 31)])
    assert encoding.plain_column(dates, "date").to_list() == [2.0, -1.0]


def test_empty_columns_hold_anything() -> None:
    for kind in ("number", "boolean", "date"):
        for dtype in (pl.Null, pl.Int64, pl.String):
            assert np.isnan(encoding.plain_column(pl.Series("c", [None], dtype=dtype), kind)[0])
    assert encoding.plain_column(pl.Series("c", [None], dtype=pl.Int64), "category").to_list() == [encoding.MISSING]
    assert encoding.plain_column(pl.Series("c", [36, None]), "category").to_list() == ["36", encoding.MISSING]


def test_a_column_may_be_called_like_the_mark_of_another() -> None:
    log = pl.DataFrame({"x": [1.0, None, 3.0], "x is missing": [5.0, 7.0, None]})
    fitted = encoding.encoder(log, kinds(log))
    assert encoding.feature_names(fitted) == ["x", "x is missing", "x is missing_", "x is missing is missing"]
    assert encoding.features(fitted, log)[1].tolist() == [2.0, 7.0, 1.0, 0.0]


def test_a_category_of_many_values_is_a_block_of_the_50_commonest() -> None:
    """Campaigns of earlier versions recorded no number of levels: theirs stays 20, and there is no block."""
    values = [f"v{k:02d}" for k in range(60) for _ in range(k + 1)]  # the last are the commonest
    log = pl.DataFrame({"many": values, "few": [value[-1] for value in values], "x": np.arange(len(values))})
    told = {"many": "category", "few": "category", "x": "number"}
    fitted, old = encoding.encoder(log, told), encoding.encoder(log, told, Settings.from_record({}).levels)
    assert encoding.block_places(fitted) == ((11, 61),) and encoding.block_places(old) == ()
    names, before = encoding.feature_names(fitted), encoding.feature_names(old)
    assert names[:11] == ["x", *(f"few is {k}" for k in range(10))]
    assert names[11:] == [f"many is v{k:02d}" for k in range(10, 60)]
    assert before == ["x", *(f"many is v{k:02d}" for k in range(40, 60)), *names[1:11]]
    X = encoding.features(fitted, log)
    assert X.tobytes() == fitted.transform(log).tobytes() and X[-1, -1] == 1.0 and X[0, 11:].sum() == 0.0


def test_few_values_are_encoded_as_before() -> None:
    log = mixed(300).drop("note", "region").with_columns(r=pl.col("children").cast(pl.String))
    new, old = encoding.encoder(log, kinds(log)), encoding.encoder(log, kinds(log), levels=20)
    assert encoding.features(new, log).tobytes() == encoding.features(old, log).tobytes()
    assert encoding.block_places(new) == ()
