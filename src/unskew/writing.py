"""Write a file completely or not at all, and check beforehand whether it can be written."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from unskew.errors import InputError, StoreError


def put(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` create a file next to `path`, flush it to the disk, and then move it into place.

    After a crash or on a full disk, the old file is still there.

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


def writable(path: Path, *endings: str) -> Path:
    """The path, if a file of that name can be written. Check this before the work, so that no work is lost."""
    if endings and path.suffix.lower() not in endings:
        raise InputError(
            f"the file name must end in {' or '.join(endings)}; got {path.name!r}. Try {path.stem}{endings[0]}."
        )
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist. Create it first, or name another folder.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"you may not write to the folder {str(path.parent)!r}. Name another folder.")
    return path


def unwritable(path: Path, error: Exception) -> StoreError:
    """The error for a file that could not be written."""
    told = getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
    return StoreError(f"{path} cannot be written: {told}. Make room on the disk, or check the folder's permissions.")
