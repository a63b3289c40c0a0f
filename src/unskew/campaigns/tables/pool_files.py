"""A pool whose files stay where they are: the list of them that a campaign keeps, and how their rows are read."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from operator import add, le
from pathlib import Path
from typing import Any, Self

import polars as pl

from unskew.campaigns.consent import agree_to_reach, check_reach
from unskew.campaigns.folder import digest
from unskew.campaigns.tables.encoding import dtype_of
from unskew.campaigns.tables.files import check_columns, check_pool, plain_frame
from unskew.campaigns.tables.id_lengths import check_lengths
from unskew.campaigns.tables.label_columns import Marks
from unskew.errors import InputError, NotAgreed, StoreError
from unskew.pools.files import FilePool, PoolFile, check_ids, find_files
from unskew.pools.fingerprints import MOST_ROWS
from unskew.pools.formats import kind_of, scanned, separator_of
from unskew.pools.ids import bare, shared_ids
from unskew.pools.remote import can_be_shown, is_url, opening, place_of
from unskew.pools.scanning import Progress
from unskew.pools.stretches import Stretch
from unskew.pools.text_files import as_number
from unskew.pools.text_files import columns_of as text_columns
from unskew.pools.trying import try_files
from unskew.rows import Rows
from unskew.writing import put_text

COPIED = 200_000
"""One file of more rows than this stays where it is, and is never read whole. A smaller one is copied into the
campaign's folder."""


def is_many(source: str | Path) -> bool:
    """Whether this names a folder, a glob or a URL, and not one file."""
    text = str(source)
    try:
        return is_url(text) or Path(text).is_dir() or (any(c in text for c in "*?[") and not Path(text).exists())
    except (OSError, ValueError):  # such as a name that is too long
        return False


def files_that_stay(source: object, most: int | None = None) -> list[PoolFile] | None:
    """The files of a table that is a folder, a glob, a URL or one file of more than `most` rows; None for others."""
    most = COPIED if most is None else most
    if not isinstance(source, str | Path):
        return None
    if is_many(source):
        return find_files(source)
    if kind_of(str(source)) is None or not Path(source).is_file():
        return None
    text = separator_of(str(source)) is not None
    if text and not _more_lines(Path(source), most):
        return None
    try:
        files = find_files(source)
    except InputError:  # whoever reads it whole says what is wrong; long text is read here alone
        if text:
            raise
        return None
    return files if files[0].rows > most else None


def _more_lines(path: Path, most: int) -> bool:
    """Whether a file has more lines than that."""
    lines = 0
    try:
        with opening(str(path)) as (file, *_):
            while lines <= most and (block := file.read(1 << 20)):
                lines += block.count(b"\n")
    except (OSError, ValueError):
        return False
    return lines > most


def write_list(path: Path, files: Sequence[PoolFile]) -> None:
    """Write the list of files, which this user named, and remember that for this very list."""
    put_text(path, json.dumps([file._asdict() for file in files], indent=1) + "\n")
    agree_to_reach(_elsewhere(files), digest(path))


def read_list(path: Path) -> list[PoolFile]:
    """The list of files, checked against its digest. The user agreed to where they are."""
    try:
        content = path.read_bytes()
        files = [_listed(path, record) for record in json.loads(content)]
        if len({kind_of(file.path) for file in files}) != 1:
            raise ValueError
        if sum(file.rows for file in files) > MOST_ROWS:
            raise ValueError
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise StoreError(f"{path} is damaged. Restore it from a copy.") from None
    check_reach(_elsewhere(files), hashlib.sha256(content).hexdigest(), "the pool of this campaign")
    return files


def _listed(path: Path, record: dict[str, Any]) -> PoolFile:
    """A file that a list names. Whoever wrote the list may have meant harm."""
    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
    file = PoolFile(**(record | lists))
    texts = (file.path, file.footer, file.sha256)
    numbers = (file.size, file.rows, *file.groups, *file.edges)
    whole = (
        all(isinstance(text, str) for text in texts)
        and all(type(number) is int for number in (file.modified, *numbers))
        and min(numbers) >= 0
        and sum(file.groups) == file.rows
        and list(file.edges) == sorted(file.edges)
        and len(file.edges) == (0 if separator_of(file.path) is None else len(file.groups) + 1)
        and _fit(file)
    )
    if not whole or kind_of(file.path) is None:
        raise ValueError
    _check_path(path, file.path)
    return file


