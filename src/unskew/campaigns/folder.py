"""The folder of a campaign: which file is which. Each file is whole or not there at all."""

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unskew.errors import InputError, StoreError
from unskew.writing import LATER, put, unwritable

LAYOUT = 1
PATIENCE = 20.0
"""Seconds to wait while another process plans. One that was suspended must not hold up everybody."""
LONGEST_MARKER = 10_000
"""Characters of `campaign.json`."""


class Folder:
    """Paths inside a campaign's folder. It is a campaign once `campaign.json`, which is written last, is there."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.marker = self.path / "campaign.json"
        self.log = self.path / "log.parquet"
        self.pool = self.path / "pool.parquet"
        self.pool_files = self.path / "pool.files.json"
        self.ledger = self.path / "ledger.sqlite"
        self.head = self.path / "ledger.head"
        self.unfinished = self.path / ".unfinished"

    def part(self, number: int, *, listed: bool) -> Path:
        """The file with the rows that came to the pool as its part of this number, or with the list of their files."""
        return self.path / (f"pool-{number}.files.json" if listed else f"pool-{number}.parquet")

    def check_free(self) -> None:
        """Refuse a folder in which a new campaign would replace something."""
        if self.marker.exists():
            raise InputError(f"{self.path} holds a campaign already. Choose another folder, or continue with that one.")
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file. Name a folder.")
        if not self.unfinished.exists():
            later = (path for path in self.path.glob("pool-*") if LATER.fullmatch(path.name))
            for path in (self.log, self.pool, self.pool_files, self.ledger, self.head, *later):
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
            # Not through a link that somebody put there: the file it leads to is not ours.
            mark = os.fdopen(os.open(self.unfinished, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666), "w")
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
                yield
                self.unfinished.unlink()
            except BaseException:
                self._clear()
                self.unfinished.unlink(missing_ok=True)
                _remove(made)
                raise

    def abandon(self) -> None:
        """Remove what a killed process left of a campaign that it was making. One that is being made stays."""
        if self.marker.exists():
            return
        with suppress(OSError), open(self.unfinished) as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._clear()
            self.unfinished.unlink()
        _remove([self.path])

    def _clear(self) -> None:
        """Remove all files of a campaign, and files that were half written."""
        for path in (self.marker, self.log, self.pool, self.pool_files, self.ledger, self.head):
            for part in (path, *self.path.glob(f".{path.name}.*")):
                part.unlink(missing_ok=True)
        for end in ("-wal", "-shm"):
            self.ledger.with_name(self.ledger.name + end).unlink(missing_ok=True)

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Only one process on this machine plans at a time: a second plan would mostly be discarded.

        The lock is released when its process ends, also when it is killed. No file is made for it, so that it works in
        a folder that may only be read.
        """
        try:
            file = open(self.marker, "rb")  # noqa: SIM115  # closed below
        except OSError as error:
            raise _unreadable(self.marker, error) from None
        with file:
            until = time.monotonic() + PATIENCE
            while time.monotonic() < until:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(0.02)
                except OSError:  # a file system without such locks
                    break
            yield  # perhaps without the lock: then two plan, and one plan is discarded

    def identify(self) -> tuple[str, str | None]:
        """What `campaign.json` says: the campaign's id, and the store if it is not the file in this folder."""
        try:
            _check_plain(self.marker)
            with open(self.marker, encoding="utf-8") as file:
                said = json.loads(file.read(LONGEST_MARKER))
            campaign, store = said["campaign"], said["store"]
            if isinstance(campaign, str) and isinstance(store, str | None):
                (campaign + (store or "")).encode()  # half a character cannot be
                return campaign, store
        except NotADirectoryError:
            raise InputError(f"{self.path} is a file and holds no campaign. Name the campaign's folder.") from None
        except FileNotFoundError:
            raise InputError(
                f"{self.path} holds no campaign. Make one with `unskew start`, or check the name."
            ) from None
        except OSError as error:
            raise _unreadable(self.marker, error) from None
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        raise StoreError(f"{self.marker} is damaged. Restore it from a copy.")

    def check_ledger(self) -> None:
        """Refuse a ledger that is not there, or is not a file of this folder."""
        parts = (self.ledger.with_name(f"{self.ledger.name}{end}") for end in ("", "-wal", "-shm"))
        for path in (*parts, self.head):
            if path.is_symlink():
                raise StoreError(f"{path} is a link. Put the file itself into the folder.")
            if path.exists():
                _check_plain(path)
            elif path == self.ledger:
                raise InputError(f"{path} is missing. Copy it from where the campaign was made.")

    @property
    def read_only(self) -> bool:
        """Whether the ledger in this folder may be read and not written."""
        return not all(os.access(path, os.W_OK) for path in (self.path, self.ledger))

    def finish(self, campaign: str, store: str | None, *, private: bool) -> None:
        """Make this folder a campaign. If `private`, only the owner may read the file: it holds a password."""

        def write(path: Path) -> None:
            path.touch(mode=0o600 if private else 0o666)
            path.write_text(json.dumps({"layout": LAYOUT, "campaign": campaign, "store": store}) + "\n")

        put(self.marker, write)

    def check_table(self, path: Path, sha256: str) -> None:
        """Refuse a file that is not, bit for bit, the one the campaign began with."""
        try:
            _check_plain(path)
            if digest(path) != sha256:
                raise StoreError(f"{path} is not the file the campaign began with. Restore it from a copy.")
        except FileNotFoundError:
            raise StoreError(f"{path} is missing. Copy it from where the campaign was made.") from None
        except OSError as error:
            raise _unreadable(path, error) from None


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_plain(path: Path) -> None:
    """Refuse what is not a file: reading a pipe or a device may never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise StoreError(f"{path} is not a plain file. Restore it from a copy.")


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be read: {error.strerror}. Check its permissions, or ask its owner.")


def _remove(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
