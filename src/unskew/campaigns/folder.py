"""The folder of a campaign: which file is what, each of them whole or not there."""

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
from sqlalchemy.engine import URL

from unskew.errors import InputError, StoreError

LAYOUT = 1


class Folder:
    """Paths inside a campaign's folder. It is one once `campaign.json`, written last, is there."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.marker = self.path / "campaign.json"
        self.log = self.path / "log.parquet"
        self.pool = self.path / "pool.parquet"
        self.ledger = self.path / "ledger.sqlite"
        self.cache = self.path / "cache"
        self.unfinished = self.path / ".unfinished"

    def url(self, store: str | None) -> str | URL:
        """Where the ledger is."""
        return URL.create("sqlite", database=str(self.ledger.absolute())) if store is None else store

    def check_free(self) -> None:
        """Refuse a folder in which making a campaign would replace something."""
        if self.marker.exists():
            raise InputError(f"{self.path} holds a campaign already. Choose another folder, or go on with that one.")
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file. Name a folder.")
        if not self.unfinished.exists():
            for path in (self.log, self.pool, self.ledger, self.cache):
                if path.exists():
                    raise InputError(f"{path} exists, and a campaign would replace it. Choose another folder.")

    @contextmanager
    def making(self) -> Iterator[None]:
        """While a campaign is made. Should that fail, all is as it was; what a kill left behind goes the next time."""
        self.check_free()
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            mark = open(self.unfinished, "w")  # noqa: SIM115  # closed below; it is the lock
        except OSError as error:
            _remove(made)
            raise _unwritable(self.path, error) from None
        with mark:
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"a campaign is being made in {self.path}. Wait, or choose another folder.") from None
            self.check_free()  # again: another process may just have finished
            try:
                self._clear()
                self.cache.mkdir()
                yield
                self.unfinished.unlink()
            except BaseException:
                self._clear()
                self.unfinished.unlink(missing_ok=True)
                _remove(made)
                raise

    def _clear(self) -> None:
        """Remove everything a campaign consists of, and files that were half written."""
        for path in (self.marker, self.log, self.pool, self.ledger):
            for part in (path, *self.path.glob(f".{path.name}.*")):
                part.unlink(missing_ok=True)
        for end in ("-wal", "-shm"):
            self.ledger.with_name(self.ledger.name + end).unlink(missing_ok=True)
        shutil.rmtree(self.cache, ignore_errors=True)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """One plan at a time on this machine: a second one would mostly be thrown away. A kill lets go of it."""
        self.cache.mkdir(exist_ok=True)
        with open(self.cache / "planning.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def identify(self) -> dict[str, Any]:
        """What `campaign.json` says: the campaign's id, and the store if it is not the file beside."""
        try:
            said = json.loads(self.marker.read_text())
            if set(said) >= {"campaign", "store"}:
                return dict(said)
        except NotADirectoryError:
            raise InputError(f"{self.path} is a file and holds no campaign. Name the campaign's folder.") from None
        except FileNotFoundError:
            raise InputError(
                f"{self.path} holds no campaign. Make one with `unskew start`, or check the name."
            ) from None
        except OSError as error:
            raise StoreError(f"{self.marker} cannot be read: {error.strerror}. Check its permissions.") from None
        except (ValueError, TypeError):
            pass
        raise StoreError(f"{self.marker} is not what was written there. Restore it from a copy.")

    def finish(self, campaign: str, store: str | None) -> None:
        """From now on this is a campaign. A store's address may hold a password: the file is for its owner alone."""

        def write(path: Path) -> None:
            path.touch(mode=0o600)
            path.write_text(json.dumps({"layout": LAYOUT, "campaign": campaign, "store": store}) + "\n")

        put(self.marker, write)

    def read(self, path: Path, sha256: str) -> pl.DataFrame:
        """The frame in a file that must still be, to the bit, the one the campaign began with."""
        try:
            frame = pl.read_parquet(path)
            if self._digest(path) != sha256:
                raise StoreError(f"{path} is not the file the campaign began with. Restore it from a copy.")
            return frame
        except FileNotFoundError:
            raise StoreError(f"{path} is missing. Copy it from where the campaign was made.") from None
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(f"{path} cannot be read: {error}. Check the disk and its permissions.") from None

    def _digest(self, path: Path) -> str:
        """The SHA-256 of a file, from the cache while the file's size and time are what they were: it may be large."""
        kept = self.cache / f"{path.name}.json"
        found = path.stat()
        seen = [found.st_size, found.st_mtime_ns]
        try:
            said = json.loads(kept.read_text())
            if said["seen"] == seen:
                return str(said["sha256"])
        except (OSError, ValueError, KeyError, TypeError):  # not there, or broken
            pass
        sha256 = digest(path)
        with suppress(OSError, StoreError):  # where nothing can be kept, it is counted each time
            self.cache.mkdir(exist_ok=True)
            put(kept, lambda beside: beside.write_text(json.dumps({"seen": seen, "sha256": sha256})))
        return sha256

    def in_pool(self, ids: Collection[str], named: str | None, rows: int) -> set[str]:
        """Those of the ids that rows of the pool have; none where the pool is not at hand."""
        if not self.pool.exists():
            return set()
        if named is None:
            numbered = {id: re.fullmatch(r"row-([1-9]\d{0,17})", id) for id in ids}
            return {id for id, found in numbered.items() if found and int(found[1]) <= rows}
        column = pl.col(named).cast(pl.String)
        return set(pl.scan_parquet(self.pool).select(column).filter(column.is_in(list(ids))).collect().to_series())


def put(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file whole or not at all: beside it first, to the disk, then in its place."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        write(beside)
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _unwritable(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(folders: list[Path]) -> None:
    """The empty ones of these."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _unwritable(path: Path, error: Exception) -> StoreError:
    told = getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
    return StoreError(f"{path} cannot be written: {told}. Make room on the disk, or check the folder's permissions.")
