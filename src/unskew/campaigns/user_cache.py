"""A folder for each user in which nobody else may write, for what takes long to make.

Nothing in a campaign's folder leads here, so whoever hands over a folder cannot bring what is read from it.
"""

import os
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from platformdirs import user_cache_path

from unskew.campaigns.folder import digest

UNUSED = 30 * 24 * 3600.0
"""Seconds after which the cache of a campaign that nobody worked on is removed."""
HALF_WRITTEN = 3600.0
"""Seconds after which a file that was never finished is taken for what a kill left behind."""


def user_cache() -> Path:
    """The user's own folder for the caches of campaigns. On Linux, XDG_CACHE_HOME moves it."""
    return user_cache_path("unskew") / "campaigns"


class UserCache:
    """Files of one campaign; `key` names everything they depend on.

    A folder that others may write to is not used, and then nothing is kept.
    """

    def __init__(self, key: str) -> None:
        self.path = user_cache() / key

    def find(self, name: str, end: str) -> Path | None:
        """The file of that name, if its content is what was written."""
        with suppress(OSError):
            for path in self.path.glob(f"{name}.*{end}") if self.ready() else ():
                if path.is_file() and path.name == f"{name}.{digest(path)}{end}":
                    return path
                path.unlink()
        return None

    def keep(self, name: str, end: str, make: Callable[[Path], Any]) -> Path | None:
        """The file of that name, made anew; None if it cannot be written.

        Nothing waits for the disk: a file that a power failure cut short is made again.
        """
        return self._put(end, make, lambda draft: f"{name}.{digest(draft)}{end}")

    def content(self, name: str) -> bytes | None:
        """The bytes of the file of exactly that name; None if there is none. Its reader checks them."""
        path = self.path / name
        with suppress(OSError):
            if path.exists() and self.ready():
                with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                    plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                    return file.read() if plain else None  # a pipe might never end
        return None

    def replace(self, name: str, content: bytes) -> bool:
        """Write the file of exactly that name, whole or not at all. Returns whether that was possible."""
        return self._put("", lambda draft: draft.write_bytes(content), lambda _: name) is not None

    def remove(self, name: str) -> None:
        """Remove the file of exactly that name, if there is one."""
        with suppress(OSError):
            (self.path / name).unlink()

    def _put(self, end: str, make: Callable[[Path], Any], name: Callable[[Path], str]) -> Path | None:
        """The file that `make` writes, under the name that its content is given."""
        draft = self.path / f".{uuid4().hex}{end}"
        try:
            if self.ready():
                make(draft)
                path = self.path / name(draft)
                os.replace(draft, path)
                return path
        except OSError:
            pass
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return None

    def ready(self) -> bool:
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
                if age(other) < time.time() - UNUSED:
                    shutil.rmtree(other, ignore_errors=True)
            for draft in self.path.glob(".*"):
                if age(draft) < time.time() - HALF_WRITTEN:
                    draft.unlink()
        return True


def age(path: Path) -> float:
    """When it was last written; a path that is gone counts as new."""
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")
