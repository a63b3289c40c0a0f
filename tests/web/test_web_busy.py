"""The page while another process holds the ledger, or too many want it at once: refused soon, and no page hangs."""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from campaign_folder import STORES, move_to
from unskew.campaigns import Campaign
from unskew.web import turns
from web_page import Page, occupied, rows, serving, tell, wait_for

OPEN = ("/enter", "/openapi.json", "/label", "/progress", "/nothing")
"""What needs no ledger, for somebody without a cookie."""


@pytest.fixture(params=STORES)
def stored(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A campaign in each kind of store."""
    if request.param == "postgresql":
        move_to(request.getfixturevalue("postgresql_database"), folder)
    return folder


@contextlib.contextmanager
def locked(campaign: Campaign) -> Iterator[None]:
    """Another program in a transaction that writes."""
    url = campaign.ledger._url
    if url.get_backend_name() == "sqlite":
        with contextlib.closing(sqlite3.connect(str(url.database))) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
    else:
        plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain) as other:
            other.execute("SELECT id FROM campaigns WHERE id = %s FOR UPDATE", (campaign.id,))
            yield


def test_fifty_requests_on_a_locked_ledger_are_refused_soon_and_pages_do_not_wait(stored: Path) -> None:
    with (
        serving(stored) as page,
        httpx.Client(base_url=page.address, timeout=15) as nobody,
        httpx.Client(base_url=page.address, timeout=15) as client,
    ):
        page.link("ada")
        client.headers["Authorization"] = f"Bearer {page.tokens['ada']}"
        id = rows(client)["rows"][0]["id"]

        def send(k: int) -> httpx.Response:
            said = {"answers": [{"id": id, "label": "yes"}], "ask": 1}
            to, body = (("ask", {"n": 2}), ("tell", said))[k % 2]
            return client.post(f"/api/{to}", json=body)

        with locked(page.campaign), ThreadPoolExecutor(50) as many:
            sent = [many.submit(send, k) for k in range(50)]
            wait_for(lambda: page.app.state.turns._waiting, "requests wait")
            found = [nobody.get(path).status_code for path in OPEN]
            assert found == [200, 200, 401, 401, 404] and nobody.post("/api/ask", json={}).status_code == 401
            assert not all(one.done() for one in sent)
            answers = [one.result() for one in sent]  # none gives up: each is answered in time
        assert {answer.status_code for answer in answers} == {503}
        assert len({answer.headers["retry-after"] for answer in answers}) > 1
        assert {answer.json()["detail"] for answer in answers} == {
            "the server is busy. Nothing was changed; try again."
        }
        assert page.campaign.state.spent == 0
        assert send(1).json()["answered"] == 1


def test_a_page_that_would_wait_too_long_tries_again_by_itself(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = client(link=page.link("ada"))
    monkeypatch.setattr(turns, "QUEUE", 0.1)
    with occupied(page):
        for path in ("/", "/label", "/progress"):
            refused = ada.get(path)
            assert refused.status_code == 503 and "The server is busy" in refused.text
            assert refused.headers["refresh"] == refused.headers["retry-after"]
        refused = ada.post("/api/ask", json={})
        assert refused.status_code == 503 and int(refused.headers["retry-after"]) in turns.AGAIN
    assert ada.get("/label").status_code == 200


def test_a_request_that_was_refused_is_not_done_later(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = page.link()
    with occupied(page):
        monkeypatch.setattr(turns, "QUEUE", 0.1)
        assert client().post("/api/enter", json={"code": link.partition("#")[2]}).status_code == 503
    monkeypatch.undo()
    assert client(link=link).get("/progress").status_code == 200  # the code, which works once, was not used up


def test_only_so_many_requests_wait(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "MOST", 2)
    monkeypatch.setattr(turns, "QUEUE", 60.0)
    enter = {"code": "guess"}
    with ThreadPoolExecutor(2) as two, occupied(page):
        waiting = [two.submit(client().post, "/api/enter", json=enter) for _ in range(2)]
        wait_for(lambda: page.app.state.turns._waiting == 2, "two requests wait")
        assert client().post("/api/enter", json=enter).status_code == 503
        assert not any(one.done() for one in waiting)
    assert [one.result().status_code for one in waiting] == [401, 401]


def test_a_skip_or_answer_refused_for_a_lock_is_logged_for_the_administrator_only(
    page: Page, client: Callable[..., httpx.Client], caplog: pytest.LogCaptureFixture
) -> None:
    ada = client("ada")
    id = rows(ada)["rows"][0]["id"]
    with locked(page.campaign):
        refused = tell(ada, id, None)
    assert refused.status_code == 503 and "sqlite" not in refused.text
    assert re.search(r"ledger .*ledger.sqlite: database is locked", caplog.text)
