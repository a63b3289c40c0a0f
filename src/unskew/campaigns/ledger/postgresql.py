"""A connection to PostgreSQL that ends when nothing comes any more.

TCP's own timeouts notice a machine that is gone; they notice neither a server process that stands still nor something
between here and there that takes bytes and passes none on. The driver would wait for ever, with the campaign locked.
"""

import time
from collections.abc import Generator
from typing import Any

from psycopg import Connection, OperationalError

SILENCE = 40
"""Seconds without a byte. The ledger's statements take less: the server ends a longer one, and says so."""


class Impatient(Connection[Any]):
    """A connection that is closed, with an error, after a silence."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Wait as the driver does, but not for ever."""
        return super().wait(self._heard(gen), *args, **options)

    def _heard(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """The same; the driver sends what the socket is ready for, and nothing each time a moment passed in vain."""
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
