"""The page in a real browser while the server is busy: it says so, waits as long as it is told, and loses nothing."""

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from unskew.web import turns
from web_page import Page, occupied


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
