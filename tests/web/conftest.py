"""A page for each test, clients of it, and people who open it in a browser."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Page as Tab

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


@pytest.fixture
def visit(browser: Browser, page: Page) -> Iterator[Callable[..., Tab]]:
    """Somebody opens their link in a browser of their own. Errors of the page's scripts fail the test."""
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def open_link(name: str | None, **how: object) -> Tab:
        context = browser.new_context(**how)  # type: ignore[arg-type]
        context.set_default_timeout(15_000)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("console", lambda said: troubles.append(said.text) if "Security Policy" in said.text else None)
        tab.goto(page.link(name))
        tab.wait_for_url("**/progress" if name is None else "**/label")
        return tab

    yield open_link
    for context in contexts:
        context.close()
    assert troubles == []
