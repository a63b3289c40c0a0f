"""What applies to every request before any route sees it: size, time, rate, and the headers of the answer."""

import asyncio
import json
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'self'; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
PIECE = 1 << 16
"""Bytes of an answer that are sent at once."""
CLOSE = ("connection", "close")
"""The header that ends the connection."""
MINUTE = 60.0
SMALL_FILES = re.compile(r"(/c/[^/]+)?/static/")
"""Where the style sheet and scripts are, also those of one of several campaigns. A browser fetches all at once."""


@dataclass(frozen=True)
class Limits:
    """Limits on requests: bytes and seconds for one; rate per second, burst, and most at once, by person or address."""

    body: int = 1 << 20
    seconds: float = 15.0
    person_rate: float = 20.0
    person_burst: int = 60
    person_most: int = 4
    address_rate: float = 5.0
    address_burst: int = 60
    address_most: int = 40


class Buckets:
    """A token bucket for each client. `take` returns the number of seconds to wait.

    >>> now = [0.0]
    >>> buckets = Buckets(clock=lambda: now[0])
    >>> [buckets.take("ada", rate=1.0, burst=2) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> now[0] = 1.0
    >>> buckets.take("ada", rate=1.0, burst=2)
    0.0
    """

    MOST = 10_000
    """The most clients remembered. The one that was away longest is forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, *, rate: float, burst: int) -> float:
        now = self._clock()
        with self._lock:
            level, at = self._levels.pop(client, (float(burst), now))
            level = min(float(burst), level + rate * (now - at))
            self._levels[client] = (level - 1.0, now) if level >= 1.0 else (level, now)
            if len(self._levels) > self.MOST:
                self._levels.popitem(last=False)
        return 0.0 if level >= 1.0 else (1.0 - level) / rate


class Minutes:
    """What each person did in the last minute, so that it can be said when they may go on.

    >>> now = [0.0]
    >>> minutes = Minutes(clock=lambda: now[0])
    >>> [minutes.take("ada", most=2) for now[0] in (0.0, 20.0, 25.0, 60.0)]
    [0.0, 0.0, 35.0, 0.0]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._times: dict[str, deque[float]] = {}  # only of people who have a link

    def take(self, who: str, *, most: int) -> float:
        """The number of seconds to wait; 0 if that is not necessary, and then this one counts."""
        now = self._clock()
        with self._lock:
            times = self._times.setdefault(who, deque())
            while times and times[0] <= now - MINUTE:
                times.popleft()
            if len(times) >= most:
                return times[0] + MINUTE - now
            times.append(now)
            return 0.0


class Guard:
    """ASGI middleware: refuses requests that are too large, slow or many, and WebSockets, and adds security headers.

    A request counts until its answer has left, so that many answers that are read slowly cannot fill the memory.
    `uploads` are the paths under which files are put: their route checks who sends them and how many bytes come, and
    they are not kept in memory.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, person: Callable[[HTTPConnection], str | None], uploads: str | None = None
    ) -> None:
        self.app, self.limits, self.person = app, limits, person
        self.uploads = None if uploads is None else re.compile(uploads)
        self.buckets = Buckets()
        self.at_once = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        answer = _guarded(send) if scope["type"] == "http" else _handshake(send)
        request = HTTPConnection(scope)
        person, limits = self.person(request), self.limits
        if person:
            client, rate, burst, most = f"person {person}", limits.person_rate, limits.person_burst, limits.person_most
        else:
            client = f"address {request.client.host if request.client else 'unknown'}"
            rate, burst, most = limits.address_rate, limits.address_burst, limits.address_most
        wait = self.buckets.take(client, rate=rate, burst=burst)
        if wait:
            again = ("retry-after", str(max(1, round(wait))))
            await _refuse(answer, 429, "too many requests; try again in a moment", again)
        elif scope["type"] == "websocket" or _upgrades(request):
            await _refuse(answer, 403, "there are no WebSockets here. Send requests over HTTP.", CLOSE)
        elif SMALL_FILES.match(scope["path"]):
            await self._serve(scope, receive, answer)
        elif self.at_once[client] >= most:
            why = f"{most} requests at once are the most. Wait for their answers; try again in a moment."
            await _refuse(answer, 429, why, ("retry-after", "1"))
        else:
            self.at_once[client] += 1
            try:
                await self._serve(scope, receive, answer)
            finally:
                self.at_once[client] -= 1
                if not self.at_once[client]:
                    del self.at_once[client]

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.uploads is not None and scope["method"] == "PUT" and self.uploads.fullmatch(scope["path"]):
            await self.app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.limits.seconds):
                body = await _read(scope, receive, self.limits.body)
        except TimeoutError:
            why = f"the request was not complete in {self.limits.seconds:g} seconds. Send it again."
            await _refuse(send, 408, why, CLOSE)
            return
        if body is None:
            most = f"{self.limits.body:,} bytes"
            await _refuse(send, 413, f"a request may have at most {most}. Send fewer answers at a time.")
            return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


def _upgrades(request: HTTPConnection) -> bool:
    """Whether a request asks for a WebSocket, of a server that has none: to it, this is a request like any other.

    The header may be there more than once.
    """
    return any("websocket" in value.lower() for value in request.headers.getlist("upgrade"))


def _handshake(send: Send) -> Send:
    """Sends the refusal of a WebSocket. A server that has WebSockets answers the handshake with status 403."""

    async def closed(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send({"type": "websocket.close", "code": 1008})

    return closed


def _guarded(send: Send) -> Send:
    """Sends answers with our headers, and in pieces: the next piece waits until the one before has left."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**HEADERS, "Cache-Control": "no-store"}.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            for start in range(0, len(body), PIECE):
                await send({"type": message["type"], "body": body[start : start + PIECE], "more_body": True})
            message = {**message, "body": b""}  # waits for the last piece
        await send(message)

    return guarded


async def _read(scope: Scope, receive: Receive, most: int) -> bytes | None:
    """The whole body, or None as soon as it is larger than `most`."""
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length) > most:
        return None
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > most:
            return None
        if not message.get("more_body", False):
            return bytes(body)


async def _refuse(send: Send, status: int, detail: str, *headers: tuple[str, str]) -> None:
    body = json.dumps({"detail": detail, "problems": []}).encode()
    plain = [(k.encode(), v.encode()) for k, v in (("content-type", "application/json"), *headers)]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": body})
