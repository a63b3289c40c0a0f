"""The page in a real browser while the server is busy, or refuses more in a minute: it says so, and loses nothing."""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from unskew.web import api, turns
from unskew.web.limits import Minutes
from web_page import Page, occupied, press, row, settle, wait_for


@contextlib.contextmanager
def locked(page: Page) -> Iterator[None]:
    """Another program in a transaction that writes."""
    with contextlib.closing(sqlite3.connect(page.campaign.folder.ledger)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_an_answer_on_a_locked_ledger_is_kept_and_sent_again(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    ada.wait_for_selector("#fields dd:visible")
    with locked(page):
        ada.wait_for_timeout(220)
        ada.keyboard.press("1")
        said = re.compile(r"^The server is busy. Your answer is kept and will be sent again in [2-5] seconds.$")
        expect(ada.locator("#notice-text")).to_have_text(said, timeout=15_000)
        assert page.campaign.state.spent == 0
    expect(ada.locator("#notice")).to_be_hidden(timeout=15_000)
    assert page.campaign.state.spent == 1


def test_rows_are_asked_for_again_when_the_server_says(
    page: Page, visit: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = visit("ada")
    ada.wait_for_selector("#fields dd:visible")
    monkeypatch.setattr(turns, "AGAIN", (4,))
    with locked(page):
        ada.evaluate("location.reload()")
        said = "The server is busy. Trying again in 4 seconds."
        expect(ada.locator("#notice-text")).to_have_text(said, timeout=15_000)
    expect(ada.locator("#notice")).to_be_hidden(timeout=15_000)
    ada.wait_for_selector("#fields dd:visible")


def test_links_and_pages_open_by_themselves_once_the_server_is_free(
    page: Page, visit: Callable[..., Tab], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, grace = visit("ada"), visit(None)
    ada.wait_for_selector("#fields dd:visible")
    expect(grace.locator("#fresh")).to_have_text("Live")
    link = page.link("bob")
    context = browser.new_context()
    bob = context.new_page()
    monkeypatch.setattr(turns, "QUEUE", 0.2)
    with occupied(page):
        expect(grace.locator("#fresh")).to_have_text("The server is busy. Trying again.", timeout=15_000)
        bob.goto(link)
        expect(bob.locator("#text")).to_have_text("The server is busy. Trying again.", timeout=15_000)
        ada.goto(f"{page.address}/label")
        expect(ada.locator("#text")).to_have_text("The server is busy. This page tries again soon.", timeout=15_000)
    monkeypatch.undo()
    bob.wait_for_url("**/label", timeout=15_000)
    ada.wait_for_selector("#fields dd:visible", timeout=15_000)
    expect(grace.locator("#fresh")).to_have_text("Live", timeout=15_000)
    context.close()


def test_an_undo_beyond_the_limit_is_refused_at_once(
    page: Page, visit: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(api.MOST_A_MINUTE, "changes", 1)
    ada = visit("ada")
    row(ada)
    press(ada, "1")
    settle(ada)
    reading, undo = row(ada), ada.get_by_role("button", name="Undo")
    assert page.app.state.minutes["changes"].take("annotator ada", most=1) == 0.0
    undo.click()
    why = re.compile(r"^Nothing was taken back: 1 changes a minute are the most. Go on in \d+ seconds.$")
    expect(ada.locator("#notice-text")).to_have_text(why)
    expect(ada.locator("#retry")).to_be_hidden()
    assert row(ada) == reading and page.campaign.state.spent == 1
    settle(ada)  # nothing waits to be sent
    page.app.state.minutes["changes"] = Minutes()  # as after a minute
    expect(undo).to_be_enabled()
    undo.click()
    wait_for(lambda: page.campaign.state.spent == 0, "the answer is taken back")
    expect(ada.locator("#identity")).not_to_contain_text(reading)
    press(ada, "1")
    wait_for(lambda: page.campaign.state.spent == 1, "the next answer is taken")


def test_the_history_says_how_much_is_allowed_in_a_minute(
    page: Page, visit: Callable[..., Tab], monkeypatch: pytest.MonkeyPatch
) -> None:
    for what in api.MOST_A_MINUTE:
        monkeypatch.setitem(api.MOST_A_MINUTE, what, 1)
    ada = visit("ada")
    row(ada)
    press(ada, "1")
    settle(ada)
    for what in api.MOST_A_MINUTE:
        assert page.app.state.minutes[what].take("annotator ada", most=1) == 0.0
    ada.goto(f"{page.address}/history")
    ada.locator("#answers summary").click()
    ada.locator("#answers .comment [name=text]").fill("hard to say")
    for name, what in ((".comment", "comments"), (".correct", "changes")):
        ada.locator(f"#answers {name} [type=submit]").click()
        why = re.compile(rf"^1 {what} a minute are the most. Go on in \d+ seconds.$")
        expect(ada.locator("#answers .problem")).to_have_text(why)
