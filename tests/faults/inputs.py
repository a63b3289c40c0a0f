"""Inputs that files and requests may hold: mutations of valid ones, odd values in the right places, and pure noise."""

import copy
import gzip
import io
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl
from hypothesis import strategies as st
from polars.testing.parametric import dataframes

ODD = (
    "", " ", '"', '""', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\0", "\x1b[2J", "\ufeff", "\u2028", "\u202e", "💥",
    "=1+1", "x;=1+1", "@x", "-", "+1", "NaN", "nan", "inf", "-inf", "1e400", "1e155", "-1e155", "1e-155", "-0.0",
    "1_000", "0x10", "007", "٣", "9" * 400, "99999999999999999999", "true", "TRUE", "null", "None", "skip", "yes", "no",
    "2024-02-30", "9999-12-31", "0000-01-01", "2024-01-01T25:00:00Z", "9999-12-31T23:59:59.999999+14:00", "row-1",
    "a" * 5000, "../../etc/passwd", "<script>", "{{7*7}}", "%s%n", "\\", "\\u0000",
)  # fmt: skip
odd_text = st.one_of(st.sampled_from(ODD), st.text(max_size=12))
noise = st.binary(max_size=300)
ODD_JSON = (
    '"\\ud800"', '{"a": "\\udfff"}', "NaN", "-Infinity", "1e999", "9" * 5000, "[" * 100_000, '{"a":' * 50_000,
    "[" * 900 + "]" * 900, '{"id": 1, "id": 2}', "", "null", '"', "{", "[]", "{}", "true", "0", "\ufeff{}", '{"": {}}',
)  # fmt: skip

json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.integers(-2, 3), st.floats(), odd_text,
        st.sampled_from(["\ud800", "x\udfffy", 10**400, 1e308, -1]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)),
    max_leaves=6,
)  # fmt: skip


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


@st.composite
def edited(draw: Any, valid: Sequence[bytes]) -> bytes:
    """A valid file with bytes flipped, removed, put in, repeated, or its end cut off."""
    raw = bytearray(draw(st.sampled_from(valid)))
    payload = st.one_of(noise, odd_text.map(lambda text: text.encode("utf-8", "surrogatepass")))
    for kind in draw(st.lists(st.sampled_from(["flip", "flip", "cut", "drop", "add", "swap", "again"]), min_size=1)):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        if kind == "add":
            raw[at:at] = draw(payload)
        elif not raw:
            break
        elif kind == "flip":
            raw[at] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del raw[at:]
        else:
            stop = min(len(raw), at + draw(st.integers(1, 60)))
            raw[at:stop] = {"drop": b"", "again": raw[at:stop] * 2, "swap": raw[at:stop][::-1]}[kind]
    return bytes(raw)


@st.composite
def changed(draw: Any, valid: Sequence[Any]) -> Any:
    """A valid JSON value in which some parts are replaced, removed, or put in."""
    value = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(1, 3))):
        inner = value
        while isinstance(inner, dict | list) and inner:
            at = draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
            if not (isinstance(inner[at], dict | list) and inner[at]) or draw(st.integers(0, 3)) == 0:
                if draw(st.integers(0, 4)) == 0:
                    del inner[at]
                else:
                    inner[at] = draw(json_values)
                break
            inner = inner[at]
    return value


def json_bytes(*valid: Any) -> st.SearchStrategy[bytes]:
    """JSON files like the valid ones, and unlike them."""
    as_text = st.sampled_from(ODD_JSON).map(str.encode)
    return st.one_of(
        changed(valid).map(dumped), changed(valid).map(dumped), edited([dumped(one) for one in valid]),
        json_values.map(dumped), as_text, noise,
    )  # fmt: skip


def json_lines(valid: Sequence[Any]) -> st.SearchStrategy[bytes]:
    line = st.one_of(json_bytes(*valid), st.sampled_from([dumped(one) for one in valid]))
    return st.one_of(st.lists(line, max_size=6).map(b"\n".join), edited([b"\n".join(map(dumped, valid))]))


@st.composite
def tables(draw: Any, valid: pl.DataFrame) -> pl.DataFrame:
    """The valid table as text with odd cells, headings, or columns."""
    frame = valid.select(pl.all().cast(pl.String))
    columns = {name: frame[name].to_list() for name in frame.columns}
    for _ in range(draw(st.integers(0, 6))):
        name, row = draw(st.sampled_from(list(columns))), draw(st.integers(0, frame.height - 1))
        columns[name][row] = draw(st.one_of(odd_text, st.none()))
    kind = draw(st.sampled_from(["cells", "cells", "column", "rename", "drop", "add", "short"]))
    name = draw(st.sampled_from(list(columns)))
    if kind == "column":
        columns[name] = [draw(odd_text)] * frame.height
    elif kind == "rename":
        columns = {draw(odd_text) if key == name else key: cells for key, cells in columns.items()}
    elif kind == "drop":
        del columns[name]
    elif kind == "add":
        columns[draw(odd_text)] = [draw(odd_text)] * frame.height
    elif kind == "short":
        kept = draw(st.integers(0, 3))
        columns = {key: cells[:kept] for key, cells in columns.items()}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String), strict=False)


def csv_bytes(valid: pl.DataFrame, separator: str = ",") -> st.SearchStrategy[bytes]:
    """CSV files like the valid one, and unlike it."""
    whole = valid.write_csv(separator=separator).encode()

    def written(frame: pl.DataFrame) -> bytes:
        return frame.write_csv(separator=separator).encode("utf-8", "surrogatepass") if frame.width else b""

    cells = st.lists(st.lists(odd_text, max_size=5).map(separator.join), max_size=5)
    made = cells.map(lambda lines: "\n".join(lines).encode("utf-8", "surrogatepass"))
    return st.one_of(tables(valid).map(written), tables(valid).map(written), edited([whole]), made, noise)


@cache
def bomb() -> bytes:
    """Little that becomes 4 GB."""
    return gzip.compress(b"a,b\n" + b"1,2\n" * 16_000_000) * 64


def zipped(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """The same in gzip, whole and damaged, and now and then a bomb."""
    good = inner.map(lambda raw: gzip.compress(raw, 1))
    members = st.lists(good, min_size=2, max_size=3).map(b"".join)
    ordinary = st.one_of(good, good, members, edited([gzip.compress(b"a,b\n1,2\n" * 50)]), noise)
    return st.integers(0, 99).flatmap(lambda k: st.builds(bomb) if k == 37 else ordinary)


def parquet_bytes(valid: pl.DataFrame) -> st.SearchStrategy[bytes]:
    """Parquet files like the valid one, of other types, damaged, above all at the end, where their table is."""

    def written(frame: pl.DataFrame) -> bytes:
        file = io.BytesIO()
        try:
            frame.write_parquet(file)
        except BaseException:  # a type that Parquet does not have
            return b""
        return file.getvalue()

    whole = written(valid)
    middle = len(whole) * 2 // 3
    tail = edited([whole[middle:]]).map(lambda end: whole[:middle] + end)
    frames = dataframes(max_cols=5, max_size=8)
    beside = frames.map(lambda other: valid.head(other.height).hstack(
        [column.alias(name) for name, column in zip(("income_eur", "extra"), other.iter_columns(), strict=False)],
        in_place=False) if other.height and "income_eur" not in valid.columns else other)  # fmt: skip
    return st.one_of(
        tables(valid).map(written), frames.map(written), beside.map(written), edited([whole]), tail, tail, noise
    )
