"""The kinds of files that a pool can be in, by the ending of their names."""

import io
from typing import IO, Any

import polars as pl

from unskew.pools import arrow_footers, footers

PARQUET, ARROW, CSV, TSV = "Parquet", "Arrow", "CSV", "TSV"

KINDS = {".parquet": PARQUET, ".arrow": ARROW, ".feather": ARROW, ".csv": CSV, ".tsv": TSV}

SEPARATORS = {CSV: ",", TSV: "\t"}
"""What separates the cells of text files."""

PACKED = (".csv.gz", ".tsv.gz")
"""Text in which no place can be found without unpacking all that is before it."""

EDGE = 65_536
"""Bytes at the beginning and at the end of a text file by which it is known again: it has no footer."""


def kind_of(path: str) -> str | None:
    """The kind of a file; None if it is not one of a pool.

    >>> kind_of("rows/1.feather"), kind_of("rows/notes.txt")
    ('Arrow', None)
    """
    return next((kind for end, kind in KINDS.items() if path.lower().endswith(end)), None)


def separator_of(path: str) -> str | None:
    """What separates the cells of a text file; None if the file is no text."""
    return SEPARATORS.get(kind_of(path) or "")


def named(kind: str | None) -> str:
    """What messages call a file.

    >>> named("Arrow"), named("Parquet")
    ('an Arrow file', 'a Parquet file')
    """
    return f"{'an' if kind == ARROW else 'a'} {kind} file"


def footer_of(kind: str, file: IO[bytes], size: int) -> bytes:
    """The bytes of a file that say what is in it: its footer with what ends the file, or the edges of text."""
    if kind in SEPARATORS:
        first = file.read(EDGE)
        file.seek(max(size - EDGE, 0))
        return first + file.read(EDGE)
    module = footers if kind == PARQUET else arrow_footers
    file.seek(max(size - module.END, 0))
    end = file.read(module.END)
    length = module.footer_length(end)
    if length + module.END > size:
        raise ValueError("its footer is damaged")
    file.seek(size - module.END - length)
    return file.read(length) + end


def groups_of(kind: str, file: IO[bytes], size: int, footer: bytes) -> tuple[int, ...]:
    """The rows of each row group of a Parquet file, or of each record batch of an Arrow file."""
    if kind == PARQUET:
        return footers.rows_of_groups(footer[: -footers.END])
    return arrow_footers.rows_of_batches(file, size, footer[: -arrow_footers.END])


def schema_of(kind: str, footer: bytes) -> dict[str, Any]:
    """The columns of a Parquet or Arrow file, and their types."""
    if kind == PARQUET:
        return dict(pl.read_parquet_schema(io.BytesIO(b"PAR1" + footer)))
    return dict(pl.read_ipc_schema(io.BytesIO(b"ARROW1\0\0" + footer)))


def scanned(path: str, kind: str | None) -> pl.LazyFrame:
    """A Parquet or Arrow file, not read yet."""
    scan = pl.scan_ipc if kind == ARROW else pl.scan_parquet
    return scan(path, glob=False, hive_partitioning=False)
