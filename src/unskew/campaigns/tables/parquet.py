"""Parquet and Arrow files, first tried in a process of their own: Polars ends the whole process on some damaged files.

It asks for as much memory as a damaged page claims to need, and if it does not get that, it aborts, which no `except`
catches. On other files it panics, and prints many lines. So another process, which imports nothing but Polars, reads
the file first. Its memory is limited, and what it prints is dropped. A file that it could read is then read here.
"""

import os
import subprocess  # nosec B404  # one command, as a list
import sys
from pathlib import Path

import polars as pl

from unskew.campaigns.tables import parquet_process
from unskew.csv_text import MOST_COLUMNS, too_wide
from unskew.errors import InputError
from unskew.pools.formats import kind_of, named, scanned
from unskew.reading import half_memory, most_text, regular_file, too_much_text
from unskew.swelling import TOO_LARGE

VALUE = 8
"""Bytes that a value takes in memory, or more if it is text."""


def read_parquet(path: Path) -> pl.DataFrame:
    """The frame in a Parquet or Arrow file."""
    check_parquet(path)
    return scanned(str(path), kind_of(str(path))).collect()


def check_parquet(path: Path, rows: int = 0) -> None:
    """Refuse a file that cannot be read, or holds text out of all proportion to its size.

    One that claims more values than half of the memory holds is not tried.

    With `rows`, it is tried that many rows at a time, however many it has.
    """
    most, size = half_memory(), regular_file(path).st_size
    text = min(most, most_text(size))
    command = [sys.executable, "-P", parquet_process.__file__, str(path)]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # the same Polars as here
    try:
        done = subprocess.run(  # nosec B603  # this Python, and a file of ours
            [*command, str(most), str(MOST_COLUMNS), str(most // VALUE), str(text), str(rows)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=where, check=False,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"no process can be started to read {path}: {error.strerror}. Close others.") from None
    if done.returncode == TOO_LARGE:
        raise too_much_text(path, size, done.stdout.decode())
    if done.returncode >= 0 and done.returncode != parquet_process.REFUSED:  # it was read, or was not tried
        return
    told = done.stdout.decode(errors="replace") if done.returncode >= 0 else "a value is damaged"
    kind, _, what = told.partition(":")
    if kind == "columns":
        raise too_wide(path, int(what))
    if kind == "rows":
        rows, columns = map(int, what.split(","))
        raise InputError(
            f"{path} claims {rows:,} rows of {columns:,} columns; half of this machine's memory holds "
            f"{most // VALUE:,} values. Keep fewer rows or columns, or write the file again."
        )
    raise InputError(f"{path} is incomplete or not {named(kind_of(str(path)))}: {told:.120}. Write it again.")
