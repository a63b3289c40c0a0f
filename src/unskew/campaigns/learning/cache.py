"""What takes long to make and is kept in a campaign's cache folder. All of it can be deleted at any time."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from unskew.methods.pool import PoolMethod
from unskew.rows import Floats
from unskew.writing import put

KEPT_MODELS = 3
HALF_WRITTEN = 3600.0
"""Seconds after which a file that was never finished is taken for what a kill left behind."""


class Cache:
    """Arrays and methods in a folder. A file that is missing, broken or unexpected is made again."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def array(self, name: str, shape: tuple[int, ...], make: Callable[[Path], None]) -> Any:
        """A memory-mapped array of that shape; `make` writes it to a path. Older files named "kind-..." are removed."""
        path = self.path / name
        for attempt in range(2):
            try:
                found = np.load(path, mmap_mode="r")
                if found.shape == shape:
                    return found
            except (OSError, ValueError, EOFError):
                pass
            if not attempt:
                self._put(path, make)
                for old in self.path.glob(f"{name.partition('-')[0]}-*"):
                    if old != path:
                        old.unlink(missing_ok=True)
        raise AssertionError(f"{path} was written and cannot be read")

    def method(self, name: str, make: Callable[[], PoolMethod]) -> PoolMethod:
        """The cached method, or otherwise the one that `make` returns. Only the latest few models are kept."""
        path = self.path / f"{name}.joblib"
        found = _load(path)
        if found is None:
            made = found = make()
            self._put(path, lambda beside: joblib.dump(made, beside))
            old = sorted(self.path.glob("model-*.joblib"), key=_age)[:-KEPT_MODELS]
            half = [file for file in self.path.glob(".*") if _age(file) < time.time() - HALF_WRITTEN]
            for file in (*old, *half):
                file.unlink(missing_ok=True)
        return found

    def _put(self, path: Path, write: Callable[[Path], Any]) -> None:
        self.path.mkdir(exist_ok=True)
        put(path, write)


def save(path: Path, array: Floats) -> None:
    """Write an array to exactly that path."""
    with open(path, "wb") as file:
        np.save(file, array)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process removed it
        return 0.0


def _load(path: Path) -> PoolMethod | None:
    """The cached method; None if the file is missing, broken or from another version."""
    if not path.exists():
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = joblib.load(path)
    except Exception:  # unpickling may raise anything
        return None
    return found if isinstance(found, PoolMethod) else None
