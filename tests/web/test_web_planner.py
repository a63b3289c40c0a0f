"""The process that chooses rows beside the page: killed, it comes back; and the page over PostgreSQL."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import Route

from campaign_folder import move_to
from unskew.campaigns import Campaign
from unskew.campaigns.ledger import live
from unskew.campaigns.ledger.snapshot import FILE
from unskew.campaigns.user_cache import user_cache
from unskew.web.planner import InProcess, Outlook, Planner
from web_page import PATIENCE, Page, begin, links_of, serve_process, wait_for


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], httpx.Client, str]]:
    """`unskew serve` with its planner's own process: the server, a client who labels as ada, the admin's code."""
    with serve_process(str(folder), "--annotator", "ada", "--port", "0", "--json") as process:
        links = links_of(process)
        token = links["annotators"]["ada"].partition("#")[2]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=links["address"], headers=headers, timeout=30) as client:
            yield process, client, links["admin"].partition("#")[2]


def label(client: httpx.Client, wanted: int) -> list[str]:
    """Answer that number of rows, one by one."""
    done: list[str] = []
    work: dict[str, Any] = client.post("/api/ask", json={"n": 1}).raise_for_status().json()
    deadline = time.monotonic() + PATIENCE
    while len(done) < wanted and time.monotonic() < deadline:
        if not work["rows"]:
            time.sleep(0.05)
            work = client.post("/api/ask", json={"n": 1}).raise_for_status().json()
            continue
        done.append(work["rows"][0]["id"])
        said = {"answers": [{"id": done[-1], "label": "yes"}], "ask": 1}
        work = client.post("/api/tell", json=said).raise_for_status().json()["work"]
    assert len(done) == wanted
    return done


def planner_of(server: int) -> int:
    """The process that chooses rows: the server's child that is not a helper of multiprocessing."""

    def found() -> int:
        for thread in Path(f"/proc/{server}/task").iterdir():  # it is the child of the thread that started it
            for child in (thread / "children").read_text().split():
                with suppress(FileNotFoundError):
                    if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                        return int(child)
        return 0

    return wait_for(found, "there is a planner")


def test_a_planner_killed_with_9_is_started_again_and_labelling_goes_on(tmp_path: Path) -> None:
    folder = begin(tmp_path, budget=60)
    with served(folder) as (process, client, code):
        first = label(client, 3)
        killed = planner_of(process.pid)
        os.kill(killed, signal.SIGKILL)
        second = label(client, 25)  # more than were chosen before it died
        assert not set(first) & set(second)
        assert planner_of(process.pid) != killed
        del client.headers["Authorization"]
        client.post("/api/enter", json={"code": code}).raise_for_status()
        wait_for(lambda: client.get("/api/status").json()["trouble"] is None, "the planner has no trouble")
        assert client.get("/api/status").json()["spent"] == 28
    with Campaign.open(folder) as campaign:
        assert {id: row.label for id, row in campaign.state.rows.items() if row.label} == dict.fromkeys(
            [*first, *second], "yes"
        )


def test_ctrl_c_does_not_wait_for_a_planner_that_is_busy(tmp_path: Path) -> None:
    with served(begin(tmp_path)) as (process, _client, _code):
        planner = planner_of(process.pid)
        os.kill(planner, signal.SIGSTOP)  # as busy as can be: it does not even see that it is told to end
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(PATIENCE) == 0
            assert not Path(f"/proc/{planner}").exists()
        finally:
            with suppress(ProcessLookupError):
                os.kill(planner, signal.SIGKILL)
        assert process.stderr is not None
        assert process.stderr.read() == "Stopped. Every answer is in the ledger.\n"


def test_the_page_over_postgresql(tmp_path: Path, postgresql_url: str) -> None:
    folder = begin(tmp_path, budget=15)
    move_to(postgresql_url, folder)
    with served(folder) as (_, client, _code):
        done = label(client, 5)
        for _ in range(2):
            undone = client.post("/api/undo", json={"id": done[-1]}).raise_for_status().json()
            assert undone["rows"][0]["id"] == done[-1]
        assert len(label(client, 11)) == 11
        assert client.post("/api/ask", json={"n": 1}).json()["stand"] == "done"
    with Campaign.open(folder) as campaign:
        assert campaign.ledger.events(campaign.id)[0].kind == "started"
        assert (campaign.status().spent, campaign.status().left) == (15, 0)
        assert not (folder / "ledger.sqlite").exists()


def test_damage_to_old_events_is_shown_to_the_administrator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who opens the campaign from its snapshot reads them: the planner does, beside its work."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(live, "SNAPSHOT_AFTER", 5)
    folder = begin(tmp_path, budget=60)
    with Campaign.open(folder) as campaign:
        campaign.tell({row.id: "yes" for row in campaign.ask(8, by="ada")}, by="ada")
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER events_no_update")
        connection.execute("UPDATE events SET actor = 'eve' WHERE number = 4")
    with served(folder) as (_, client, code):
        del client.headers["Authorization"]
        client.post("/api/enter", json={"code": code}).raise_for_status()
        wait_for(lambda: client.get("/api/status").json()["damage"], "the damage is reported")
        status = client.get("/api/status").json()
        assert "event 4 of the ledger was changed" in status["damage"] and status["trouble"] is None
        assert not list(user_cache().rglob(FILE))


def test_the_progress_page_says_what_damage_means_until_it_is_repaired(page: Page, visit: Callable[..., Tab]) -> None:
    tab = visit(None)
    damage = "event 4 of the ledger was changed. Restore the ledger from a copy."

    def damaged(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(json={**answer.json(), "damage": damage})

    tab.route("**/api/status*", damaged)
    box = tab.locator("#trouble")
    box.wait_for(state="visible")
    words = box.inner_text()
    assert words.startswith("Event 4 of the ledger was changed. Restore the ledger from a copy. ")
    for part in ("still taken and kept", "no more rows are chosen", "unskew verify", "keep a copy"):
        assert part in words
    tab.unroute("**/api/status*")
    box.wait_for(state="hidden")


@pytest.mark.parametrize("damage", [None, "event 4 of the ledger was changed"])
def test_no_rows_are_chosen_for_a_damaged_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str | None
) -> None:
    watch = SimpleNamespace(damage=damage, look=lambda: damage)
    monkeypatch.setattr(Campaign, "watching", lambda _: watch)
    outlooks: list[Outlook] = []
    turns = iter([False, False, True])
    with Campaign.open(begin(tmp_path)) as campaign:
        Planner(campaign).run(lambda _: next(turns), outlooks.append)
        assert len(campaign.refresh().batches) == (0 if damage else 1)
    assert outlooks[-1].damage == damage


def test_a_planner_that_cannot_open_the_ledger_says_why(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    (folder / "ledger.sqlite").rename(folder / "elsewhere")
    planner = InProcess(folder)
    planner.start()
    try:
        wait_for(lambda: "ledger.sqlite is missing" in (planner.outlook.trouble or ""), "the planner reports it")
    finally:
        planner.stop()
