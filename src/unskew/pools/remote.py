"""Files on this machine, and any URL that fsspec opens.

Polars itself reads from the large object stores and the web, and fetches only what it needs. Files elsewhere are copied
to a temporary folder by fsspec, once.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from unskew.errors import InputError
from unskew.reading import unreadable, without_waiting

READ_BY_POLARS = {"s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "hf"}


def is_url(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder.

    >>> is_url("s3://bucket/pool"), is_url("/data/pool")
    (True, False)
    """
    return "://" in path


def readable(path: str) -> str:
    """What Polars opens for this path: itself, or a copy on this machine."""
    if not is_url(path) or path.partition("://")[0] in READ_BY_POLARS:
        return path
    copy: str = _fsspec(path).open_local(f"filecache::{path}", filecache={"check_files": True})
    return copy


def listed(source: str, is_data: Callable[[Sequence[str]], bool]) -> tuple[list[str], str]:
    """The URLs of the files that `source` names, and what kind of name it is."""
    system, path = _system(source)
    with _told(source):
        if any(letter in path for letter in "*?["):
            found, kind = [one for one in system.glob(path) if is_data([one.rpartition("/")[2]])], "pattern"
        elif system.isfile(path):
            found, kind = [path], "file"
        else:
            base = path.rstrip("/")
            found = [one for one in system.find(base) if is_data(one.removeprefix(base).strip("/").split("/"))]
            kind = "folder"
        return [system.unstrip_protocol(one) for one in found], kind


@contextmanager
def opening(path: str) -> Iterator[tuple[IO[bytes], int, int]]:
    """A file to read from, its size, and when it was written in nanoseconds, or 0 if that is not known.

    A ValueError says that it is no regular file, which might never end.
    """
    if is_url(path):
        with _opened(path) as told:
            yield told
        return
    with open(path, "rb", opener=without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is a pipe, a device or a socket")
        yield file, found.st_size, found.st_mtime_ns


def size_of(path: str) -> int:
    """The number of bytes of a file, or an InputError."""
    try:
        with opening(path) as (_, size, _):
            return size
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def content_of(path: str, start: int, end: int) -> bytes:
    """Some bytes of a file."""
    if is_url(path):
        system, bare = _system(path)
        with _told(path):
            found: bytes = system.cat_file(bare, start=start, end=end)
            return found
    with opening(path) as (file, *_):
        file.seek(start)
        return file.read(end - start)


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[bytes], int, int]]:
    system, bare = _system(path)
    with _told(path):
        system.invalidate_cache()  # what a store said about the file when it was listed may not hold any more
        size = int(system.info(bare)["size"])
        try:
            modified = int(system.modified(bare).timestamp() * 1e9)
        except (NotImplementedError, AttributeError, KeyError):
            modified = 0
        with system.open(bare, "rb") as file:
            yield file, size, modified


def _system(path: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    with _told(path):
        found: tuple[Any, str] = _fsspec(path).core.url_to_fs(path)
        return found


def _fsspec(path: str) -> Any:
    try:
        import fsspec
    except ImportError:
        raise InputError(f"{path} needs fsspec. Install it with: pip install 'unskew[cluster]'.") from None
    return fsspec


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Every store has errors of its own; they become one that names the path."""
    try:
        yield
    except (FileNotFoundError, PermissionError, InputError):
        raise
    except ImportError as error:
        raise InputError(f"{path} needs another package: {error}.") from None
    except ValueError as error:  # an unknown scheme, or what the footer is refused for
        raise ValueError(str(error)) from None
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {' '.join(str(error).split())[:120]}") from None
