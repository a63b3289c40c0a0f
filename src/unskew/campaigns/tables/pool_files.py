"""A pool whose files stay where they are: the list of them that a campaign keeps, and how their rows are read."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import polars as pl

from unskew.campaigns.tables.files import check_columns, check_pool, plain_frame
from unskew.errors import InputError, StoreError
from unskew.pools.files import FilePool, PoolFile, check_ids, find_files
from unskew.pools.remote import is_url, readable
from unskew.pools.scanning import Progress
from unskew.pools.stretches import Stretch
from unskew.pools.trying import try_files
from unskew.rows import Rows
from unskew.writing import put_text

COPIED = 50_000
"""One file of more rows than this stays where it is, and is never read whole. A smaller one is copied into the
campaign's folder."""


def is_many(source: str | Path) -> bool:
    """Whether this names a folder, a glob or a URL, and not one file."""
    text = str(source)
    try:
        return is_url(text) or Path(text).is_dir() or (any(c in text for c in "*?[") and not Path(text).exists())
    except (OSError, ValueError):  # such as a name that is too long
        return False


def files_that_stay(source: object) -> list[PoolFile] | None:
    """The files of a pool that is a folder, a glob, a URL or one large Parquet file; None if it is to be copied."""
    if not isinstance(source, str | Path):
        return None
    if is_many(source):
        return find_files(source)
    if not str(source).lower().endswith(".parquet") or not Path(source).is_file():
        return None
    try:
        files = find_files(source)
    except InputError:  # whoever reads it whole says what is wrong
        return None
    return files if files[0].rows > COPIED else None


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

    def only(self, columns: Sequence[str]) -> "Trusted":
        """The same for some of the log's columns, of rows that were checked before."""
        return Trusted(self.log.select(columns), self.label, self.propensity, None)

    def __call__(self, raw: pl.DataFrame, path: str = "the pool", first: int = 0) -> pl.DataFrame:
        """The plain rows; messages name the file, and the row in it."""
        text = [name for name, kind in self.log.schema.items() if kind == pl.String]
        text += [] if self.id is None else [self.id]
        raw = raw.select(name for name in raw.columns if name in self.log.columns or name == self.id)
        frame = plain_frame(path, raw, text, lambda row: f"row {first + row + 1}")
        return check_pool(self.log, frame, self.label, self.propensity, self.id, first=first)


class Trusted(AsInLog):
    """The same for rows that were checked before: numbers, of which there may be very many, are not checked again."""

    def __call__(self, raw: pl.DataFrame, path: str = "the pool", first: int = 0) -> pl.DataFrame:
        log, kinds = self.log, raw.schema  # which takes long to make
        numbers = [name for name, kind in log.schema.items() if kind.is_numeric() and kinds[name].is_numeric()]
        frame = raw.select(pl.col(numbers).cast(pl.Float64).fill_nan(None))
        others = [name for name in log.columns if name not in numbers]
        if others:
            read = AsInLog(log.select(others), self.label, self.propensity, self.id)
            frame = frame.hstack(read(raw, path, first))
        return frame.select(log.columns)


def columns_of(files: Sequence[PoolFile]) -> list[str]:
    """The names of the columns, which all files share. Together, the files must have a row."""
    if not sum(file.rows for file in files):
        raise InputError(f"{files[0].path} has no rows, and no other file has. At least one row is needed.")
    lazy = pl.scan_parquet(readable(files[0].path), glob=False, hive_partitioning=False)
    return lazy.collect_schema().names()


def check_files_of_pool(files: Sequence[PoolFile], reader: AsInLog, progress: Progress | None = None) -> pl.DataFrame:
    """Look at every row of a new pool, and refuse one that cannot be used. Returns a row as it will be read."""
    columns = columns_of(files)
    check_columns(reader.log, columns, reader.label, reader.propensity, reader.id)
    kept = [name for name in columns if name != reader.label]
    pool = FilePool(files, reader, no_features, columns=kept, id=reader.id)
    pool.progress = progress
    try_files(pool)
    found: pl.DataFrame = pool.scan_stretches(partial(_checked, reader, kept), _first)
    check_ids(pool)
    return found


def _checked(reader: AsInLog, columns: Sequence[str], stretch: Stretch) -> pl.DataFrame:
    """The first row of a stretch, all of which can be used."""
    try:
        return reader(stretch.raw(columns), stretch.path, stretch.first)[:1]
    except InputError as error:
        told = str(error)
        raise InputError(told if stretch.path in told else f"{stretch.path}: {told}") from None


def _first(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return one


def as_it_is(raw: pl.DataFrame) -> pl.DataFrame:
    """For files whose rows are not looked at."""
    return raw


def no_features(frame: pl.DataFrame) -> Rows:
    """For files whose rows are not learned from."""
    raise NotImplementedError
