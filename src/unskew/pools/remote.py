"""Files on this machine, and in the stores elsewhere that Polars reads: object stores and the web.

No other address is opened, and none that is a chain of several: some file systems of fsspec run
code that a server sends, and others lead on to any address.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any
from unicodedata import category
from urllib.parse import unquote

from unskew.errors import InputError
from unskew.reading import unreadable, without_waiting

AZURE = ("az", "azure", "adl", "abfs", "abfss")
STORES = ("s3", "s3a", "gs", "gcs", *AZURE, "http", "https", "hf")
"""How addresses that are opened begin. Polars reads all of them, and fetches only what it needs."""

_ADDRESS = re.compile(r"([a-z0-9]+)://([a-z0-9][a-z0-9._@:-]*)(/.*)?", re.ASCII | re.IGNORECASE)


def is_url(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder.

    >>> is_url("s3://bucket/pool"), is_url("/data/pool")
    (True, False)
    """
    return "://" in path


def can_be_shown(path: str) -> bool:
    r"""Whether a path is text, without control characters and marks that turn what is around them.

    >>> can_be_shown("/data/ét\u3000é.csv"), can_be_shown("/\u202ex"), can_be_shown("\ud800")
    (True, False, False)
    """
    return all(letter.isprintable() or category(letter) == "Zs" for letter in path)


def place_of(url: str) -> str:
    """The store that a URL leads to: a bucket, a container, a server, a Hugging Face repository.

    It is the beginning of the URL, letter by letter. A URL that some program could read in another
    way, and so look elsewhere, is an InputError.

    >>> place_of("s3://bucket/2026/rows.parquet"), place_of("hf://datasets/ann/loans/rows.parquet")
    ('s3://bucket/', 'hf://datasets/ann/loans/')
    >>> place_of("dask://host:8786/x::file:///etc/passwd")
    Traceback (most recent call last):
    unskew.errors.InputError: 'dask://host:8786/x::file:///etc/passwd' cannot be opened: ...
    """
    match = _ADDRESS.fullmatch(url)
    scheme, host, path = match.groups("") if match else ("", "", "")
    plain = scheme in STORES and url.isprintable() and ("@" not in host or scheme in AZURE)
    if not plain or "::" in url or not {".", ".."}.isdisjoint(unquote(path).split("/")):
        raise InputError(
            f"{url!r:.120} cannot be opened: an address begins with s3://, gs://, az://, https:// "
            "or another that Polars reads, names a bucket or host without a password, and has "
            "neither '::' nor '..'. Correct it, or copy the files to this machine."
        )
    repository = path.split("/")[1:3] if scheme == "hf" else []
    return "/".join([f"{scheme}://{host}", *filter(None, repository), ""])


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
        here = place_of(system.unstrip_protocol(path))
        urls = [system.unstrip_protocol(one) for one in found]
    for url in urls:
        if place_of(url) != here:  # a page of a server, for instance, may name others
            raise InputError(f"{source} lists {url!r:.120}, which is elsewhere. Name that itself.")
    return urls, kind


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
    place_of(path)  # before any file system is made
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
