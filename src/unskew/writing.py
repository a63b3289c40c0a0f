"""Write a file completely or not at all, and never over a file of a campaign or of somebody else."""

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from unskew.errors import InputError, StoreError

MARKERS = ("campaign.json", ".unfinished")
"""A folder with one of these is that of a campaign."""

CAMPAIGN_FILES = (
    *MARKERS, "log.parquet", "pool.parquet", "pool.files.json", "ledger.sqlite", "ledger.sqlite-wal",
    "ledger.sqlite-shm", "ledger.sqlite-journal", "ledger.head",
)  # fmt: skip
LATER = re.compile(r"pool-[0-9]+\.(parquet|files\.json)", re.IGNORECASE)
"""A campaign's files of rows that came to its pool later."""
CACHE = "cache"
"""Campaigns of version 0.2 and earlier have a folder of this name."""

HEAD = 4096
"""The number of bytes at the beginning of a page that hold its mark."""

OVERWRITE = "Name another file, or add --overwrite (in Python, overwrite=True)."


def put(path: Path, write: Callable[[Path], Any], check: Callable[[], None] = lambda: None) -> None:
    """Let `write` create a file next to `path`, flush it to the disk, and then move it into place.

    After a crash or on a full disk, the old file is still there. `check` runs just before the move.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "rows.csv")
    >>> put(target, lambda beside: beside.write_text("id,label"))
    >>> target.read_text(), [file.name for file in target.parent.iterdir()]
    ('id,label', ['rows.csv'])
    """
    beside = path.with_name(f".{path.name}.{uuid4().hex}{path.suffix}")
    try:
        write(beside)
        with open(beside, "rb+") as file:
            os.fsync(file.fileno())
        check()
        os.replace(beside, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


def put_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file completely or not at all."""
    put(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def put_bytes(path: Path, content: bytes) -> None:
    """Write a file of bytes completely or not at all."""
    put(path, lambda beside: beside.write_bytes(content))


def unwritable(path: Path, error: Exception) -> StoreError:
    """The error for a file that could not be written."""
    told = getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
    return StoreError(f"{path} cannot be written: {told}. Make room on the disk, or check the folder's permissions.")


def _nobodys(path: Path) -> bool:
    """For kinds of files that do not say who wrote them."""
    return False


@dataclass(frozen=True)
class Output:
    """A file that the user named, for everything that commands and functions write for users.

    It is checked when this object is made, which is before the work, and again when the file is moved into place. A
    file of a campaign is never replaced. Any other file is replaced if it is empty, if `ours` recognises it, or with
    `overwrite`. A symbolic link is replaced itself; the file it points to stays as it is.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("campaign.json", "notes.html"):
    ...     _ = (folder / name).write_text("mine")
    >>> Output(folder / "report.html", "unskew report").put_text("<p>new</p>")
    >>> Output(Path(folder, "notes.html"), "unskew report")
    Traceback (most recent call last):
    unskew.errors.InputError: /.../notes.html exists, and `unskew report` may not have written it. Name ...
    >>> Output(folder / "ledger.sqlite", "unskew report", overwrite=True)
    Traceback (most recent call last):
    unskew.errors.InputError: /.../ledger.sqlite is a file of the campaign in /... and is never written over. Name ...
    """

    path: Path
    command: str
    """The command that writes such files."""
    ours: Callable[[Path], bool] = _nobodys
    """Whether this command wrote the file that is there."""
    overwrite: bool = False
    endings: tuple[str, ...] = ()
    make_folder: bool = False

    def __post_init__(self) -> None:
        self.check()

    def put(self, write: Callable[[Path], Any]) -> None:
        """Write the file completely or not at all."""
        if self.make_folder:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise unwritable(self.path, error) from None
        put(self.path, write, self.check)

    def put_text(self, text: str) -> None:
        """Write it as UTF-8."""
        self.put(lambda beside: beside.write_text(text, encoding="utf-8"))

    def put_bytes(self, content: bytes) -> None:
        """Write it as it is."""
        self.put(lambda beside: beside.write_bytes(content))

    def remove(self) -> None:
        """Remove the file, if there is one, under the same rules."""
        self.check()
        self.path.unlink(missing_ok=True)

    def check(self) -> None:
        """Refuse a file that must not or cannot be written."""
        try:
            self._check(self.path)
        except OSError as error:  # such as a name that is too long
            raise InputError(f"{self.path} cannot be written: {error.strerror}. Name another file.") from None

    def _check(self, path: Path) -> None:
        if self.endings and path.suffix.lower() not in self.endings:
            raise InputError(
                f"the file name must end in {' or '.join(self.endings)}; got {path.name!r}. "
                f"Try {path.stem}{self.endings[0]}."
            )
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a folder. Name a file.")
        check_folder(path.parent, exists=not self.make_folder)
        spare_campaigns(path)
        plain(path)
        try:
            linked = stat.S_ISLNK(path.lstat().st_mode)
        except FileNotFoundError:
            return
        if self.overwrite or (not linked and not path.stat().st_size):
            return
        try:
            known = path.exists() and self.ours(path)
        except OSError as error:
            raise InputError(f"{path} exists and cannot be read: {error.strerror}. {OVERWRITE}") from None
        if not known:
            raise InputError(f"{path} exists, and `{self.command}` may not have written it. {OVERWRITE}")


def plain(path: Path) -> None:
    """Refuse devices, pipes and the like, which a file moved there would destroy, and links to them."""
    parent = Path(os.path.realpath(path.parent))
    special = parent == Path("/dev") or Path("/proc") in (parent, *parent.parents)
    if special or (path.exists() and not path.is_file()):
        raise InputError(f"{path} is not a plain file. Name a file.")


def check_folder(folder: Path, *, exists: bool = False) -> None:
    """Refuse a folder that cannot be written to, or made; with `exists`, one that is not there yet."""
    if exists and not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist. Create it first, or name another folder.")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise InputError(f"{str(there)!r} is a file, not a folder. Name another folder.")
    if not os.access(there, os.W_OK):
        raise InputError(f"you may not write to the folder {str(there)!r}. Name another folder.")


def spare_campaigns(path: Path) -> None:
    """Refuse a path that is that of a campaign's file, there or not, under any name that leads to it."""
    for real in (Path(os.path.realpath(path.parent), path.name), Path(os.path.realpath(path))):
        ours = real.name.lower() in CAMPAIGN_FILES or LATER.fullmatch(real.name)  # some disks ignore case
        folder = real.parent if ours else None
        for parent in real.parents:
            if parent.name.lower() == CACHE and _holds_campaign(parent.parent):
                folder = parent.parent
        if folder is not None and _holds_campaign(folder):
            raise InputError(
                f"{path} is a file of the campaign in {folder} and is never written over. Name another file."
            )


def _holds_campaign(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in MARKERS)


def page_of(command: str) -> Callable[[Path], bool]:
    """Whether a file is a page that this command wrote: its template has the mark.

    >>> page_of("unskew report")(Path(__file__))
    False
    """
    mark = f'<meta name="generator" content="{command}">'.encode()

    def ours(path: Path) -> bool:
        with open(path, "rb") as file:
            return mark in file.read(HEAD)

    return ours
