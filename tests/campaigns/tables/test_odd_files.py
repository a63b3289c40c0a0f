"""Damaged, foreign and hostile files: a table or answers, or one line that says what is wrong, and nothing else.

UNSKEW_FUZZ=20 tries twenty times as many files.
"""

import copy
import datetime
import gzip
import io
import json
import os
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paths import ROOT
from unskew import csv_text
from unskew.campaigns.exchange import label_files
from unskew.campaigns.exchange.label_files import answers
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables import files
from unskew.campaigns.tables.encoding import to_plain
from unskew.campaigns.tables.files import read_table
from unskew.errors import InputError, UnskewError

TIMES = int(os.environ.get("UNSKEW_FUZZ", "1"))
CAMPAIGN = Settings(label="y", id="key", classes=("no", "yes"), types={"x": "Float64", "note": "String"})

ROWS = [[f"k{k}", str(k / 4 - 9), f"2024-05-{k + 1:02}", f"2024-05-01T10:{k:02}", "yes" if k % 3 else "", f"n {k % 4}"]
        for k in range(30)]  # fmt: skip
CSV = "\n".join(map(",".join, [["key", "x", "day", "at", "y", "note"], *ROWS, ['"a ""b"""', "", "", "", "", "'=1"]]))
JSONL = "\n".join(json.dumps({"id": row[0], "values": {"x": row[1]}, "label": row[4] or None}) for row in ROWS)
DONE = {"completed_by": {"id": 1}, "was_cancelled": False, "updated_at": "2026-01-01T00:00:00Z",
        "result": [{"from_name": "label", "type": "choices", "value": {"choices": ["yes"]}}]}  # fmt: skip
EXPORT = [{"data": {"unskew_id": row[0], "row": {"x": row[1]}}, "annotations": [DONE]} for row in ROWS[:4]]
EXPORT += [{"unskew_id": row[0], "label": "no", "annotation_id": 7, "annotator": 2} for row in ROWS[4:8]]
TOKENS = [b'"', b"\0", b"\r", b"\n", b",", b";", b"\xff", b"\xed\xa0\x80", b"1e999", b"9" * 400, b"-", b"'=", b"'",
          b"9999-12-31", b"0000-00-00", b"2024-05-01T99:99", b"0001-01-01T00:00+23:59", b"NaN", b"\xef\xbb\xbf",
          b'"\\ud800"', b"[" * 3000, b'{"id":', b"null", b"\xf0\x9f\x98\x80", b"true"]  # fmt: skip
VALUES = [None, True, 0, -1, 10**30, 1e308, float("inf"), float("nan"), "", "\ud800", "a\nb", [], {}, [[]], {"id": [1]},
          ["yes", "no"], {"choices": {}}, {"choices": [None]}, "yes", "k1"]  # fmt: skip


