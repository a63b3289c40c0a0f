"""What takes long to make is kept in a cache, one for each user: nothing that others could have written is loaded.

The name of a file ends in the digest of its content. A file whose content has changed is made again, and so is one that
is missing. All of it can be deleted at any time, also while it is in use.
"""

import hashlib
import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import polars as pl

from unskew.campaigns.user_cache import UserCache, age
from unskew.methods.pool import PoolMethod
from unskew.rows import Floats, Ints
from unskew.writing import unwritable

KEPT_MODELS = 3


class Cache(UserCache):
    """Arrays, methods and encoders of one campaign; `key` names everything they depend on.

    Methods and encoders are pickled, and reading a pickle runs code. So nothing is cached where others may write.
    """

    def array(self, name: str, shape: tuple[int, ...], make: Callable[[Path], None]) -> Any:
        """A memory-mapped array of that shape; `make` writes it to a path."""
        path = self.find(name, ".npy") or self.keep(name, ".npy", make)
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
            for old in sorted(self.path.glob("model-*.joblib"), key=age)[:-KEPT_MODELS]:
                old.unlink()
        return found

    def pickled(self, name: str, kind: type, make: Callable[[], Any]) -> Any:
        """The cached object of that kind, or otherwise the one that `make` returns."""
        path = self.find(name, ".joblib")
        found = None if path is None else _unpickled(path, kind)
        if found is None:
            made = found = make()
            self.keep(name, ".joblib", lambda draft: joblib.dump(made, draft))
        return found

    def frame(self, name: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The cached frame, or otherwise the one that `make` returns."""
        path = self.find(name, ".parquet")
        if path is not None:
            with suppress(OSError, pl.exceptions.PolarsError):  # somebody deleted the cache
                return pl.read_parquet(path, glob=False)
        made = make()
        self.keep(name, ".parquet", made.write_parquet)
        return made

    def noted(self, name: str) -> bool:
        """Whether `note` was called with this name."""
        return self.ready() and (self.path / name).exists()

    def note(self, name: str) -> None:
        """Remember that something was done."""
        with suppress(OSError):
            if self.ready():
                (self.path / name).touch()


def save(path: Path, array: Floats | Ints) -> None:
    """Write an array to exactly that path."""
    with open(path, "wb") as file:
        np.save(file, array)


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
