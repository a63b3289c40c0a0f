"""A connection to PostgreSQL that is closed when nothing arrives any more.

TCP's own timeouts notice a machine that is gone. They notice neither a server process that hangs nor a proxy that
accepts bytes and forwards none. The driver would then wait forever, with the campaign locked.
"""

import logging
import time
from collections.abc import Generator
from typing import Any

from psycopg import Connection, OperationalError

# What goes wrong is said by our own errors, in one line. The driver's warnings would be printed beside it.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

SILENCE = 40
"""Seconds without a byte. The ledger's statements take less: the server cancels longer ones and reports it."""


class Impatient(Connection[Any]):
    """A connection that is closed, with an error, after a long silence."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Wait as the driver does, but not forever."""
        return super().wait(self._heard(gen), *args, **options)

    def _heard(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The driver's generator. Sent to it: what the socket is ready for, or nothing after an interval of waiting."""
        until = time.monotonic() + SILENCE
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    until = time.monotonic() + SILENCE
                elif time.monotonic() > until:
                    self.close()
                    raise OperationalError(f"the server said nothing for {SILENCE} s")
                wanted = gen.send(ready)
        except StopIteration as done:
            return done.value