def parquet() -> bytes:
    frame = read_table(pl.read_csv(io.StringIO(CSV), infer_schema=False))
    frame = frame.with_columns(c=pl.col("note").cast(pl.Categorical), b=pl.col("y") == "yes", w=pl.int_range(31))
    file = io.BytesIO()
    frame.write_parquet(file, compression="uncompressed")
    return file.getvalue()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A few bits, bytes, runs and tokens of the content changed."""
    b = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        i = rng.randrange(len(b) + 1)
        part = b[i : i + rng.choice([1, 2, 8, 200])]
        match rng.randrange(8):
            case 0 | 1 if i < len(b):
                b[i] ^= 1 << rng.randrange(8)
            case 2 if i < len(b):
                b[i] = rng.randrange(256)
            case 3:
                del b[i : i + len(part)]
            case 4:
                b[i:i] = part
            case 5:
                b[rng.randrange(len(b) + 1) :][: len(part)] = part
            case 6:
                b[i:i] = rng.choice(TOKENS)
            case 7 if rng.random() < 0.3:
                del b[i:]
    return bytes(b)


def changed(value: Any, rng: random.Random) -> Any:
    """JSON in which one value, somewhere, is another."""
    if rng.random() < 0.2 or not isinstance(value, list | dict) or not value:
        return copy.deepcopy(rng.choice(VALUES))
    key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if rng.random() < 0.1:
        del value[key]
    else:
        value[key] = changed(value[key], rng)
    return value


def damaged_export(content: bytes, rng: random.Random) -> bytes:
    export = json.loads(content)
    for _ in range(rng.choice([1, 2, 5])):
        export = changed(export, rng)
    return json.dumps(export).encode()


def damaged_lines(content: bytes, rng: random.Random) -> bytes:
    return b"\n".join(damaged_export(line, rng) if rng.random() < 0.2 else line for line in content.split(b"\n"))


def packed(content: bytes, rng: random.Random) -> bytes:
    """Damaged before or after it is compressed."""
    if rng.random() < 0.5:
        return gzip.compress(damaged(content, rng))
    return damaged(gzip.compress(content), rng)


def table(path: Path) -> None:
    frame = read_table(path)
    assert set(frame.dtypes) <= {pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.Date, pl.Datetime("us")}
    files.kinds(frame)
    json.dumps(to_plain(frame))


def labels(path: Path) -> None:
    for one in answers(path, CAMPAIGN)[0]:
        if isinstance(one, tuple):
            assert one[1].encode() is not None and (one[2] is None or one[2].encode() is not None)


@pytest.mark.parametrize(
    ("name", "content", "damage", "read", "examples"),
    [
        ("t.csv", CSV.encode(), damaged, table, 150),
        ("t.tsv", CSV.replace(",", "\t").encode(), damaged, table, 50),
        ("t.csv.gz", CSV.encode(), packed, table, 50),
        ("t.parquet", None, damaged, table, 20),
        ("l.csv", CSV.encode(), damaged, labels, 100),
        ("l.jsonl", JSONL.encode(), damaged, labels, 50),
        ("l.jsonl", JSONL.encode(), damaged_lines, labels, 50),
        ("l.json", json.dumps(EXPORT).encode(), damaged, labels, 50),
        ("l.json", json.dumps(EXPORT).encode(), damaged_export, labels, 150),
    ],
)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    name: str,
    content: bytes | None,
    damage: Callable[[bytes, random.Random], bytes],
    read: Callable[[Path], None],
    examples: int,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole = content or parquet()
    tried = []

    @settings(max_examples=examples * TIMES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**64))
    def one(seed: int) -> None:
        tried.append(seed)
        path = tmp_path / name
        path.write_bytes(damage(whole, random.Random(seed)))
        try:
            read(path)
        except UnskewError as error:
            message = str(error)
            message.encode()
            assert message.isprintable(), message

    one()
    assert len(tried) >= examples and capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "l.csv", "l.jsonl", "l.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_not_a_file_is_not_opened(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(str(path))
    with pytest.raises(InputError, match="is a pipe, a device or a socket. Write its content to a file"):
        (labels if name.startswith("l") else table)(path)


def test_a_file_of_labels_has_a_largest_size(tmp_path: Path) -> None:
    with open(tmp_path / "l.csv", "wb") as file:
        file.truncate(label_files.LARGEST + 1)
    with pytest.raises(InputError, match="l.csv has 100,000,001 bytes; the most is 100,000,000. Split it"):
        labels(tmp_path / "l.csv")


def test_a_table_larger_than_half_of_the_memory_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "t.csv", "wb") as file:
        file.truncate(10**13)
    with pytest.raises(InputError, match="10,000,000,000,000 bytes; the most is"):
        table(tmp_path / "t.csv")


@pytest.mark.parametrize(("byte", "told"), [(b"1\n", "and unpacks to more than"), (b"\0", "not UTF-8 text")])
def test_a_gzip_file_that_grows_out_of_proportion(
    byte: bytes, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = 0
    real = gzip.GzipFile.read

    def read(self: gzip.GzipFile, size: int | None = -1) -> bytes:
        nonlocal unpacked
        block = real(self, size)
        unpacked += len(block)
        return block

    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(byte * 20_000_000))
    monkeypatch.setattr("unskew.reading.SMALL", 1_000_000)
    monkeypatch.setattr(csv_text, "BLOCK", 1_000_000)
    monkeypatch.setattr(gzip.GzipFile, "read", read)
    with pytest.raises(InputError, match=told):
        table(tmp_path / "t.csv.gz")
    assert unpacked <= 10_000_000


def test_a_line_of_very_many_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a" + b"," * csv_text.MOST_CELLS)
    with pytest.raises(InputError, match="line 1: it has more than 1,000,000 cells"):
        table(tmp_path / "t.csv")


def test_a_parquet_file_that_claims_very_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    pl.select(pl.repeat(1, 40_000_000, dtype=pl.Int8).alias("x")).write_parquet(path)
    monkeypatch.setattr("unskew.campaigns.tables.parquet.half_memory", lambda: 300_000_000)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="claims 40,000,000 rows of 1 columns; half .* holds 37,500,000 values"):
        table(path)


@pytest.mark.parametrize("name", ["aborts.parquet", "panics.parquet"])
def test_a_parquet_file_that_ends_polars(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Found by chance: one of these makes Polars 2.1 abort, the other makes it panic."""
    with pytest.raises(InputError, match=f"{name} is incomplete or not a Parquet file: .*Write it again."):
        table(ROOT / "tests" / "fixtures" / name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (pl.Series([{"a\nb": 1}, None]), "holds Struct"),
        (pl.Series([datetime.time(1), None]), "holds Time;"),
        (pl.Series([b"\xff", None]), "holds Binary"),
        (pl.Series([-(2**63), 2**63 - 1]).cast(pl.Datetime("ms")), "row 1: .* years must be from 1 to 9999"),
        (pl.Series([-(2**31), 2**31 - 1]).cast(pl.Date), "row 1: .* years must be from 1 to 9999"),
        (
            pl.Series([-62135596800000000]).cast(pl.Datetime("us", "America/New_York")),
            "column 'odd' holds 0, and years",
        ),
        (pl.Series([10**31, 0], dtype=pl.Int128), r"holds 1e\+31, and numbers must be finite and at most 1e\+30"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value.dtype),
)
def test_odd_types_in_parquet(column: pl.Series, told: str, tmp_path: Path) -> None:
    column.alias("odd").to_frame().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=told) as refused:
        table(tmp_path / "t.parquet")
    assert str(refused.value).isprintable()


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    real, calls = os.fstat, []

    def fstat(descriptor: int) -> os.stat_result:
        calls.append(descriptor)
        if len(calls) == 2:
            os.utime(path, ns=(0, 0))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(InputError, match="t.csv changed while it was read"):
        table(path)
