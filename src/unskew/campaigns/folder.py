"""The folder of a campaign: which file is which. Each file is whole or not there at all."""

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from unskew.errors import InputError, StoreError
from unskew.writing import put, put_text, unwritable

LAYOUT = 1


class Folder:
    """Paths inside a campaign's folder. It is a campaign once `campaign.json`, which is written last, is there."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.marker = self.path / "campaign.json"
        self.log = self.path / "log.parquet"
        self.pool = self.path / "pool.parquet"
        self.ledger = self.path / "ledger.sqlite"
        self.cache = self.path / "cache"
        self.unfinished = self.path / ".unfinished"

    def store(self, named: str | None) -> str | Path:
        """Where the ledger is: the database that was named, or the file in this folder."""
        return self.ledger if named is None else named

    def check_free(self) -> None:
        """Refuse a folder in which a new campaign would replace something."""
        if self.marker.exists():
            raise InputError(f"{self.path} holds a campaign already. Choose another folder, or continue with that one.")
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file. Name a folder.")
        if not self.unfinished.exists():
            for path in (self.log, self.pool, self.ledger, self.cache):
                if path.exists():
                    raise InputError(f"{path} exists, and a campaign would replace it. Choose another folder.")

    @contextmanager
    def making(self) -> Iterator[None]:
        """While a campaign is made. If that fails, everything is put back as it was.

        Files that a killed process left behind are removed by the next call.
        """
        self.check_free()
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            mark = open(self.unfinished, "w")  # noqa: SIM115  # closed below; it is the lock
        except OSError as error:
            _remove(made)
            raise unwritable(self.path, error) from None
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
        """Remove all files of a campaign, and files that were half written."""
        for path in (self.marker, self.log, self.pool, self.ledger):
            for part in (path, *self.path.glob(f".{path.name}.*")):
                part.unlink(missing_ok=True)
        for end in ("-wal", "-shm"):
            self.ledger.with_name(self.ledger.name + end).unlink(missing_ok=True)
        shutil.rmtree(self.cache, ignore_errors=True)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Only one process on this machine plans at a time: a second plan would mostly be discarded.

        The lock is released when its process ends, also when it is killed.
        """
        self.cache.mkdir(exist_ok=True)
        with open(self.cache / "planning.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def identify(self) -> dict[str, Any]:
        """The content of `campaign.json`: the campaign's id, and the store if it is not the file in this folder."""
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
        raise StoreError(f"{self.marker} is damaged. Restore it from a copy.")

    def finish(self, campaign: str, store: str | None) -> None:
        """Make this folder a campaign. Only the owner may read the file: a store's address may hold a password."""

        def write(path: Path) -> None:
            path.touch(mode=0o600)
            path.write_text(json.dumps({"layout": LAYOUT, "campaign": campaign, "store": store}) + "\n")

        put(self.marker, write)

    def read(self, path: Path, sha256: str) -> pl.DataFrame:
        """The frame in a file, which must still be, bit for bit, the file the campaign began with."""
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
        """The SHA-256 of a file. It is cached while the file's size and time are unchanged: the file may be large."""
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
        with suppress(OSError, StoreError):  # without a cache it is computed each time
            self.cache.mkdir(exist_ok=True)
            put_text(kept, json.dumps({"seen": seen, "sha256": sha256}))
        return sha256

    def in_pool(self, ids: Collection[str], named: str | None, rows: int) -> set[str]:
        """Those of the ids that the pool has; none if the pool's file is not here."""
        if not self.pool.exists():
            return set()
        if named is None:
            numbered = {id: re.fullmatch(r"row-([1-9]\d{0,17})", id) for id in ids}
            return {id for id, found in numbered.items() if found and int(found[1]) <= rows}
        column = pl.col(named).cast(pl.String)
        return set(pl.scan_parquet(self.pool).select(column).filter(column.is_in(list(ids))).collect().to_series())


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
