"""Answers that are read slowly, and too many requests of one person: memory stays bounded, and others are served."""

import asyncio
import contextlib
import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import polars as pl
import pytest

from unskew.campaigns import Campaign
from unskew.web import connections, desk
from unskew.web.limits import Limits
from web_page import Page, connect, occupied, rows, serving, wait_for

SLOW, ASKED, ROW = 15, 100, 290_000


@pytest.fixture(scope="module")
def heavy(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with large rows, of which more than a hundred are ready."""
    folder = tmp_path_factory.mktemp("heavy")
    picture = pl.lit("data:image/png;base64," + "A" * ROW).alias("picture")
    log = pl.read_parquet(prepared.parent / "log.parquet").with_columns(pl.lit("none").alias("picture"))
    pool = pl.read_parquet(prepared.parent / "pool.parquet").with_columns(picture)
    campaign = Campaign.create(
        folder / "loans", log=log, pool=pool, label="repaid", propensity="q0", id="application", budget=150,
        classes=("no", "yes"),
    )  # fmt: skip
    with campaign:
        campaign.plan(120)
    return folder / "loans"


@pytest.fixture
def folder(heavy: Path, tmp_path: Path) -> Path:
    return shutil.copytree(heavy, tmp_path / "loans")


def megabytes() -> float:
    """The memory of this process, in which the server runs."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


@contextlib.contextmanager
def slow_readers(page: Page, name: str, n: int) -> Iterator[list[socket.socket]]:
    """Connections that ask for many rows, and do not read the answer."""
    page.link(name)
    body = json.dumps({"n": ASKED})
    head = f"POST /api/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {page.tokens[name]}\r\n"
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(n):
            one = stack.enter_context(connect(page, receive=4096))
            one.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            opened.append(one)
        yield opened


def test_a_reply_holds_as_many_rows_as_fit_and_no_others_are_kept(
    page: Page, client: Callable[..., httpx.Client]
) -> None:
    ada = client("ada")
    answer = ada.post("/api/ask", json={"n": ASKED})
    ids = [row["id"] for row in answer.json()["rows"]]
    assert len(ids) == 3 and len(answer.content) < desk.REPLY + 1000
    assert {row.id for row in page.campaign.state.open.values() if row.held_by("ada")} == set(ids)
    said = {"answers": [{"id": ids[0], "label": "yes"}], "ask": ASKED}
    assert len(ada.post("/api/tell", json=said).json()["work"]["rows"]) == 3
    assert len(ada.post("/api/undo", json={"id": ids[0], "ask": ASKED}).json()["rows"]) == 3


def test_a_row_that_is_too_large_comes_alone(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "REPLY", 1000)
    assert len(rows(client("ada"), 5)["rows"]) == 1


def test_slow_readers_do_not_fill_the_memory_and_are_dropped_while_others_are_served(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "READ", 2.0)
    free = Limits(person_rate=1e6, person_burst=10**6, address_rate=1e6, address_burst=10**6)
    with serving(folder, free) as page, httpx.Client(base_url=page.address, timeout=30) as bob:
        page.link("bob")
        bob.headers["Authorization"] = f"Bearer {page.tokens['bob']}"
        assert len(rows(bob, 2)["rows"]) == 2
        before = megabytes()
        with slow_readers(page, "eve", SLOW) as slow:
            assert all(len(rows(bob, 2)["rows"]) == 2 for _ in range(10))
            assert megabytes() - before < 100  # it would be 15 times 30 MB

            def dropped(one: socket.socket) -> bool:
                with contextlib.suppress(ConnectionResetError):
                    while one.recv(1 << 16):
                        pass
                return True

            wait_for(lambda: not page.in_flight(), "answers that nobody reads are given up")
            assert all(map(dropped, slow))


def test_one_person_has_few_requests_at_once(folder: Path) -> None:
    with serving(folder, Limits()) as page, httpx.Client(base_url=page.address, timeout=30) as client:
        page.link("eve")
        client.headers["Authorization"] = f"Bearer {page.tokens['eve']}"
        rows(client)  # from now on the server knows whose token that is
        with ThreadPoolExecutor(5) as many, occupied(page):
            waiting = [many.submit(client.post, "/api/ask", json={}) for _ in range(4)]
            wait_for(lambda: page.in_flight() == 4, "four requests wait")
            refused = client.post("/api/ask", json={})
            assert refused.status_code == 429 and refused.headers["retry-after"] == "1"
            assert refused.json()["detail"].startswith("4 requests at once are the most.")
            assert httpx.get(f"{page.address}/enter").status_code == 200
        assert [one.result().status_code for one in waiting] == [200] * 4
        wait_for(lambda: not page.in_flight(), "nothing is left over")


def test_one_address_has_not_too_many_requests_at_once(folder: Path) -> None:
    with serving(folder, Limits(address_most=2)) as page, httpx.Client(base_url=page.address, timeout=30) as client:
        with ThreadPoolExecutor(2) as many, occupied(page):
            waiting = [many.submit(client.post, "/api/enter", json={"code": "guess"}) for _ in range(2)]
            wait_for(lambda: page.in_flight() == 2, "two requests wait")
            assert client.get("/enter").status_code == 429
        assert [one.result().status_code for one in waiting] == [401, 401]
        assert client.get("/enter").status_code == 200


def test_no_part_of_an_answer_is_held_back(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers and body are sent apart. Without the option, the body waits until the headers are acknowledged."""
    found, made = [], connections.Connection.connection_made

    def watched(self: connections.Connection, transport: asyncio.Transport) -> None:
        made(self, transport)
        found.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    monkeypatch.setattr(connections.Connection, "connection_made", watched)
    assert client().get("/enter").status_code == 200
    assert found == [1]
