"""An object store on this machine: Polars reads it over HTTP as S3, and fsspec sees the same files."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem

ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


class Bucket(MemoryFileSystem):
    """What s3fs would be: the same names, and files in memory."""

    protocol = ("s3", "s3a")
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.partition("://")[2] if "://" in path else path)

    def unstrip_protocol(self, name: str) -> str:
        return f"s3://{self._strip_protocol(name).lstrip('/')}"


class _Answers(BaseHTTPRequestHandler):
    """GET and HEAD of objects, as Polars asks for them."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.asked.append(self.path)
        name = self.path.partition("?")[0]
        content = Bucket.store[name].getvalue() if name in Bucket.store else None
        if content is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last = 0, len(content) - 1
        if "Range" in self.headers:
            start, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
            if start:
                first, last = int(start), min(last, int(end or last))
            else:
                first = max(0, len(content) - int(end))
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.send_header("ETag", f'"{hash(content)}"')
        self.end_headers()
        if body:
            self.wfile.write(content[first : last + 1])

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


class ObjectStore:
    """The files of all buckets, and what was asked of the server."""

    files = Bucket()
    asked = _Answers.asked


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store that s3:// leads to, until it is left."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    register_implementation("s3", Bucket, clobber=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        patch.setenv("AWS_ALLOW_HTTP", "true")
        try:
            yield ObjectStore()
        finally:
            server.shutdown()
            server.server_close()
            Bucket.store.clear()
