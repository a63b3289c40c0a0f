"""Files that come in: written to the disk piece by piece, and there only once all of them has come."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fastapi import HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from unskew.errors import InputError
from unskew.writing import unwritable

PATHS = r"(/c/[^/]+)?/api/(drafts/[^/]+/files/[^/]+|predictions|extension)"
"""The paths under which files are uploaded, which no limit on other requests applies to."""
LARGEST = 8 << 30
"""Bytes of an uploaded file, at most. Larger ones are better named by their path on the server."""
WRITTEN = 1 << 20
"""Bytes of an upload that are kept in memory before they are written."""
PIECE = 30.0
"""Seconds in which the next piece of an upload has to come."""


async def received(request: Request, path: Path, check: Callable[[], None] = lambda: None) -> int:
    """Write the body to a file that is there once all has come, and `check` agrees. Returns its number of bytes."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit():
        _check_room(int(declared), path.parent)
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "xb") as file:
            found = await _receive(request, file)
        if declared.isdigit() and found != int(declared):
            raise HTTPException(408, "the upload broke off. Upload the file again.")
        check()  # again: uploads take long
        part.rename(path)
    except FileExistsError:
        raise InputError(f"{path.name!r:.80} is being uploaded already. Wait for it.") from None
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(path.parent, error) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return found


def _check_room(bytes: int, folder: Path) -> None:
    """Refuse a file that is too large for the page, or for the disk."""
    if bytes > LARGEST:
        raise HTTPException(
            413, f"a file may have at most {LARGEST >> 30} GiB. Copy it to the server and name its path instead."
        )
    with suppress(OSError):
        if bytes > (free := shutil.disk_usage(folder).free):
            raise HTTPException(413, f"the server's disk has {free >> 20:,} MiB left. Make room, or name a path.")


async def _receive(request: Request, file: BinaryIO) -> int:
    """Write the body to a file, piece by piece. Returns its number of bytes."""
    waiting, received = bytearray(), 0
    pieces = aiter(request.stream())
    try:
        while True:
            async with asyncio.timeout(PIECE):
                piece = await anext(pieces, None)
            received += len(piece or b"")
            if received > LARGEST:
                _check_room(received, Path(file.name).parent)
            waiting += piece or b""
            if len(waiting) >= WRITTEN or piece is None:
                await run_in_threadpool(file.write, bytes(waiting))
                waiting.clear()
            if piece is None:
                return received
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, "the upload broke off. Upload the file again.") from None
