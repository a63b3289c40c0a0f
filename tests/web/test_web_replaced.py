"""The page while the ledger's file is not in its place: everybody is told, nothing is taken, and nothing is lost."""

import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from unskew.campaigns import Campaign
from unskew.errors import LedgerReplaced
from web_house import serving_house
from web_page import PATIENCE, Page, begin, links_of, rows, serve_process, serving, tell, wait_for


def answers(ledger: Path) -> dict[str, str]:
    """What counts in a ledger, in plain SQL."""
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as connection:
        bodies = connection.execute("SELECT body FROM events WHERE kind = 'answered' ORDER BY id").fetchall()
    return {one["id"]: one["label"] for one in map(json.loads, (body for (body,) in bodies))}


def saved_in(folder: Path) -> Path:
    """The one file that was saved, by whichever process was first."""
    (path,) = wait_for(lambda: list(folder.glob("ledger.rescued-*.sqlite")), "the ledger is saved")
    return Path(path)


def put_back(saved: Path, ledger: Path) -> None:
    """What the message says."""
    for end in ("-wal", "-shm"):
        ledger.with_name(ledger.name + end).unlink(missing_ok=True)
    shutil.move(saved, ledger)


@pytest.fixture
def shared(folder: Path) -> Path:
    """The ledger of a campaign that is served."""
    return folder / "ledger.sqlite"


def test_everybody_is_told_and_the_page_goes_on_once_it_is_repaired(
    folder: Path, shared: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(folder) as page, httpx.Client(base_url=page.address, timeout=30) as ada:
        page.link("ada")
        ada.headers["Authorization"] = f"Bearer {page.tokens['ada']}"
        with httpx.Client(base_url=page.address, timeout=30) as lead:
            code = page.link().partition("#")[2]
            lead.post("/api/enter", json={"code": code}).raise_for_status()
            first, second = (row["id"] for row in rows(ada, 2)["rows"])
            assert tell(ada, first, "yes").status_code == 200
            shared.unlink()
            for refused in (tell(ada, second, "no"), ada.post("/api/ask", json={})):
                assert refused.status_code == 503 and int(refused.headers["retry-after"]) > 0
                problem = refused.json()
                assert problem["lasting"] and "the file with all answers is not in its place" in problem["detail"]
                assert "sqlite" not in refused.text and str(folder) not in refused.text
            polled = lead.get("/api/status")
            saved = saved_in(folder)
            assert polled.status_code == 503 and str(saved) in polled.json()["detail"]
            shown = lead.get("/progress")
            assert shown.status_code == 503 and saved.name in shown.text and shown.headers["refresh"]
            assert answers(saved) == {first: "yes"}
            assert not shared.exists()
            put_back(saved, shared)
            assert tell(ada, second, "no").json()["answered"] == 1
            assert lead.get("/api/status").json()["spent"] == 2
    assert answers(shared) == {first: "yes", second: "no"}
    assert "was deleted or moved while this program used it" in caplog.text


def test_annotators_read_it_and_their_answers_are_kept(
    page: Page, folder: Path, shared: Path, visit: Callable[..., Tab]
) -> None:
    ada, grace = visit("ada"), visit(None)
    ada.wait_for_selector("#fields dd:visible")
    expect(grace.locator("#fresh")).to_have_text("Live")
    shared.rename(folder / "away")
    ada.wait_for_timeout(220)
    ada.keyboard.press("1")
    kept = re.compile(r"^The file with all answers is not in its place.* Your answer is kept and will be sent again ")
    expect(ada.locator("#notice-text")).to_have_text(kept, timeout=15_000)
    expect(grace.locator("#trouble")).to_have_text(re.compile("deleted or moved.*ledger.rescued-"), timeout=15_000)
    expect(grace.locator("#fresh")).to_have_text("Answers cannot be taken. Trying again.")
    (folder / "away").rename(shared)
    expect(ada.locator("#notice")).to_be_hidden(timeout=20_000)
    expect(grace.locator("#fresh")).to_have_text("Live", timeout=20_000)
    expect(grace.locator("#trouble")).to_be_hidden()
    assert page.campaign.state.spent == 1


def test_a_server_that_stops_says_where_the_answers_are(tmp_path: Path) -> None:
    folder = begin(tmp_path, budget=3)
    with serve_process(str(folder), "--annotator", "ada", "--port", "0", "--json") as process:
        links = links_of(process)
        token = links["annotators"]["ada"].partition("#")[2]
        with httpx.Client(base_url=links["address"], timeout=30) as ada:
            ada.headers["Authorization"] = f"Bearer {token}"
            id = wait_for(lambda: ada.post("/api/ask", json={"n": 1}).json()["rows"], "a row is chosen")[0]["id"]
            assert tell(ada, id, "yes").status_code == 200
        (folder / "ledger.sqlite").unlink()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 2
        assert process.stderr is not None
        said = process.stderr.read()
    saved = saved_in(folder)
    assert "Every answer is in the ledger" not in said and "Traceback" not in said
    assert f"All that was acknowledged is in {saved}." in said.splitlines()[-1]
    assert answers(saved) == {id: "yes"}
    put_back(saved, folder / "ledger.sqlite")
    with Campaign.open(folder) as campaign:
        assert campaign.row(id).label == "yes"


def test_a_house_keeps_what_was_answered_in_a_folder_that_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = begin(tmp_path / "house")
    with Campaign.open(folder) as campaign:
        token = campaign.invite("ada")
    with serving_house(tmp_path / "house") as house:
        with httpx.Client(base_url=f"{house.address}/c/loans", timeout=30) as ada:
            ada.headers["Authorization"] = f"Bearer {token}"
            id = rows(ada)["rows"][0]["id"]
            assert tell(ada, id, "yes").status_code == 200
            shutil.rmtree(folder)
            assert tell(ada, id, "no").status_code in (404, 503)
        problems = house.app.state.rooms.problems
    assert "All that was acknowledged is in" in problems[0]
    (saved,) = (tmp_path / "state").rglob("ledger.rescued-*.sqlite")
    assert answers(saved) == {id: "yes"}


def test_a_script_is_told_when_it_ends(folder: Path, shared: Path) -> None:
    campaign = Campaign.open(folder)
    (row,) = campaign.ask(1, by="ann")
    campaign.tell({row.id: "yes"}, by="ann")
    shared.unlink()
    with pytest.raises(LedgerReplaced, match="All that was acknowledged is in"):
        campaign.close()
    assert answers(saved_in(folder)) == {row.id: "yes"}
