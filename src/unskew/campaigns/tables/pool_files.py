"""A pool whose files stay where they are: the list of them that a campaign keeps, and how their rows are read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from unskew.campaigns.tables.files import check_pool, plain_frame
from unskew.errors import InputError, StoreError
from unskew.pools.files import FilePool, PoolFile, find_files
from unskew.rows import Ints, Keys, Rows
from unskew.writing import put_text

COPIED = 1_000_000
"""One file of more rows than this stays where it is. A smaller one is copied into the campaign's folder."""


def files_that_stay(source: object) -> list[PoolFile] | None:
    """The Parquet files of a pool that is a folder, a glob, a URL or one large file; None if the pool is to be copied."""
    if not isinstance(source, str | Path):
        return None
    if "://" in str(source) or Path(source).is_dir() or (any(c in str(source) for c in "*?[") and not _exists(source)):
        return find_files(source)
    if not str(source).lower().endswith(".parquet") or not Path(source).is_file():
        return None
    try:
        files = find_files(source)
    except InputError:  # whoever reads it whole says what is wrong
        return None
    return files if files[0].rows > COPIED else None


def _exists(source: str | Path) -> bool:
    try:
        return Path(source).exists()
    except (OSError, ValueError):
        return False


def write_list(path: Path, files: Sequence[PoolFile]) -> None:
    """Write the list of files."""
    put_text(path, json.dumps([file._asdict() for file in files], indent=1) + "\n")


def read_list(path: Path) -> list[PoolFile]:
    """The list of files, which was checked against its digest."""
    try:
        found = [PoolFile(**{**one, "groups": tuple(one["groups"])}) for one in json.loads(path.read_bytes())]
    except (OSError, ValueError, LookupError, TypeError):
        raise StoreError(f"{path} is damaged. Restore it from a copy.") from None
    return found


@dataclass(frozen=True)
class AsInLog:
    """Makes of rows of a file what `check_pool` makes of a pool that is read whole. It is sent to other processes."""

    log: pl.DataFrame
    """One row with a value of each column of the log, as far as it has one."""
    label: str
    propensity: str | None
    id: str | None

    @classmethod
    def of(cls, log: pl.DataFrame, label: str, propensity: str | None, id: str | None) -> Self:
        return cls(log.select(pl.all().drop_nulls().first()), label, propensity, id)

    def only(self, columns: Sequence[str]) -> "AsInLog":
        """The same for some of the log's columns."""
        return replace(self, log=self.log.select(columns), id=None)

    def __call__(self, raw: pl.DataFrame, path: str = "the pool", first: int = 0) -> pl.DataFrame:
        """The plain rows; messages name the file, and the row in it."""
        text = [name for name, kind in self.log.schema.items() if kind == pl.String]
        text += [] if self.id is None else [self.id]
        frame = plain_frame(path, raw, text, lambda row: f"row {first + row + 1}")
        return check_pool(self.log, frame, self.label, self.propensity, self.id, first=first)


def columns_of(files: Sequence[PoolFile]) -> list[str]:
    """The names of the columns, which all files share."""
    return pl.scan_parquet(files[0].path, glob=False, hive_partitioning=False).collect_schema().names()


def check_rows(files: Sequence[PoolFile], reader: AsInLog) -> pl.DataFrame:
    """Read every row once, and refuse a pool that cannot be used. Returns the first row as it will be read."""
    if not sum(file.rows for file in files):
        raise InputError(f"{files[0].path} has no rows, nor has any other file of the pool. It needs at least one row.")
    pool = FilePool(files, _as_it_is, _no_features, columns=columns_of(files))
    found: pl.DataFrame = pool.scan_frames(_Check(files, reader), _first)
    return found


class _Check:
    """Checks some rows that follow each other in a file."""

    def __init__(self, files: Sequence[PoolFile], reader: AsInLog) -> None:
        self.paths, self.reader = [file.path for file in files], reader
        self.ends = np.cumsum([file.rows for file in files])

    def __call__(self, places: Ints, keys: Keys, raw: pl.DataFrame) -> pl.DataFrame:
        which = int(np.searchsorted(self.ends, places[0], side="right"))
        first = int(places[0]) - (int(self.ends[which - 1]) if which else 0)
        try:
            return self.reader(raw, self.paths[which], first)[:1]
        except InputError as error:
            told = str(error)
            raise InputError(told if self.paths[which] in told else f"{self.paths[which]}: {told}") from None


def _first(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return one


def _as_it_is(raw: pl.DataFrame) -> pl.DataFrame:
    return raw


def _no_features(frame: pl.DataFrame) -> Rows:
    raise NotImplementedError
