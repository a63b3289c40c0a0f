"""WebSockets: there are none, and who asks for one is refused like anybody who asks for too much."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unskew.web.limits import Limits
from web_page import FREE, Page, application, connect, serving

HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: {upgrade}\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
)


class Lines(logging.Handler):
    """Keeps every line of a log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """What the server and the application write to the log."""
    handler = Lines()
    loggers = [logging.getLogger(name) for name in ("uvicorn", "uvicorn.error", "unskew", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.lines
    for logger in loggers:
        logger.removeHandler(handler)


def shake(page: Page, path: str, more: str = "", upgrade: str = "websocket") -> bytes:
    """All that the server sends to somebody who asks for a WebSocket, until it closes the connection."""
    with connect(page) as opened:
        opened.sendall(HANDSHAKE.format(path=path, more=more, upgrade=upgrade).encode())
        return b"".join(iter(lambda: opened.recv(1 << 16), b""))


@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket", "h2c, websocket", "h2c\r\nUpgrade: websocket"])
def test_a_websocket_is_refused_and_the_log_stays_empty(folder: Path, logged: list[str], upgrade: str) -> None:
    with serving(folder) as page:
        page.link("ada")
        signed_in = f"Authorization: Bearer {page.tokens['ada']}\r\n"
        for path in ("/", "/enter", "/api/answers", "/label", "/nothing", "/static/x/y.js"):
            for who in ("", signed_in):
                sent = shake(page, path, who, upgrade)
                assert sent.startswith(b"HTTP/1.1 403 "), path
                assert b"there are no WebSockets here" in sent and b"connection: close" in sent.lower()
        assert page.in_flight() == 0
    assert logged == []


def test_another_upgrade_is_a_request_like_any_other(folder: Path, logged: list[str]) -> None:
    with serving(folder) as page, connect(page) as opened:
        opened.sendall(HANDSHAKE.format(path="/enter", more="", upgrade="h2c").encode())
        assert opened.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    assert logged == []


def test_attempts_count_for_the_rate(folder: Path, logged: list[str]) -> None:
    with serving(folder, Limits(address_rate=0.01, address_burst=2)) as page:
        statuses = [shake(page, "/")[9:12] for _ in range(4)]
    assert statuses == [b"403", b"403", b"429", b"429"] and logged == []


@pytest.mark.parametrize("limits", [FREE, Limits(address_rate=0.01, address_burst=1)], ids=["free", "full"])
def test_a_server_that_has_websockets_is_told_to_close(folder: Path, limits: Limits) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "websocket", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "ws",
        "path": "/", "raw_path": b"/", "query_string": b"", "root_path": "", "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8000), "subprotocols": [],
    }  # fmt: skip
    with application(folder, limits) as app:
        for _ in range(2):
            asyncio.run(app(dict(scope), receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}] * 2
