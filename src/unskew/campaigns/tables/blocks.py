"""A table block by block, so that the memory it takes does not grow with the file."""

import csv
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from unskew.campaigns.tables import parquet
from unskew.campaigns.tables.csv_text import BOM, check_text, content, records
from unskew.campaigns.tables.files import SEPARATORS, ending, plain_frame, read_text
from unskew.campaigns.tables.pool_files import as_it_is, columns_of, is_many, no_features
from unskew.errors import InputError
from unskew.pools.files import FilePool, find_files
from unskew.pools.remote import readable
from unskew.pools.trying import try_files
from unskew.reading import changed, unreadable, without_waiting

ROWS = 20_000
"""Rows of a block of a Parquet file."""

BYTES = 8_000_000
"""Bytes of a block of a text file, about."""


class Part(NamedTuple):
    """A block that is not read yet."""

    read: Callable[[], pl.DataFrame]
    """May run in another process, if that can open the file."""
    done: int
    """How much of the table has been read after this block, of `total`: rows, or bytes of a text file."""
    total: int


def parts(source: str | Path, columns: Collection[str], text: Collection[str]) -> Iterator[Part]:
    """The blocks of a file as `read_table` takes it, or of a folder or glob of Parquet files, in the order of its rows.

    Only these columns are read, as far as they are there, and some of them as text. In a large text file, the type of
    a column is the one that fits all values in the block. Compressed text is unpacked in memory.
    """
    if is_many(source):
        return slices(_tried(source, columns), columns, text)
    path = Path(source)
    kind = ending(path)
    if kind != ".parquet":
        return _texts(path, SEPARATORS[kind], columns, text)
    parquet.check_parquet(path, ROWS)
    rows: int = pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()
    if not rows:
        raise InputError(f"{path} has no rows. It needs at least one row.")
    return slices([(path, rows)], columns, text)


def _tried(source: str | Path, columns: Collection[str]) -> list[tuple[str | Path, int]]:
    """The files that a folder or glob names, none of them damaged, and the number of rows of each."""
    files = find_files(source)
    wanted = [name for name in columns_of(files) if name in columns]
    try_files(FilePool(files, as_it_is, no_features, columns=wanted))
    return [(file.path, file.rows) for file in files]


def slices(files: Sequence[tuple[str | Path, int]], columns: Collection[str], text: Collection[str]) -> Iterator[Part]:
    """The blocks of Parquet files, given the number of rows of each."""
    done, total = 0, sum(rows for _, rows in files)
    for path, rows in files:
        for start in range(0, rows, ROWS):
            done += min(ROWS, rows - start)
            yield Part(partial(_slice, path, start, columns, text), done, total)


def _slice(path: str | Path, start: int, columns: Collection[str], text: Collection[str]) -> pl.DataFrame:
    try:
        lazy = pl.scan_parquet(readable(str(path)), glob=False, hive_partitioning=False)
        wanted = [name for name in lazy.collect_schema().names() if name in columns]
        frame = lazy.select(wanted).slice(start, ROWS).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{path} cannot be read as a table: {told}. Write it again.") from None
    return plain_frame(path, frame, text, lambda row: f"row {start + row + 1}") if wanted else frame


def _texts(path: Path, separator: str, columns: Collection[str], text: Collection[str]) -> Iterator[Part]:
    size = path.stat().st_size
    if size <= BYTES or path.suffix.lower() == ".gz":
        yield Part(partial(read_text, path, content(path), separator, text, columns), size, size)
        return
    header, done, lines = b"", 0, 0
    for block in _blocks(path, separator):
        check_text(path, block, lines, done)
        read = partial(read_text, path, header + block, separator, text, columns, lines - header.count(b"\n"))
        header = header or block[: _end(block, separator, most=1)]
        done, lines = done + len(block), lines + block.count(b"\n")
        yield Part(read, min(done, size), size)


def _blocks(path: Path, separator: str) -> Iterator[bytes]:
    """The text of a file in blocks of whole records. Blank lines at its end are left out."""
    rest = b""
    try:
        with open(path, "rb", opener=without_waiting) as file:
            before = os.fstat(file.fileno())
            file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
            while new := file.read(BYTES):
                raw = rest + new
                block = raw[: _end(raw, separator)]
                if not block and len(raw) < 2 * BYTES:  # a long record
                    rest = raw
                    continue
                block = (block or raw).rstrip(b"\r\n")  # if a quote was left open, all of it is refused
                end = raw.find(b"\n", len(block)) + 1 or len(raw)
                rest = raw[end:]
                yield raw[:end]
            if last := rest.rstrip(b"\r\n"):
                yield last + b"\n"
            after = os.fstat(file.fileno())
    except OSError as error:
        raise unreadable(path, error) from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise changed(path)


def _end(raw: bytes, separator: str, most: int | None = None) -> int:
    """Where the last whole record ends, or the last of that number; 0 if there is none."""
    end = raw.rfind(b"\n") + 1
    if b'"' not in raw and most is None:
        return end
    lines = 0
    try:
        for lines, _ in islice(records(raw[:end], separator), most):  # noqa: B007
            pass
    except (csv.Error, UnicodeDecodeError):  # a quote that is not closed, in this block or at all
        pass
    return sum(map(len, islice(raw.splitlines(keepends=True), lines)))
