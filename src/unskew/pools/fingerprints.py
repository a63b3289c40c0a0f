"""The files of a pool: found once, and known again by size, time and footer."""

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import polars as pl

from unskew.errors import InputError, StoreError
from unskew.pools.footers import END, footer_length, rows_of_groups

ENDING = ".parquet"


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
    paths = _remote(str(source)) if is_url(str(source)) else _local(str(source))
    found = []
    first: tuple[str, dict[str, Any]] | None = None
    for path in paths:
        try:
            file, footer = _known(path)
            schema = dict(pl.read_parquet_schema(io.BytesIO(b"PAR1" + footer)))
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise _unreadable(path, ValueError("its footer is damaged")) from None
        first = first or (path, schema)
        _check_same(*first, path, schema)
        found.append(file)
    return found


def check_files(files: Sequence[PoolFile]) -> None:
    """Refuse files that are not what they were: a label that is spent on another pool is lost."""
    for file in files:
        try:
            known, _ = _known(file.path)
        except FileNotFoundError:
            raise StoreError(f"{file.path} is gone, and the campaign began with it. Restore it from a copy.") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{file.path} cannot be read: {_reason(error)}. Restore it from a copy.") from None
        for what in ("size", "footer", "modified"):
            if getattr(known, what) != getattr(file, what):
                raise StoreError(
                    f"{file.path} is not the file the campaign began with: its {CHANGED[what]} is another. "
                    "Restore it from a copy."
                )


CHANGED = {"size": "size", "footer": "footer", "modified": "time of change"}
"""What differs, in words."""


def is_url(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder.

    >>> is_url("s3://bucket/pool"), is_url("/data/pool")
    (True, False)
    """
    return "://" in path


def _local(source: str) -> list[str]:
    path = Path(os.path.abspath(source))
    try:
        if path.is_dir():
            found, where = [one for one in path.rglob("*") if _is_data(one.relative_to(path).parts)], f"folder {source}"
            if not found and not any(path.iterdir()):
                raise InputError(f"the folder {source} is empty. Name a folder of {ENDING} files.")
        elif path.exists():
            return [str(path)]
        elif any(letter in source for letter in "*?["):
            found, where = list(_glob(path)), f"pattern {source}"
        else:
            raise InputError(f"there is no file or folder {source!r}. Check the name, and the folder you are in.")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _unreadable(source, error) from None
    if not found:
        raise InputError(f"the {where} has no file that ends in {ENDING}. Name others, or convert them to Parquet.")
    return sorted(map(str, found))


def _glob(path: Path) -> Iterator[Path]:
    base = Path(path.anchor)
    return (one for one in base.glob(str(path.relative_to(base))) if one.name.lower().endswith(ENDING))


def _is_data(parts: Sequence[str]) -> bool:
    return parts[-1].lower().endswith(ENDING) and not any(part.startswith((".", "_")) for part in parts)


def _remote(source: str) -> list[str]:
    from unskew.pools.remote import listed

    return listed(source, ENDING, _is_data)


def _known(path: str) -> tuple[PoolFile, bytes]:
    """A file as it is now, and the bytes of its footer with what ends the file."""
    with _opened(path) as (file, size, modified):
        file.seek(max(size - END, 0))
        end = file.read(END)
        length = footer_length(end)
        if length + END + 4 > size:
            raise ValueError("its footer is damaged")
        file.seek(size - END - length)
        footer = file.read(length)
    groups = rows_of_groups(footer)
    digest = hashlib.sha256(footer).hexdigest()
    return PoolFile(path, size, modified, sum(groups), groups, digest), footer + end


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], int, int]]:
    if is_url(path):
        from unskew.pools.remote import opened

        with opened(path) as found:
            yield found
        return
    with open(path, "rb") as file:
        told = os.fstat(file.fileno())
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


def _unreadable(path: str, error: Exception) -> InputError:
    if isinstance(error, ValueError):
        return InputError(f"{path} is incomplete or not a Parquet file: {_reason(error)}. Write it again.")
    return InputError(f"{path} cannot be read: {_reason(error)}. Check its permissions.")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
