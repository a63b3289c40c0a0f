"""CSV files of a pool. Once it is noted where records begin, a part of a file can be read without the rest.

Cells are text. Whoever reads them knows what a column holds: a block of rows alone does not tell.
"""

import csv
from collections.abc import Collection, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import polars as pl

from unskew.csv_text import BOM, cells, check_csv, check_header, check_text, record_ends, records, separator_in
from unskew.errors import InputError
from unskew.pools.remote import content_of, opening
from unskew.reading import changed, unreadable

BYTES = 8_000_000
"""Bytes of a part, about."""

HEADER = 1_000_000
"""Bytes in which the header ends."""

ROWS = 100_000
"""Rows of a part, at most, unless its quotes are odd."""


class Lines(NamedTuple):
    """A part of a text file: whole records that follow one another."""

    head: int
    """Where the header ends."""
    start: int
    end: int
    first: int
    """The number of rows before it."""
    rows: int


class Indexed(NamedTuple):
    """What was noted when all of a file was read."""

    columns: list[str]
    groups: tuple[int, ...]
    """The rows of each part."""
    edges: tuple[int, ...]
    """Where the header ends, and where each part ends."""


class Body(NamedTuple):
    """A part of a file, when all of it is read."""

    at: int
    """Where it begins."""
    header: bytes
    body: bytes
    """Whole records; none, if the file has a header alone."""
    left_out: int
    """The number of lines between the header and the first of them."""


def index(path: str, separator: str) -> Indexed:
    """Read and check all of a file, and note where its parts begin."""
    separator = separator_at(path, separator)
    groups: list[int] = []
    edges: list[int] = []
    for part in bodies(path, separator, BYTES):
        edges = edges or [part.at]
        if part.body:
            rows = check_csv(path, part.header + part.body, separator, part.left_out)[1]
            ends = [*_inner(part.body, separator, rows), (len(part.body), rows)]
            edges += [part.at + end for end, _ in ends]
            groups += np.diff([before for _, before in ends], prepend=0).tolist()
    return Indexed(check_header(path, part.header, separator), tuple(groups), tuple(edges))


def bodies(path: str, separator: str, size: int) -> Iterator[Body]:
    """A file in parts of about that size, all of it UTF-8. There is at least one."""
    header, line = b"", 0
    for at, block in whole_records(path, separator, size):
        check_text(path, block, line, at)
        left_out, new = line - header.count(b"\n"), b"" if header else block[: _end(block, separator, most=1)] or block
        line += block.count(b"\n")
        header = header or new
        yield Body(at + len(new), header, block[len(new) :], 0 if new else left_out)
    if not header:
        raise InputError(f"{path} is empty. It needs a line of column names, then one row a line.")


def _inner(body: bytes, separator: str, rows: int) -> list[tuple[int, int]]:
    """Where to cut very many rows: after which byte, and after which row."""
    ends = record_ends(body, separator) if rows > ROWS else None
    return [] if ends is None else [(int(ends[row - 1]), row) for row in range(ROWS, rows, ROWS)]


def read_lines(path: str, separator: str, lines: Lines, columns: Collection[str]) -> pl.DataFrame:
    """Columns of a part of a file, as text. An OSError or a ValueError says that it is not what was noted."""
    header = _header(path, lines.head)
    separator = separator_in(header, separator)
    try:
        names = check_header(path, header, separator)
        return cells(header + content_of(path, lines.start, lines.end), separator, names, lines.rows, columns)
    except (csv.Error, StopIteration, InputError, pl.exceptions.PolarsError):
        raise ValueError("its text is not what it was") from None


def columns_of(path: str, separator: str, head: int) -> list[str]:
    """The names of the columns of a file whose header ends there."""
    header = _header(path, head)
    return check_header(path, header, separator_in(header, separator))


def separator_at(path: str, separator: str) -> str:
    """What separates the cells of a file."""
    try:
        with opening(path) as (file, *_):
            return separator_in(file.read(HEADER).removeprefix(BOM), separator)
    except (OSError, ValueError):
        return separator  # whoever reads it says what is wrong


def _header(path: str, head: int) -> bytes:
    return content_of(path, 0, head).removeprefix(BOM)


def numbers(names: Collection[str], raw: pl.DataFrame) -> pl.DataFrame:
    """A frame of text in which these columns become numbers; true is 1 and false is 0.

    >>> numbers(["a"], pl.DataFrame({"a": [" 1.5", "true"], "id": ["007", "008"]})).rows()
    [(1.5, '007'), (1.0, '008')]
    """
    return raw.with_columns(_numbers(raw[name]) for name in raw.columns if name in names)


def _numbers(column: pl.Series) -> pl.Series:
    number = as_number(column)
    for row in (number.is_null() & column.is_not_null()).arg_true()[:1]:
        lower = column.str.strip_chars().str.to_lowercase().replace({"true": "1", "false": "0"})
        number = lower.cast(pl.Float64, strict=False)
        if number.null_count() > column.null_count():
            raise InputError(
                f"column {column.name!r} must hold numbers or booleans; got {column[row]!r:.60}. Correct it, or use a "
                "Campaign, which encodes columns of mixed types."
            )
    return number


def as_number(column: pl.Series) -> pl.Series:
    """Text as numbers, null where it is none."""
    number = column.cast(pl.Float64, strict=False)
    if number.null_count() > column.null_count():  # seldom: stripping blanks takes time
        number = column.str.strip_chars().cast(pl.Float64, strict=False)
    return number


def whole_records(path: str, separator: str, size: int) -> Iterator[tuple[int, bytes]]:
    """The text of a file in blocks of about that size that are whole records, and where each begins.

    A byte order mark is left out, and so are blank lines at the end.
    """
    try:
        with opening(path) as (file, *before):
            at = len(BOM) if file.read(len(BOM)) == BOM else 0
            file.seek(at)
            rest = b""
            while new := file.read(size):
                raw = rest + new
                block = raw[: _end(raw, separator)]
                if not block and len(raw) < 2 * size:  # a long record
                    rest = raw
                    continue
                block = (block or raw).rstrip(b"\r\n")  # if a quote was left open, all of it is refused
                end = raw.find(b"\n", len(block)) + 1 or len(raw)
                rest = raw[end:]
                yield at, raw[:end]
                at += end
            if last := rest.rstrip(b"\r\n"):
                yield at, last + b"\n"
        with opening(path) as (_, *after):
            if before != after:
                raise changed(path)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _end(raw: bytes, separator: str, most: int | None = None) -> int:
    """Where the last whole record ends, or the last of that number; 0 if there is none."""
    end = raw.rfind(b"\n") + 1
    if b'"' not in raw and most is None:
        return end
    ends = record_ends(raw, separator)
    if ends is not None and len(ends):
        return int(ends[-1 if most is None else most - 1])
    lines = 0
    try:
        for lines, _ in islice(records(raw[:end], separator), most):  # noqa: B007
            pass
    except (csv.Error, UnicodeDecodeError):  # a quote that is not closed, in this block or at all
        pass
    return sum(map(len, islice(raw.splitlines(keepends=True), lines)))