def _fit(file: PoolFile) -> bool:
    """Whether parts of a text file are within it, and have no more rows than bytes.

    The last line may lack its end, which is counted all the same.
    """
    if separator_of(file.path) is None:
        return True
    sizes = [end - start for start, end in pairwise(file.edges)]
    return file.edges[-1] <= file.size + 1 and all(map(le, file.groups, sizes))


def _check_path(path: Path, name: str) -> None:
    """Refuse what is neither an absolute path, which is never an address, nor one in a store."""
    if name.startswith("/") and os.path.normpath(name) == name and can_be_shown(name):
        return
    try:
        place_of(name)
    except InputError:
        raise NotAgreed(
            f"{path} names {name!r}, which is neither a whole path on this machine nor in a "
            "store that a pool may be in. Restore it from a copy, or ask whoever made the folder."
        ) from None


def _elsewhere(files: Sequence[PoolFile]) -> set[str]:
    """The stores elsewhere that files are in."""
    return {place_of(file.path) for file in files if is_url(file.path)}


@dataclass(frozen=True)
class AsInLog:
    """Makes of rows of a file what `check_pool` makes of a pool that is read whole. It is sent to other processes."""

    log: pl.DataFrame
    """One row with a value of each column of the log, as far as it has one."""
    label: str
    propensity: str | None
    id: str | None
    written: bool = False
    """Whether rows come from text files: then all that is in them is text."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types of columns in all rows, which some rows of text alone do not tell."""
    given: Mapping[str, str] = field(default_factory=dict)
    """What columns hold, whatever they look like (`given_types`)."""

    @classmethod
    def of(
        cls,
        log: pl.DataFrame,
        label: str,
        propensity: str | None,
        id: str | None,
        files: Sequence[PoolFile] | None = None,
        types: Mapping[str, str] | None = None,
        given: Mapping[str, str] | None = None,
    ) -> Self:
        written = files is not None and separator_of(files[0].path) is not None
        row = log.select(pl.all().drop_nulls().first())
        return cls(row, label, propensity, id, written, types or {}, given or {})

    def only(self, columns: Sequence[str]) -> "Trusted":
        """The same for some of the log's columns, of rows that were checked before."""
        log = self.log.select(columns)
        return Trusted(log, self.label, self.propensity, None, self.written, self.types, self.given)

    def __call__(self, raw: pl.DataFrame, path: str = "the pool", first: int = 0) -> pl.DataFrame:
        """The plain rows; messages name the file, and the row in it."""
        text = [name for name, kind in self.log.schema.items() if kind == pl.String]
        text += [] if self.id is None else [self.id]
        raw = raw.select(name for name in raw.columns if name in self.log.columns or name == self.id)

        def where(row: int) -> str:
            return f"row {first + row + 1}"

        text += [name for name in self.log.columns if self.log[name].null_count()]  # nobody knows what they hold
        plain = plain_frame(path, raw, text, where, self.given)
        frame = check_pool(self.log, plain, self.label, self.propensity, self.id, first=first)
        known = [name for name in self.types if name in frame.columns and raw.schema[name] == pl.String]
        return frame.with_columns(frame[name].cast(dtype_of(self.types[name])) for name in known)


class Trusted(AsInLog):
    """The same for rows that were checked before: numbers, of which there may be very many, are not checked again."""

    def __call__(self, raw: pl.DataFrame, path: str = "the pool", first: int = 0) -> pl.DataFrame:
        log, kinds = self.log, raw.schema  # which takes long to make
        numbers = [name for name, kind in log.schema.items() if kind.is_numeric()]
        if self.written:
            frame = raw.select(as_number(raw[name]).fill_nan(None) for name in numbers)
        else:
            numbers = [name for name in numbers if kinds[name].is_numeric()]
            frame = raw.select(pl.col(numbers).cast(pl.Float64).fill_nan(None))
        others = [name for name in log.columns if name not in numbers]
        if others:
            read = AsInLog(log.select(others), self.label, self.propensity, self.id, self.written, {}, self.given)
            frame = frame.hstack(read(raw, path, first))
        return frame.select(log.columns)


