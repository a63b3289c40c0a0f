"""A table block by block, so that the memory it takes does not grow with the file."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from unskew.campaigns.tables import parquet
from unskew.campaigns.tables.files import SEPARATORS, ending, plain_frame, read_text
from unskew.campaigns.tables.pool_files import as_it_is, columns_of, is_many, no_features
from unskew.csv_text import content, separator_in
from unskew.errors import InputError
from unskew.pools.files import FilePool, PoolFile, find_files
from unskew.pools.fingerprints import paths_of
from unskew.pools.formats import kind_of, scanned, separator_of
from unskew.pools.remote import size_of
from unskew.pools.stretches import READ, cut
from unskew.pools.text_files import bodies, separator_at
from unskew.pools.trying import try_files

ROWS = READ
"""Rows of a block of a Parquet or Arrow file, at most."""

BYTES = 8_000_000
"""Bytes of a block of a text file, about."""


class Part(NamedTuple):
    """A block that is not read yet."""

    read: Callable[[], pl.DataFrame]
    """May run in another process, if that can open the file."""
    done: int
    """How much of the table has been read after this block, of `total`: rows, or bytes of a text file."""
    total: int


def parts(
    source: str | Path, columns: Collection[str], text: Collection[str], types: Mapping[str, str] | None = None
) -> Iterator[Part]:
    """The blocks of a file as `read_table` takes it, or of a folder or glob of files, in the order of the rows.

    Only these columns are read, as far as they are there, some of them as text, and some as of the types given. The
    type of another column of text is the one that fits all values in the block. Compressed text is unpacked in memory.
    """
    if is_many(source):
        paths = paths_of(source)
        separator = separator_of(paths[0])
        if separator is not None:
            return _texts(paths, separator, columns, text, types)
        return slices(_tried(source, columns), columns, text, types)
    path = Path(source)
    kind = ending(path)
    if kind.endswith(".gz"):
        return _packed(path, SEPARATORS[kind], columns, text, types)
    if kind in SEPARATORS:
        return _texts([str(path)], SEPARATORS[kind], columns, text, types)
    parquet.check_parquet(path, ROWS)
    rows: int = scanned(str(path), kind_of(str(path))).select(pl.len()).collect().item()
    if not rows:
        raise InputError(f"{path} has no rows. It needs at least one row.")
    return slices([file._replace(path=str(path)) for file in find_files(path)], columns, text, types)


def _packed(
    path: Path, separator: str, columns: Collection[str], text: Collection[str], types: Mapping[str, str] | None
) -> Iterator[Part]:
    raw = content(path)
    yield Part(partial(read_text, path, raw, separator_in(raw, separator), text, columns, types=types), 1, 1)


def _tried(source: str | Path, columns: Collection[str]) -> list[PoolFile]:
    """The files that a folder or glob names, none of them damaged."""
    files = find_files(source)
    wanted = [name for name in columns_of(files) if name in columns]
    try_files(FilePool(files, as_it_is, no_features, columns=wanted))
    return files


def slices(
    files: Sequence[PoolFile],
    columns: Collection[str],
    text: Collection[str],
    types: Mapping[str, str] | None = None,
) -> Iterator[Part]:
    """The blocks of Parquet or Arrow files. Where possible they are whole row groups: none is decoded twice."""
    total = sum(file.rows for file in files)
    for stretch in cut(files, len(columns), ROWS):
        read = partial(_slice, stretch.path, stretch.first, stretch.rows, columns, text, types)
        yield Part(read, stretch.place + stretch.rows, total)


def _slice(
    path: str,
    start: int,
    rows: int,
    columns: Collection[str],
    text: Collection[str],
    types: Mapping[str, str] | None,
) -> pl.DataFrame:
    try:
        lazy = scanned(path, kind_of(path))
        wanted = [name for name in lazy.collect_schema().names() if name in columns]
        frame = lazy.select(wanted).slice(start, rows).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{path} cannot be read as a table: {told}. Write it again.") from None
    return plain_frame(path, frame, text, lambda row: f"row {start + row + 1}", types) if wanted else frame


def _texts(
    paths: Sequence[str],
    ending: str,
    columns: Collection[str],
    text: Collection[str],
    types: Mapping[str, str] | None,
) -> Iterator[Part]:
    """The blocks of text files. A file may have a header alone if another has rows."""
    sizes = [size_of(path) for path in paths]
    before, any_row = 0, False
    for path, size in zip(paths, sizes, strict=True):
        separator = separator_at(path, ending)
        for part in bodies(path, separator, BYTES):
            if part.body:
                rows = part.header + part.body
                read = partial(read_text, path, rows, separator, text, columns, part.left_out, types)
                yield Part(read, before + min(part.at + len(part.body), size), sum(sizes))
                any_row = True
        before += size
    if not any_row:
        raise InputError(f"{paths[0]} has column names and no rows. It needs one row a line below them.")
