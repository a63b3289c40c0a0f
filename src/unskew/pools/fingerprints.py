"""The files of a pool: found once, and known again by size, time and footer."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from operator import add
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import polars as pl

from unskew.errors import InputError, StoreError
from unskew.pools.formats import KINDS, PACKED, PARQUET, footer_of, groups_of, kind_of, named, schema_of, separator_of
from unskew.pools.remote import can_be_shown, is_url, listed, opening
from unskew.pools.scanning import spread
from unskew.pools.text_files import index

S = TypeVar("S")
T = TypeVar("T")

ENDINGS = f"{', '.join([*KINDS][:-1])} or {[*KINDS][-1]}"

OPEN = 16
"""Files whose footers are read at the same time."""

MOST_ROWS = 10_000_000_000
"""Rows that a pool may have. Whoever writes a list of files, or a footer, can claim any number."""

_COMPARED: set["PoolFile"] = set()
"""Files whose row groups are those in their footers, as this process saw. To read them from large
footers takes long; digests of footers are compared each time."""


class PoolFile(NamedTuple):
    """A file of a pool, as it was when the pool was found."""

    path: str
    """Its absolute path, or its URL."""
    size: int
    modified: int
    """When it was written, in nanoseconds; 0 if that is not known."""
    rows: int
    groups: tuple[int, ...]
    """The rows of each row group, of each record batch of an Arrow file, or of each part of a text file."""
    footer: str
    """The SHA-256 of its footer, which says where everything in it is, or of the edges of a text file."""
    edges: tuple[int, ...] = ()
    """The bytes of a text file where its header and each of its parts end."""
    sha256: str = ""
    """The SHA-256 of all its bytes, if that was asked for."""


def find_files(source: str | Path) -> list[PoolFile]:
    """The files that `source` names, in the order of their paths: a file, a folder, a glob or a URL.

    Of a folder, all files that end in .parquet, .arrow, .feather, .csv or .tsv, in folders in it too, but none whose
    name, or the name of whose folder, begins with a dot or an underscore: such files are not data. All files must be of
    one kind, and have the same columns. Text files are read and checked, to note where their records begin.
    """
    paths = paths_of(source)
    if separator_of(paths[0]) is None:
        found = _each(_found, paths)
    else:
        found = sorted(spread(_indexed, ((1, path) for path in paths), add))
    for file, schema in found:
        _check_same(paths[0], found[0][1], file.path, schema)
    rows = sum(file.rows for file, _ in found)
    if not rows:
        raise InputError(f"{str(source)!r} has no rows. It needs at least one.")
    if rows > MOST_ROWS:
        most = f"the most is {MOST_ROWS:,}. Name fewer files, or write them again."
        raise InputError(f"{str(source)!r} claims {rows:,} rows; {most}")
    return [file for file, _ in found]


def paths_of(source: str | Path) -> list[str]:
    """The paths of the files that `source` names, in order. They are of one kind."""
    paths = _paths(str(source))
    for path in paths:
        if not can_be_shown(path):
            raise InputError(f"{path!r} has a control character or half a character. Rename it.")
        if path.lower().endswith(PACKED):
            raise InputError(f"{path} is packed, so no row in it can be found alone. Unpack it: gunzip {path}")
        if kind_of(path) is None:
            raise InputError(f"{path} must end in {ENDINGS}. Convert or rename it.")
        if kind_of(path) != kind_of(paths[0]):
            raise InputError(
                f"all files must be of one kind; {paths[0]} is {kind_of(paths[0])} and {path} is "
                f"{kind_of(path)}. Convert some, or name one kind with a pattern, such as '*{Path(paths[0]).suffix}'."
            )
    return paths


Found = tuple[PoolFile, dict[str, Any]]
"""A file, and its columns with their types."""


def _found(path: str) -> Found:
    kind = kind_of(path) or PARQUET
    try:
        with opening(path) as (file, size, modified):
            footer = footer_of(kind, file, size)
            groups, schema = groups_of(kind, file, size, footer), schema_of(kind, footer)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}. Check its permissions.") from None
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = _reason(error) if isinstance(error, ValueError) else "its footer is damaged"
        raise InputError(f"{path} is incomplete or not {named(kind)}: {told}. Write it again.") from None
    return PoolFile(path, size, modified, sum(groups), groups, _digest(footer)), schema


def _indexed(path: str) -> list[Found]:
    """A text file, all of which is read. It may be read on another machine."""
    separator = separator_of(path) or ","
    try:
        found = index(path, separator)
        size, modified, edges = _told(path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}. Check its permissions.") from None
    except ValueError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}. Write it again.") from None
    file = PoolFile(path, size, modified, sum(found.groups), found.groups, _digest(edges), found.edges)
    return [(file, dict.fromkeys(found.columns, pl.String))]


def check_files(files: Sequence[PoolFile]) -> None:
    """Refuse files that are not what they were: a label that is spent on another pool is lost."""
    _each(_check, files)


def _check(file: PoolFile) -> None:
    try:
        with opening(file.path) as (opened, size, modified):
            same = _is_same(file, opened, size)
    except FileNotFoundError:
        raise StoreError(f"{file.path} is gone, and the campaign began with it. Restore it from a copy.") from None
    except OSError as error:
        raise StoreError(f"{file.path} cannot be read: {_reason(error)}. Check its permissions.") from None
    except ValueError as error:
        raise StoreError(f"{file.path} cannot be read: {_reason(error)}. Restore it from a copy.") from None
    if not same:
        raise StoreError(f"{file.path} is not the file the campaign began with. Restore it from a copy.")
    if modified != file.modified:
        raise StoreError(
            f"{file.path} is not the file the campaign began with: it was written at another time. "
            "Restore it from a copy, with its time (cp -p)."
        )


def _is_same(file: PoolFile, opened: IO[bytes], size: int) -> bool:
    """Whether an opened file has the size, the footer and the row groups of a list.

    The parts of a text file are checked against its size when a list is read, and when they are.
    """
    kind = kind_of(file.path) or PARQUET
    footer = footer_of(kind, opened, size)
    if size != file.size or _digest(footer) != file.footer:
        return False
    if file in _COMPARED or separator_of(file.path) is not None:
        return True
    if groups_of(kind, opened, size, footer) != file.groups:
        return False
    _COMPARED.add(file)
    return True


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
        raise InputError(f"the {kind} {source!r} has no file that ends in {ENDINGS}. Name others, or convert them.")
    return sorted(found)


def _local(source: str) -> tuple[list[str], str]:
    path = Path(os.path.abspath(source))
    if path.is_dir():
        if not any(path.iterdir()):
            raise InputError(f"the folder {source!r} is empty. Name a folder of {ENDINGS} files.")
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
    name = parts[-1].lower()
    return name.endswith((*KINDS, *PACKED)) and not any(part.startswith((".", "_")) for part in parts)


def _told(path: str) -> tuple[int, int, bytes]:
    """The size of a file, when it was written, and its footer."""
    with opening(path) as (file, size, modified):
        return size, modified, footer_of(kind_of(path) or PARQUET, file, size)


def _digest(footer: bytes) -> str:
    return hashlib.sha256(footer).hexdigest()


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
                f"all files must have the same columns; of {name!r}, {' and '.join(told)}. "
                "Write the files again, or name those that agree."
            )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