def columns_of(files: Sequence[PoolFile]) -> list[str]:
    """The names of the columns, which all files share. Together, the files must have a row."""
    if not sum(file.rows for file in files):
        raise InputError(f"{files[0].path} has no rows, and no other file has. At least one row is needed.")
    path, separator = files[0].path, separator_of(files[0].path)
    if separator is not None:
        return text_columns(path, separator, files[0].edges[0])
    return scanned(path, kind_of(path)).collect_schema().names()


def check_files_of_pool(
    files: Sequence[PoolFile],
    reader: AsInLog,
    progress: Progress | None = None,
    *,
    policy: str | None = None,
    labels: bool = True,
    not_in: pl.Series | None = None,
) -> tuple[pl.DataFrame, int]:
    """Look at every row of a new pool, and refuse one that cannot be used. Returns a row as it will be read.

    A column `policy` is left out. If `labels` matter, files that hold some are refused: they would be bought again. The
    number of rows with an id in `not_in` is returned too.
    """
    columns = [name for name in columns_of(files) if name != policy]
    check_columns(reader.log, columns, reader.label, reader.propensity, reader.id)
    kept = [name for name in columns if name != reader.label]
    pool = FilePool(files, reader, no_features, columns=kept, id=reader.id)
    pool.progress = progress
    try_files(pool)
    if labels and reader.label in columns:
        _check_unlabelled(files, reader.label, pool)
    found: pl.DataFrame = pool.scan_stretches(partial(_checked, reader, kept), _first)
    check_ids(pool)
    return found, 0 if not_in is None else shared_ids(pool, not_in)


def _check_unlabelled(files: Sequence[PoolFile], label: str, pool: FilePool) -> None:
    """Refuse files with labels. Few rows of a pool in files are held, and all with a label would have to be."""
    known = labels_in_files(pool, label)
    if known:
        raise InputError(
            f"{known:,} of the {sum(file.rows for file in files):,} rows of the pool have a label in {label!r}, and a "
            "pool that stays in its files cannot bring labels. Give these rows as a log and not in the pool, or pass "
            "--pool-labels ignore, and they may be asked for again."
        )


def labels_in_files(pool: FilePool, label: str) -> int:
    """The number of rows of a pool in files that have a label."""
    return int(pool.scan_stretches(partial(_labels, label), add))


def _labels(label: str, stretch: Stretch) -> int:
    """The number of rows of a stretch with a label."""
    column = stretch.raw([label])[label]
    if column.dtype.is_float():
        return int(column.fill_nan(None).count())
    return int(Marks(label)(bare(column)).count())


def sample_of(
    files: Sequence[PoolFile], reader: AsInLog, k: int, id: str | None = None, progress: Progress | None = None
) -> tuple[pl.DataFrame, int]:
    """An even sample of k rows of a pool that is not looked at otherwise, without `id`; and its number of rows."""
    columns = [name for name in columns_of(files) if name != id]
    check_columns(reader.log, columns, reader.label, reader.propensity, None)
    pool = FilePool(files, reader, no_features, columns=[name for name in columns if name != reader.label])
    pool.progress = progress
    try_files(pool)
    return pool.frame(pool.sample(k)), len(pool)


def _checked(reader: AsInLog, columns: Sequence[str], stretch: Stretch) -> pl.DataFrame:
    """The first row of a stretch, all of which can be used."""
    try:
        frame = reader(stretch.raw(columns), stretch.path, stretch.first)
        if reader.id is not None:
            check_lengths(frame[reader.id], reader.id, stretch.path, stretch.first)
        return frame[:1]
    except InputError as error:
        told = str(error)
        raise InputError(told if stretch.path in told else f"{stretch.path}: {told}") from None


def _first(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """One of two rows. Its types fit both: whole numbers in some rows of a text file may be others elsewhere."""
    return pl.concat([one, other], how="vertical_relaxed")[:1]


def as_it_is(raw: pl.DataFrame) -> pl.DataFrame:
    """For files whose rows are not looked at."""
    return raw


def no_features(frame: pl.DataFrame) -> Rows:
    """For files whose rows are not learned from."""
    raise NotImplementedError
