"""Read a whole file, or say in one line why not. Only regular files are opened: a pipe or a device might never end."""

import json
import os
import stat
from pathlib import Path

from unskew.errors import InputError

SWELLING, SMALL = 200, 256_000_000
"""Text of more than SMALL bytes may be at most SWELLING times as large as the packed file that holds it."""


def half_memory() -> int:
    """Half of this machine's memory, in bytes. A table that needs more is refused: what is done with it needs the rest.

    >>> half_memory() > 0
    True
    """
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def most_text(size: int) -> int:
    """The most bytes of text that are read from a packed file of that size.

    >>> most_text(7_800), most_text(0) == min(SMALL, half_memory())
    (256000000, True)
    """
    return min(half_memory(), max(SMALL, SWELLING * size))


def too_much_text(path: str | Path, size: int, counted: str) -> InputError:
    """The error for a file with more, from what was printed by the process that read it (`swelling`)."""
    told, most = json.loads(counted), most_text(size)
    remedy = "Write it again, with fewer rows or shorter texts."
    if told["column"] is None:
        what = f"takes more than {_gigabytes(told['bytes'])} of memory to be read"
    else:
        what = f"needs about {_gigabytes(told['bytes'])} for its text, most of it in column {told['column']!r}"
        remedy = "Leave out the column, or shorten its texts."
    here = "" if most == SMALL else f", here {_gigabytes(most)}"
    return InputError(
        f"{path} {what}: the limit is {_gigabytes(SMALL)} ({SWELLING} times the file's size if that "
        f"is more, and never more than half of the memory){here}. {remedy}"
    )


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 10**9 else f"{size // 10**6:,} MB"


def regular_file(path: Path) -> os.stat_result:
    """What the system says about a file, if it is there and a regular one."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no file {str(path)!r}. Check the name, and the folder you are in.") from None
    except (OSError, ValueError) as error:  # a zero byte in the name is a ValueError
        raise unreadable(path, error) from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{str(path)!r} is a folder. Name a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{str(path)!r} is a pipe, a device or a socket. Write its content to a file, and name that.")
    return found


def read_file(path: Path, *, most: int) -> bytes:
    """The bytes of a regular file, all as they were at one time. A file of more than `most` bytes is refused.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = file.write_text("id,label")
    >>> read_file(file, most=100)
    b'id,label'
    """
    regular_file(path)
    try:
        with open(path, "rb", opener=without_waiting) as file:
            before = os.fstat(file.fileno())
            if before.st_size > most:
                raise InputError(
                    f"{path} has {before.st_size:,} bytes; the most is {most:,}. Split it, or leave out columns."
                )
            content = file.read(before.st_size + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise unreadable(path, error) from None
    if len(content) != before.st_size or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise changed(path)
    return content


def changed(path: str | Path) -> InputError:
    """The error for a file that somebody wrote to while it was read."""
    return InputError(f"{path} changed while it was read. Wait until it is written, then try again.")


def without_waiting(path: str, flags: int) -> int:
    """Open a file that may have become a pipe in the meantime, without waiting for somebody to write to it."""
    return os.open(path, flags | os.O_NONBLOCK)


def unreadable(path: str | Path, error: Exception) -> InputError:
    """The error for a file that the system does not let us read."""
    return InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}. Check its permissions.")
