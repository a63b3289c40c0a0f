"""The files of a pool: found once, and known again by size, time and footer."""

import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import polars as pl

from unskew.errors import InputError, StoreError
from unskew.pools.footers import END, footer_length, rows_of_groups
from unskew.pools.remote import is_url, listed, opened
from unskew.reading import without_waiting

S = TypeVar("S")
T = TypeVar("T")

ENDING = ".parquet"

OPEN = 16
"""Files whose footers are read at the same time."""


class PoolFile(NamedTuple):
    """A Parquet file of a pool, as it was when the pool was found."""

    path: str
    """Its absolute path, or its URL."""
    size: int
    modified: int
    """When it was written, in nanoseconds; 0 if that is not known."""
    rows: int
    groups: tuple[int, ...]
    """The rows of each row group."""
    footer: str
    """The SHA-256 of its footer, which holds the place, size and range of every column of every row group."""


def find_files(source: str | Path) -> list[PoolFile]:
    """The Parquet files that `source` names, in the order of their paths: a file, a folder, a glob or a URL.

    Of a folder, all files that end in .parquet, in folders in it too, but none whose name, or the name of whose folder,
    begins with a dot or an underscore: such files are not data. All files must have the same columns.
    """
    paths = _paths(str(source))
    found, schemas = zip(*_each(_found, paths), strict=True)
    for path, schema in zip(paths, schemas, strict=True):
        _check_same(paths[0], schemas[0], path, schema)
    if not any(file.rows for file in found):
        raise InputError(f"the pool {str(source)!r} has no rows. It needs at least one.")
    return list(found)


def _found(path: str) -> tuple[PoolFile, dict[str, Any]]:
    """A file, and its columns with their types."""
    try:
        size, modified, footer = _told(path)
        groups = rows_of_groups(footer[:-END])
        schema = dict(pl.read_parquet_schema(io.BytesIO(b"PAR1" + footer)))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}. Check its permissions.") from None
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = _reason(error) if isinstance(error, ValueError) else "its footer is damaged"
        raise InputError(f"{path} is incomplete or not a Parquet file: {told}. Write it again.") from None
    return PoolFile(path, size, modified, sum(groups), groups, _digest(footer)), schema


def check_files(files: Sequence[PoolFile]) -> None:
    """Refuse files that are not what they were: a label that is spent on another pool is lost."""
    _each(_check, files)


def _check(file: PoolFile) -> None:
    try:
        size, modified, footer = _told(file.path)
    except FileNotFoundError:
        raise StoreError(f"{file.path} is gone, and the campaign began with it. Restore it from a copy.") from None
    except OSError as error:
        raise StoreError(f"{file.path} cannot be read: {_reason(error)}. Check its permissions.") from None
    except ValueError as error:
        raise StoreError(f"{file.path} cannot be read: {_reason(error)}. Restore it from a copy.") from None
    if size != file.size or _digest(footer) != file.footer:
        raise StoreError(f"{file.path} is not the file the campaign began with. Restore it from a copy.")
    if modified != file.modified:
        raise StoreError(
            f"{file.path} is not the file the campaign began with: it was written at another time. "
            "Restore it from a copy, with its time (cp -p)."
        )


def _each(run: Callable[[S], T], items: Sequence[S]) -> list[T]:
    """What `run` makes of each, many at a time, since each waits for a disk or a network. The first error is raised."""
    with ThreadPoolExecutor(OPEN) as pool:
        return list(pool.map(run, items))


def _paths(source: str) -> list[str]:
    """The files that `source` names, in order."""
    source = source.removeprefix("file://")
    try:
        found, kind = listed(source, _is_data) if is_url(source) else _local(source)
    except InputError:
        raise
    except FileNotFoundError:
        found, kind = [], "file"
    except (OSError, ValueError) as error:
        where = getattr(error, "filename", None) or source
        raise InputError(f"{where} cannot be read: {_reason(error)}. Check the name and its permissions.") from None
    if not found and kind == "file":
        raise InputError(f"there is no file or folder {source!r}. Check the name, and the folder you are in.")
    if not found:
        raise InputError(f"the {kind} {source!r} has no file that ends in {ENDING}. Name others, or convert them.")
    return sorted(found)


def _local(source: str) -> tuple[list[str], str]:
    path = Path(os.path.abspath(source))
    if path.is_dir():
        if not any(path.iterdir()):
            raise InputError(f"the folder {source!r} is empty. Name a folder of {ENDING} files.")
        found = [Path(folder, name) for folder, _, names in os.walk(path, onerror=_raise) for name in names]
        return [str(one) for one in found if _is_data(one.relative_to(path).parts)], "folder"
    if any(letter in source for letter in "*?[") and not path.exists():
        return [one for one in glob(str(path), recursive=True) if _is_data([Path(one).name])], "pattern"
    os.stat(path)  # an error, if it is not there
    return [str(path)], "file"


def _raise(error: OSError) -> None:
    """A folder that cannot be read must not look like an empty one."""
    raise error


def _is_data(parts: Sequence[str]) -> bool:
    return parts[-1].lower().endswith(ENDING) and not any(part.startswith((".", "_")) for part in parts)


def _told(path: str) -> tuple[int, int, bytes]:
    """The size of a file, when it was written, and the bytes of its footer with what ends the file."""
    with opened(path) if is_url(path) else _opened(path) as (file, size, modified):
        file.seek(max(size - END, 0))
        end = file.read(END)
        length = footer_length(end)
        if length + END > size:
            raise ValueError("its footer is damaged")
        file.seek(size - END - length)
        return size, modified, file.read(length) + end


def _digest(footer: bytes) -> str:
    return hashlib.sha256(footer).hexdigest()


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], int, int]]:
    """A regular file to read from, its size, and when it was written in nanoseconds."""
    with open(path, "rb", opener=without_waiting) as file:
        told = os.fstat(file.fileno())
        if not stat.S_ISREG(told.st_mode):
            raise ValueError("it is a pipe, a device or a socket")
        yield file, told.st_size, told.st_mtime_ns


def _check_same(one: str, expected: dict[str, Any], other: str, schema: dict[str, Any]) -> None:
    """Refuse files whose columns differ, by name or type. Their order does not matter."""
    for name in [*expected, *schema]:
        here, there = expected.get(name), schema.get(name)
        if here != there:
            told = [
                f"{path} has {'no such column' if kind is None else kind}"
                for path, kind in ((one, here), (other, there))
            ]
            raise InputError(
                f"all files of a pool must have the same columns; of {name!r}, {' and '.join(told)}. "
                "Write the files again, or name those that agree."
            )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
