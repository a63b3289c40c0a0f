"""Limits on connections: how many there may be, and how long one may take to send headers and to read an answer."""

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 500
"""The most connections at once. More are refused, so that a flood leaves the machine usable."""
OF_ONE_ADDRESS = MOST // 2
"""The most from one address, so that it cannot use up all of them. A proxy in front counts as one address."""
HEADERS = 10.0
"""Seconds for the headers of a request."""
BUFFER = 1 << 17
"""Bytes of an answer that the system keeps until they are read. By itself it would keep megabytes."""
READ = 20.0
"""Seconds in which the other side has to read what was sent last: at most a piece of an answer."""


class Connection(H11Protocol):
    """uvicorn's connection. It closes if its address has too many, if headers are not finished, or answers not read."""

    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def _should_upgrade(self) -> bool:
        """Never: the guard refuses who asks for a WebSocket. uvicorn would write warnings for everybody who does."""
        return False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # writing pauses as soon as the system takes no more
        opened = transport.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or every answer waits 40 ms for an empty packet
        self._watch()
        clients = [other.client for other in self.connections if isinstance(other, Connection)]
        if self.client and [client[0] for client in clients if client].count(self.client[0]) > OF_ONE_ADDRESS:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ, self.transport.abort)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._late, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Run a timer while headers are being received, however slowly they arrive."""
        waiting = self.cycle is None or self.cycle.response_complete
        if waiting and self._late is None:
            self._late = self.loop.call_later(HEADERS, self.transport.close)
        elif not waiting and self._late is not None:
            self._late.cancel()
            self._late = None
