"""A page for each test, and clients of it."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from web_page import Page, begin, serving


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on which nothing was done yet."""
    return begin(tmp_path_factory.mktemp("campaign"))


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    return shutil.copytree(prepared, tmp_path / "loans")


@pytest.fixture
def page(folder: Path) -> Iterator[Page]:
    with serving(folder) as page:
        yield page


@pytest.fixture
def client(page: Page) -> Iterator[Callable[..., httpx.Client]]:
    """Clients of the page: by nobody, by somebody's bearer token, or signed in as a browser is."""
    with contextlib.ExitStack() as stack:

        def make(bearer: str | None = None, *, link: str | None = None) -> httpx.Client:
            client = stack.enter_context(httpx.Client(base_url=page.address, timeout=30))
            if bearer is not None:
                page.link(bearer)
                client.headers["Authorization"] = f"Bearer {page.tokens[bearer]}"
            if link is not None:
                client.post("/api/enter", json={"code": link.partition("#")[2]}).raise_for_status()
                html = client.get("/label").text
                client.headers["X-CSRF-Token"] = html.partition('name="csrf" content="')[2].partition('"')[0]
            return client

        yield make
