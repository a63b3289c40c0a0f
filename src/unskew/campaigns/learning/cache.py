"""What takes long to make is kept in a cache, one for each user: nothing that others could have written is loaded.

The name of a file ends in the digest of its content. A file whose content has changed is made again, and so is one that
is missing. All of it can be deleted at any time, also while it is in use.
"""

import hashlib
import io
import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import joblib
import numpy as np
import polars as pl
from platformdirs import user_cache_path

from unskew.campaigns.folder import digest
from unskew.methods.pool import PoolMethod
from unskew.rows import Floats, Ints
from unskew.writing import unwritable

KEPT_MODELS = 3
UNUSED = 30 * 24 * 3600.0
"""Seconds after which the cache of a campaign that nobody worked on is removed."""
HALF_WRITTEN = 3600.0
"""Seconds after which a file that was never finished is taken for what a kill left behind."""


def user_cache() -> Path:
    """The user's own folder for the caches of campaigns. On Linux, XDG_CACHE_HOME moves it."""
    return user_cache_path("unskew") / "campaigns"


class Cache:
    """Arrays, methods and encoders of one campaign; `key` names everything they depend on.

    Methods and encoders are pickled, and reading a pickle runs code. So a folder that others may write to is not used,
    and then nothing is cached.
    """

    def __init__(self, key: str) -> None:
        self.path = user_cache() / key

    def array(self, name: str, shape: tuple[int, ...], make: Callable[[Path], None]) -> Any:
        """A memory-mapped array of that shape; `make` writes it to a path."""
        path = self._find(name, ".npy") or self._keep(name, ".npy", make)
        if path is not None:
            with suppress(OSError, ValueError, EOFError):  # somebody deleted the cache
                found = np.load(path, mmap_mode="r", allow_pickle=False)
                if found.shape == shape:
                    return found
        with TemporaryDirectory() as folder:  # what is mapped stays readable without it
            path = Path(folder, "array.npy")
            try:
                make(path)
            except OSError as error:
                raise unwritable(path, error) from None
            return np.load(path, mmap_mode="r", allow_pickle=False)

    def method(self, name: str, make: Callable[[], PoolMethod]) -> PoolMethod:
        """The cached method, or otherwise the one that `make` returns. Only the latest few are kept."""
        found: PoolMethod = self.pickled(name, PoolMethod, make)
        with suppress(OSError):
            for old in sorted(self.path.glob("model-*.joblib"), key=_age)[:-KEPT_MODELS]:
                old.unlink()
        return found

    def pickled(self, name: str, kind: type, make: Callable[[], Any]) -> Any:
        """The cached object of that kind, or otherwise the one that `make` returns."""
        path = self._find(name, ".joblib")
        found = None if path is None else _unpickled(path, kind)
        if found is None:
            made = found = make()
            self._keep(name, ".joblib", lambda draft: joblib.dump(made, draft))
        return found

    def frame(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The cached frame, or otherwise the one that `make` returns."""
        path = self._find(name, ".parquet")
        if path is not None:
            with suppress(OSError, pl.exceptions.PolarsError):  # somebody deleted the cache
                return pl.read_parquet(path, glob=False)
        made = make()
        self._keep(name, ".parquet", made.write_parquet)
        return made

    def noted(self, name: str) -> bool:
        """Whether `note` was called with this name."""
        return self._ready() and (self.path / name).exists()

    def note(self, name: str) -> None:
        """Remember that something was done."""
        with suppress(OSError):
            if self._ready():
                (self.path / name).touch()

    def _find(self, name: str, end: str) -> Path | None:
        """The file of that name, if its content is what was written."""
        with suppress(OSError):
            for path in self.path.glob(f"{name}.*{end}") if self._ready() else ():
                if path.name == f"{name}.{digest(path)}{end}":
                    return path
                path.unlink()
        return None

    def _keep(self, name: str, end: str, make: Callable[[Path], Any]) -> Path | None:
        """The file of that name, made anew; None if it cannot be written.

        Nothing waits for the disk: a file that a power failure cut short is made again.
        """
        draft = self.path / f".{uuid4().hex}{end}"
        try:
            if self._ready():
                make(draft)
                path = self.path / f"{name}.{digest(draft)}{end}"
                os.replace(draft, path)
                return path
        except OSError:
            pass
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return None

    def _ready(self) -> bool:
        """Whether there is a folder that nobody else may write to. What is long unused is removed."""
        try:
            for folder in (self.path.parent.parent, self.path.parent, self.path):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                found = folder.lstat()
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
                    return False
            os.utime(self.path)
        except OSError:  # no home, or one that cannot be written
            return False
        with suppress(OSError):  # others may remove the same
            for other in self.path.parent.iterdir():
                if _age(other) < time.time() - UNUSED:
                    shutil.rmtree(other, ignore_errors=True)
            for draft in self.path.glob(".*"):
                if _age(draft) < time.time() - HALF_WRITTEN:
                    draft.unlink()
        return True


def save(path: Path, array: Floats | Ints) -> None:
    """Write an array to exactly that path."""
    with open(path, "wb") as file:
        np.save(file, array)


def _age(path: Path) -> float:
    """When it was last written; a path that is gone counts as new."""
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")


def _unpickled(path: Path, kind: type) -> Any:
    """The cached object; None if it is gone, or another version of a library wrote it and this one cannot read it."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() not in path.name:  # the very bytes that are loaded
            return None
        found = joblib.load(io.BytesIO(content))
    except Exception:  # unpickling may raise anything
        return None
    return found if isinstance(found, kind) else None
