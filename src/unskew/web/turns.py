"""Turns at the campaign: one request at a time uses it, and no request waits long.

One thread does all the work, and those who wait need no thread. So pages that need no campaign are answered at once,
however many requests wait.
"""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fastapi import HTTPException, Request

QUEUE = 3.0
"""Seconds that a request waits for its turns, in all."""
LEDGER = 2.0
"""Seconds that it then waits for other processes that write to the ledger."""
MOST = 100
"""The most requests that wait. Further ones are refused at once."""
AGAIN = (2, 3, 4, 5)
"""Seconds after which a refused request may come again: not all of them at the same time."""

T = TypeVar("T")


class Turns:
    """A queue in front of the campaign, which only one thread at a time may use."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="unskew-campaign")
        self._waiting = 0

    async def run(self, request: Request, work: Callable[..., T], *args: object) -> T:
        """Do the work when the request's turn comes. Refuse the request if that takes too long."""
        if self._waiting >= MOST:
            raise busy()
        now = asyncio.get_running_loop().time()
        until = request.scope.setdefault("unskew.until", now + QUEUE)
        turn = self._thread.submit(work, *args)
        done = asyncio.wrap_future(turn)
        self._waiting += 1
        try:
            await asyncio.wait([done], timeout=max(0.0, until - now))
        finally:
            self._waiting -= 1
        if turn.cancel():  # it has not begun
            raise busy()
        return await done

    def close(self) -> None:
        """Refuse everything that still waits."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def busy() -> HTTPException:
    """The refusal of a request that would have to wait too long."""
    return HTTPException(503, "the server is busy. Nothing was changed; try again.", later())


def later() -> dict[str, str]:
    """The header that says when to come again."""
    return {"Retry-After": str(secrets.choice(AGAIN))}
