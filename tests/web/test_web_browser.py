"""The page in a real browser, used as a person would: by keyboard, by two at once, on a phone, off the network."""

import contextlib
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab

from web_page import PATIENCE, Page, begin, press, row, serving, settle

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
BUDGET = 12


def title(tab: Tab, text: str) -> None:
    expect(tab.locator("#message-title")).to_have_text(text, timeout=15_000)


def label_all(tab: Tab, keys: str = "10") -> list[str]:
    """Label by keyboard until nothing is left; the ids seen."""
    seen = []
    while True:
        tab.wait_for_function(
            """before => (document.querySelector('#fields dd') && !document.getElementById('fields').hidden
                && document.getElementById('identity')?.textContent !== before)
                || document.getElementById('message-title')?.textContent === 'Thank you'""",
            arg=f"Row {seen[-1][0]} · round {seen[-1][1]}" if seen else "",
        )
        if tab.locator("#message").is_visible():
            return [id for id, _ in seen]
        _, id, _, _, number = tab.locator("#identity").inner_text().split()
        seen.append((id, number))
        press(tab, keys[len(seen) % len(keys)])


def test_a_whole_campaign_by_keyboard(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    assert row(ada)
    assert "#" not in ada.url, "the token stays in the address bar"
    expect(ada.locator("h1")).to_have_text("Repaid?")
    expect(ada.locator("dt")).to_have_text(["Income", "Debt ratio", "Customer since", "Has job", "Purpose"])
    assert ada.locator("#left").inner_text().startswith("12 of 12 left · 10 in this round")
    seen = label_all(ada)
    title(ada, "Thank you")
    settle(ada)
    state = page.campaign.state
    assert len(seen) == len(set(seen)) == state.spent == BUDGET
    assert {state.rows[id].label for id in seen} == {"yes", "no"} and {state.rows[id].by for id in seen} == {"ada"}
    expect(ada.locator("#left")).to_have_text("0 of 12 left")
    expect(ada.locator("[data-key='1']")).to_be_disabled()


def test_two_people_never_see_the_same_row(page: Page, visit: Callable[..., Tab]) -> None:
    ada, bob = visit("ada"), visit("bob")
    seen: dict[str, list[str]] = {"ada": [], "bob": []}
    tabs = {"ada": ada, "bob": bob}
    deadline = time.monotonic() + PATIENCE
    while page.campaign.state.spent < BUDGET and time.monotonic() < deadline:
        for name, tab in tabs.items():
            if tab.locator("#fields dd:visible").count():
                id = row(tab)
                if not seen[name] or seen[name][-1] != id:
                    seen[name].append(id)
                    press(tab, "1")
            else:
                tab.wait_for_timeout(100)
    assert set(seen["ada"]).isdisjoint(seen["bob"]) and seen["ada"] and seen["bob"]
    assert {page.campaign.state.rows[id].by for id in seen["bob"]} == {"bob"}
    assert len(seen["ada"]) + len(seen["bob"]) == BUDGET


def test_skip_and_undo(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    expect(ada.get_by_role("button", name="Undo")).to_be_disabled()
    press(ada, "s")
    expect(ada.locator("#identity")).not_to_contain_text(first)
    second = row(ada)
    press(ada, "1")
    expect(ada.locator("#identity")).not_to_contain_text(second)
    settle(ada)
    state = page.campaign.state
    assert (state.rows[first].status, state.rows[second].label) == ("skipped", "yes")
    ada.reload()  # an undo is possible after a reload as well
    row(ada)
    press(ada, "u")
    expect(ada.locator("#identity")).to_contain_text(second)
    press(ada, "0")
    expect(ada.locator("#identity")).not_to_contain_text(second)
    settle(ada)
    assert page.campaign.state.rows[second].label == "no"
    press(ada, "u")
    expect(ada.locator("#identity")).to_contain_text(second)
    press(ada, "u")
    expect(ada.locator("#identity")).to_contain_text(first)
    settle(ada)
    assert page.campaign.state.rows[first].status == page.campaign.state.rows[second].status == "leased"


def test_a_lost_connection_loses_no_answer(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    ada.context.set_offline(True)
    press(ada, "1")
    expect(ada.get_by_role("alert")).to_contain_text("Your answer is kept and will be sent again")
    second = row(ada)  # the next row was there already
    assert second != first
    press(ada, "0")
    title(ada, "Getting the next row")
    expect(ada.get_by_role("alert")).to_contain_text("Your 2 answers are kept", timeout=15_000)
    assert page.campaign.state.spent == 0
    ada.context.set_offline(False)
    expect(ada.get_by_role("alert")).to_be_hidden()
    assert row(ada) not in (first, second)
    settle(ada)
    state = page.campaign.state
    assert (state.spent, state.rows[first].label, state.rows[second].label) == (2, "yes", "no")


def test_an_answer_that_arrived_unheard_counts_once(page: Page, visit: Callable[..., Tab]) -> None:
    """The server takes the answer, the connection breaks before it can say so, and the page is closed."""
    ada = visit("ada")
    first = row(ada)

    def swallow(route: Route) -> None:
        route.fetch()
        route.abort("connectionreset")

    ada.route("**/api/tell", swallow)
    press(ada, "1")
    expect(ada.get_by_role("alert")).to_contain_text("No connection")
    assert page.campaign.state.spent == 1
    ada.unroute("**/api/tell")
    ada.reload()
    settle(ada)
    assert row(ada) != first
    assert page.campaign.state.spent == 1 and page.campaign.state.rows[first].label == "yes"


@pytest.mark.parametrize("status", [404, 408])
def test_what_something_in_between_says_drops_no_answer(page: Page, visit: Callable[..., Tab], status: int) -> None:
    ada = visit("ada")
    first = row(ada)
    ada.route("**/api/tell", lambda route: route.fulfill(status=status, body="proxy"), times=1)
    press(ada, "1")
    expect(ada.get_by_role("alert")).to_contain_text("Your answer is kept and will be sent again")
    expect(ada.get_by_role("alert")).to_be_hidden()
    settle(ada)
    assert page.campaign.state.rows[first].label == "yes"


def test_a_second_tab_does_not_lose_what_the_first_could_not_send(page: Page, visit: Callable[..., Tab]) -> None:
    one = visit("ada")
    first = row(one)
    two = one.context.new_page()
    two.goto(f"{page.address}/label")
    assert row(two) == first  # a person has the same rows in all her tabs
    press(one, "1")
    expect(one.locator("#identity")).not_to_contain_text(first)
    settle(one)
    second = row(one)
    one.route("**/api/tell", lambda route: route.abort())
    press(one, "0")
    expect(one.get_by_role("alert")).to_contain_text("Your answer is kept")
    press(two, "1")  # known already
    expect(two.locator("#identity")).not_to_contain_text(first)
    one.close()
    assert page.campaign.state.rows[second].label is None
    two.reload()
    settle(two)
    assert page.campaign.state.rows[second].label == "no"


def test_an_answer_somebody_else_gave_meanwhile_is_said(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    page.campaign.answer(first, "no", by="bob")
    press(ada, "1")
    expect(ada.get_by_role("alert")).to_contain_text("Your answer was not accepted")
    assert row(ada) != first and page.campaign.state.rows[first].label == "no"


def test_phone_width(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada", **PHONE)
    first = row(ada)
    assert ada.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in ada.locator(".actions button").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44 and box["width"] >= 44
        assert box["y"] + box["height"] <= 640, "the buttons are on the screen without scrolling"
    ada.wait_for_timeout(220)
    ada.get_by_role("button", name="yes").tap()
    expect(ada.locator("#identity")).not_to_contain_text(first)
    grace = visit(None, **PHONE)
    grace.wait_for_selector("#people tbody tr")
    assert grace.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_keyboard_alone_reaches_everything(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    focused = ada.locator(":focus-visible")
    for text in ("Label", "History", "Sign out", "Comment"):
        ada.keyboard.press("Tab")
        expect(focused).to_have_text(text)
    ada.keyboard.press("Enter")
    expect(ada.get_by_label("Comment on this row")).to_be_focused()
    press(ada, "s")  # typed, not a key of an answer
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("alert")).to_contain_text("Your comment is kept.")
    expect(ada.locator(":focus")).to_have_text("Comment")
    assert [one.text for one in page.campaign.refresh().comments[first]] == ["s"]
    ada.keyboard.press("Tab")
    expect(focused).to_have_id("shortcuts")
    ada.keyboard.press("Tab")
    expect(focused).to_have_text("yes 1")
    assert focused.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    press(ada, "Enter")
    expect(ada.locator("#identity")).not_to_contain_text(first)
    expect(ada.locator(":focus")).to_have_text("yes 1")
    settle(ada)
    undo = ada.get_by_role("button", name="Undo")
    undo.focus()
    ada.keyboard.press("Enter")
    expect(ada.locator("#identity")).to_contain_text(first)
    expect(undo).to_be_disabled()  # nothing is left to take back
    expect(undo).to_be_focused()


def test_a_comment_goes_to_the_row_it_is_about(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    ada.locator("#note summary").click()
    ada.get_by_label("Comment on this row").fill("the debts look odd")
    ada.wait_for_timeout(220)
    ada.get_by_role("button", name="yes").click()  # without adding it first
    expect(ada.locator("#identity")).not_to_contain_text(first)
    expect(ada.get_by_label("Comment on this row")).to_be_hidden()
    settle(ada)
    said = page.campaign.refresh().comments
    assert {id: [one.text for one in given] for id, given in said.items()} == {first: ["the debts look odd"]}


def test_a_comment_whose_reply_was_lost_is_kept_once(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)

    def lose_the_reply(route: Route) -> None:
        route.fetch()
        route.abort()

    ada.route("**/api/comment", lose_the_reply, times=1)
    ada.locator("#note summary").click()
    field = ada.get_by_label("Comment on this row")
    field.fill("the debts look odd")
    field.press("Enter")
    expect(ada.locator("#notice-text")).to_contain_text("No connection.")
    field.press("Enter")
    expect(ada.locator("#notice-text")).to_contain_text("Your comment is kept.")
    assert [one.text for one in page.campaign.refresh().comments[first]] == ["the debts look odd"]


def test_nothing_in_the_data_becomes_markup(visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    row(ada)
    assert ada.locator("#fields b").count() == 0


def test_progress_updates_by_itself(page: Page, visit: Callable[..., Tab]) -> None:
    grace = visit(None)
    expect(grace.locator("#spent")).to_have_text("0 of 12")
    expect(grace.locator("#error-more")).to_have_text("Estimated from the log alone")
    words = grace.locator("#words p")
    expect(words).to_have_count(3, timeout=15_000)
    expect(words.nth(0)).to_have_text(re.compile("^Always saying “.*” would be wrong on .* It flags "))
    expect(words.nth(1)).to_have_text("The number rests on the log alone: no drawn row is labelled yet.")
    expect(words.nth(2)).to_have_text(re.compile("^The 12 labels that are left would bring the interval to about ±"))
    grace.get_by_label("Invite someone to label").fill("eve")
    grace.get_by_role("button", name="Make a link").click()
    expect(grace.locator("#invited")).to_contain_text("eve can label with this link")
    link = grace.get_by_label("The link", exact=True).input_value()
    page.tokens["eve"] = link.partition("#")[2]
    eve = visit("eve")
    label_all(eve)
    expect(grace.locator("#spent")).to_have_text("12 of 12", timeout=15_000)
    expect(grace.locator("#people tbody tr")).to_contain_text("eve")
    told = re.compile("^Error on everyone after 12 labels: ")
    expect(grace.locator("#chart svg")).to_have_attribute("aria-label", told, timeout=15_000)
    expect(grace.locator("#next-labels")).to_contain_text("lower the error by about", timeout=15_000)
    expect(words.nth(1)).to_have_text(re.compile("^The drawn labels say .*, the log says "))
    grace.on("dialog", lambda dialog: dialog.accept())
    grace.get_by_role("button", name="Revoke the link of eve").click()
    expect(grace.get_by_role("button", name="Revoke")).to_have_count(0)
    eve.reload()
    expect(eve.locator("h1")).to_have_text("You are signed out")
    revoked = "Your link was revoked. Ask the person who runs the campaign for a new one."
    expect(eve.locator("#text")).to_have_text(revoked)
    eve.goto(link)
    expect(eve.locator("#text")).to_have_text(revoked)


def test_the_form_knows_the_rule_for_names(visit: Callable[..., Tab]) -> None:
    name = visit(None).locator("#name")
    for said, wrong in (("+x", True), (" x", True), ("ada+bob", False), ("李雷", False), ("a😀", False)):
        assert (
            name.evaluate("(node, said) => { node.value = said; return node.validity.patternMismatch; }", said) == wrong
        )
    assert "begins with a letter, digit or underscore" in (name.get_attribute("title") or "")


def test_a_used_link_says_so(page: Page, browser: Browser) -> None:
    link = page.link()
    for expected in ("Progress", "This link does not work"):
        with contextlib.closing(browser.new_context()) as context:
            tab = context.new_page()
            tab.goto(link)
            expect(tab.locator("h1")).to_have_text(expected)
            if expected != "Progress":
                expect(tab.locator("#text")).to_contain_text("This link was used already, and it works only once.")


def test_another_link_in_the_tab_of_a_dead_one(page: Page, browser: Browser) -> None:
    with contextlib.closing(browser.new_context()) as context:
        tab = context.new_page()
        tab.goto(f"{page.address}/enter#dead")
        expect(tab.locator("h1")).to_have_text("This link does not work")
        expect(tab.locator("#text")).to_contain_text("This link is not known here. Check that you copied all of it.")
        tab.goto(page.link("ada"))
        tab.wait_for_url(f"{page.address}/label")


def test_a_pool_at_its_end_is_not_called_answered(browser: Browser, tmp_path: Path) -> None:
    with serving(begin(tmp_path, pool=3)) as page, contextlib.closing(browser.new_context()) as context:
        ada, grace = context.new_page(), context.new_page()
        ada.goto(page.link("ada"))
        assert len(label_all(ada, "ss1")) == 3
        expect(ada.locator("#message-text")).to_have_text(
            "No row is left to label. 1 of 12 labels were given. You can close this page."
        )
        grace.goto(page.link())
        expect(grace.locator("#text")).to_have_text("You are signed in as ada in this browser. This link is for grace.")
        grace.get_by_role("button", name="Go on as grace").click()
        expect(grace.locator("#held-more")).to_have_text("no row is left to label")


def test_waiting_while_rows_are_chosen(prepared: Path, tmp_path: Path, visit_held: Callable[[Path], None]) -> None:
    visit_held(shutil.copytree(prepared, tmp_path / "held"))


@pytest.fixture
def visit_held(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """A visit while the planner is kept from planning, until it is let go."""
    from unskew.campaigns import Campaign

    go, plan = threading.Event(), Campaign.plan

    def held(campaign: Campaign, k: int) -> bool:
        assert go.wait(60), "nobody let it go"
        return plan(campaign, k)

    def run(folder: Path) -> None:
        monkeypatch.setattr(Campaign, "plan", held)
        try:
            with serving(folder) as page, contextlib.closing(browser.new_context()) as context:
                tab = context.new_page()
                tab.goto(page.link("ada"))
                title(tab, "Choosing the next rows")
                go.set()
                assert row(tab)
        finally:
            go.set()

    return run
