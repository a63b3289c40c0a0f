"""Every route of the page, asked as a server would pass requests on: odd methods, paths, headers, cookies, bodies."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fastapi import FastAPI
from hypothesis import strategies as st

from faults.forks import HANG
from faults.inputs import changed, dumped, json_bytes, json_values, noise, odd_text
from unskew.campaigns import Campaign
from unskew.errors import UnskewError
from web_page import application

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "X")
Request = tuple[str, str, bytes, list[tuple[bytes, bytes]], bytes]
"""Method, path as sent, query, headers, body."""


class Refused(UnskewError):
    """The page answered with a status from 400 on."""


class Page:
    """The application without a server, and two people who may use it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.app: FastAPI = stack.enter_context(application(folder))
        self._loop = asyncio.new_event_loop()
        stack.callback(self._loop.close)
        campaign = stack.enter_context(Campaign.open(folder))
        self.ids = [row.id for row in campaign.ask(30, by="ada")]
        self.bearer = (b"authorization", b"Bearer " + campaign.invite("ada").encode())
        campaign.invite("bob")
        code = {"code": self.app.state.access.admins.code()}
        _, headers, _ = self.ask(("POST", "/api/enter", b"", [(b"content-type", b"application/json")], dumped(code)))
        self.cookie = (b"cookie", headers[b"set-cookie"].partition(b";")[0])
        _, _, page = self.ask(("GET", "/progress", b"", [self.cookie], b""))
        self.csrf = (b"x-csrf-token", page.partition(b'name="csrf" content="')[2].partition(b'"')[0])

    def ask(self, request: Request) -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, headers and body of the answer."""
        return self._loop.run_until_complete(asyncio.wait_for(self._ask(request), HANG))

    async def _ask(self, request: Request) -> tuple[int, dict[bytes, bytes], bytes]:
        method, path, query, headers, body = request
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": unquote(path), "raw_path": path.encode(), "query_string": query, "root_path": "",
            "headers": [(b"host", b"127.0.0.1:8000"), *headers], "client": ("127.0.0.1", 5000),
            "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        received, sent = [{"type": "http.request", "body": body, "more_body": False}], []

        async def receive() -> dict[str, Any]:
            return received.pop() if received else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = next(message for message in sent if message["type"] == "http.response.start")
        return start["status"], dict(start["headers"]), b"".join(message.get("body", b"") for message in sent)

    def call(self, request: Request) -> None:
        """Ask, and see that the answer is one that a page may give."""
        status, headers, body = self.ask(request)
        if status >= 500 and not (status == 503 and b"retry-after" in headers):
            raise AssertionError(f"status {status}: {body!r:.200}")
        if status >= 400:
            raise Refused(f"status {status}")

    def requests(self) -> st.SearchStrategy[Request]:
        """Requests to every route, each with bodies as its schema has them, and others."""
        schema = self.app.openapi()
        routes = []
        for path, methods in paths_of(self.app).items():
            for method in sorted(methods):
                body = schema["paths"].get(re.sub(":path}", "}", path), {}).get(method.lower(), {})
                content = body.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                routes.append(self._request(path, method, _values(content, schema, self.ids) if content else None))
        return st.one_of(routes)

    @property
    def routes(self) -> int:
        return sum(len(methods) for methods in paths_of(self.app).values())

    @property
    def _auth(self) -> st.SearchStrategy[list[tuple[bytes, bytes]]]:
        odd = odd_text.map(_header)
        name = self.cookie[1].partition(b"=")[0]
        return st.one_of(
            st.just([self.bearer]), st.just([self.bearer]), st.just([self.cookie, self.csrf]), st.just([self.cookie]),
            st.just([]), odd.map(lambda text: [(b"authorization", b"Bearer " + text)]),
            odd.map(lambda text: [(b"authorization", text)]), odd.map(lambda text: [(b"cookie", name + b"=" + text)]),
            noise.map(lambda raw: [(b"cookie", _clean(raw))]),
        )  # fmt: skip

    def _request(self, path: str, method: str, body: Any) -> st.SearchStrategy[Request]:
        filled = re.split(r"\{[^}]*\}", path)
        part = st.one_of(odd_text, st.sampled_from(["bob", "x/../y", "%", "%00", "%ff", "..%2f"]))
        paths = st.lists(part, min_size=len(filled) - 1, max_size=len(filled) - 1).map(
            lambda parts: "".join(
                a + quote(b, safe="%/", errors="replace") for a, b in zip(filled, [*parts, ""], strict=True)
            )
        )
        other = odd_text.map(lambda text: "/" + quote(text, errors="replace"))
        if body is None:
            bodies = st.one_of(st.just(b""), json_values.map(dumped), noise)
        else:
            bodies = st.one_of(
                body.map(dumped), body.map(dumped), body.flatmap(lambda one: changed([one])).map(dumped),
                body.flatmap(lambda one: json_bytes(one)),
            )  # fmt: skip
        kinds = st.sampled_from(
            [b"application/json"] * 5 + [b"text/plain", b"multipart/form-data; boundary=x", b"\xff", b""]
        )
        extra = st.lists(
            st.tuples(
                st.sampled_from([b"origin", b"host", b"sec-fetch-site", b"content-length", b"x-csrf-token", b"accept",
                                 b"x-forwarded-for", b"transfer-encoding", b"if-none-match", b"range"]),
                st.one_of(noise.map(_clean), odd_text.map(_header),
                          st.sampled_from([b"http://[", b"null", b"99999999999", b"-1", b"http://127.0.0.1:8000"])),
            ),
            max_size=2,
        )  # fmt: skip
        queries = st.one_of(st.just(b""), noise.map(lambda raw: quote(raw).encode()))
        return st.tuples(
            st.sampled_from([method] * 8 + [*METHODS]),
            st.one_of(paths, paths, paths, paths, paths, other),
            queries,
            st.tuples(kinds, self._auth, extra).map(lambda each: [(b"content-type", each[0]), *each[1], *each[2]]),
            bodies,
        )


def paths_of(app: FastAPI) -> dict[str, set[str]]:
    """All paths and their methods, also those that the schema leaves out."""
    found: dict[str, set[str]] = {}

    def collect(routes: Any) -> None:
        for route in routes:
            if getattr(route, "methods", None):
                found.setdefault(route.path, set()).update(route.methods)
            collect(getattr(route, "routes", None) or [])
            collect(getattr(getattr(route, "original_router", None), "routes", None) or [])  # an included router

    collect(app.routes)
    for path, methods in app.openapi()["paths"].items():
        found.setdefault(path, set()).update(method.upper() for method in methods)
    return found


def _values(schema: Any, whole: Any, ids: list[str]) -> st.SearchStrategy[Any]:
    """Values of a schema, with ids and labels that the campaign knows."""
    if "$ref" in schema:
        return _values(whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]], whole, ids)
    inner: Callable[[Any], Any] = lambda one: _values(one, whole, ids)  # noqa: E731
    if "anyOf" in schema:
        return st.one_of([inner(one) for one in schema["anyOf"]])
    kind = schema.get("type")
    if kind == "object":
        return st.fixed_dictionaries({name: inner(one) for name, one in schema.get("properties", {}).items()})
    if kind == "array":
        return st.lists(inner(schema["items"]), min_size=1, max_size=4)
    return {
        "integer": st.one_of(st.integers(0, 4), st.sampled_from([100, 101, -1, 2**63, 10**30])),
        "string": st.one_of(st.sampled_from([*ids, "yes", "no", "cleo"]), odd_text),
        "null": st.none(), "boolean": st.booleans(),
    }.get(kind, json_values)  # fmt: skip


def _clean(raw: bytes) -> bytes:
    """Bytes that a server lets through in a header."""
    return re.sub(rb"[\x00-\x08\x0a-\x1f\x7f]", b"", raw).strip()


def _header(text: str) -> bytes:
    return _clean(text.encode("utf-8", "surrogatepass"))


def as_bytes(request: Request) -> bytes:
    """A request as it is shown where it is at fault."""
    return json.dumps([request[0], request[1], *map(repr, request[2:])]).encode()
