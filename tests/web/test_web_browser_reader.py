"""What the page says, and to whom: messages for the reader at hand, who is signed in, and leaving."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, expect
from playwright.sync_api import Page as Tab

from web_page import Page, press, row, settle

PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}


def test_a_refusal_says_what_to_do_on_the_page_and_goes_after_the_next_answer(
    page: Page, visit: Callable[..., Tab]
) -> None:
    one = visit("ada")
    first = row(one)
    two = one.context.new_page()
    two.goto(f"{page.address}/label")
    assert row(two) == first
    press(one, "1")
    expect(one.locator("#identity")).not_to_contain_text(first)
    settle(one)
    press(two, "0")
    said = f"row '{first}' already has your other answer, 'yes'. To change it, open History."
    expect(two.locator("#notice-text")).to_have_text(f"Your answer was not accepted: {said}")
    second = row(two)
    press(two, "0")
    expect(two.locator("#identity")).not_to_contain_text(second)
    expect(two.get_by_role("alert")).to_be_hidden(timeout=15_000)
    state = page.campaign.state
    assert (state.rows[first].label, state.rows[second].label) == ("yes", "no")


def test_somebody_whose_link_was_revoked_can_press_nothing(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    press(ada, "1")
    expect(ada.locator("#identity")).not_to_contain_text(first)
    settle(ada)
    page.campaign.revoke("ada")
    press(ada, "1")
    expect(ada.locator("#message-title")).to_have_text("Signed out")
    expect(ada.locator("#message-text")).to_have_text(
        "Your link was revoked. Ask the person who runs the campaign for a new one. "
        "Your last answer is kept in this browser until you are signed in again."
    )
    expect(ada.locator("#notice")).to_be_hidden()
    for button in ada.locator(".actions button").all():
        expect(button).to_be_disabled()
    press(ada, "u")
    expect(ada.locator("#message-title")).to_have_text("Signed out")


def test_an_administrator_after_a_restart_is_told_where_the_new_link_is(page: Page, visit: Callable[..., Tab]) -> None:
    grace = visit(None)
    expect(grace.locator("#fresh")).to_have_text("Live")
    page.app.state.access.admins._sessions.clear()  # they end with the server
    told = "Your session ended when the server was restarted. It printed a new link for you when it started."
    expect(grace.locator("#fresh")).to_have_text(told, timeout=15_000)
    for path in ("/", "/label", "/progress"):
        grace.goto(f"{page.address}{path}")
        expect(grace.locator("h1")).to_have_text("You are signed out")
        expect(grace.locator("#text")).to_have_text(told)
    grace.goto(page.link())
    grace.wait_for_url("**/progress")


def test_a_page_for_the_administrator_leads_others_back(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    ada.goto(f"{page.address}/progress")
    expect(ada.locator("h1")).to_have_text("For the administrator")
    ada.get_by_role("link", name="Go to your page").click()
    ada.wait_for_url("**/label")


def test_an_address_without_a_page_is_a_page(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    answer = ada.goto(f"{page.address}/foo")
    assert answer is not None
    assert answer.status == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert ada.title() == "Nothing here"
    expect(ada.locator("html")).to_have_attribute("lang", "en")
    ada.get_by_role("link", name="Go to the first page").click()
    ada.wait_for_url("**/label")
    programs = ada.request.get(f"{page.address}/api/foo")
    assert programs.status == 404
    assert programs.json()["detail"] == "Not Found"


@pytest.mark.parametrize("how", [{}, PHONE], ids=["screen", "phone"])
def test_the_page_says_who_is_signed_in_and_they_can_leave(
    page: Page, visit: Callable[..., Tab], how: dict[str, object]
) -> None:
    ada = visit("ada", **how)
    row(ada)
    expect(ada.locator(".who")).to_have_text("Signed in as ada")
    assert ada.locator(".who").evaluate("node => node.getBoundingClientRect().width > 0")
    ada.get_by_role("button", name="Sign out").click()
    ada.wait_for_url("**/enter")
    expect(ada.locator("h1")).to_have_text("Open your link")
    ada.goto(f"{page.address}/label")
    expect(ada.locator("h1")).to_have_text("Open your link")
    ada.goto(page.link("ada"))  # an annotator's link still works
    ada.wait_for_url("**/label")


def test_an_administrator_is_asked_before_leaving(page: Page, visit: Callable[..., Tab]) -> None:
    grace, asked = visit(None), []

    def no(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    grace.once("dialog", no)
    grace.get_by_role("button", name="Sign out").click()
    assert asked[0].startswith("Your link worked only once.")
    grace.reload()
    expect(grace.locator("h1")).to_have_text("Progress")
    grace.once("dialog", lambda dialog: dialog.accept())
    grace.get_by_role("button", name="Sign out").click()
    grace.wait_for_url("**/enter")
    grace.goto(f"{page.address}/progress")
    expect(grace.locator("h1")).to_have_text("Open your link")


def test_an_administrator_who_labels_as_somebody_else_is_themselves_again(
    page: Page, visit: Callable[..., Tab]
) -> None:
    grace = visit(None)
    grace.goto(page.link("ada"))
    expect(grace.locator("#text")).to_have_text("You are signed in as grace in this browser. This link is for ada.")
    grace.get_by_role("link", name="Stay signed in as grace").click()
    grace.wait_for_url("**/progress")
    grace.goto(page.link("ada"))
    grace.get_by_role("button", name="Go on as ada").click()
    grace.wait_for_url("**/label")
    first = row(grace)
    expect(grace.locator(".who")).to_have_text("Signed in as ada")
    press(grace, "1")
    expect(grace.locator("#identity")).not_to_contain_text(first)
    settle(grace)
    assert page.campaign.state.rows[first].by == "ada"
    for name in ("label", "history"):
        grace.goto(f"{page.address}/{name}")
        expect(grace.locator("header .who")).to_have_text("Signed in as ada")
        expect(grace.locator("nav a")).to_have_text(["Label", "History"])
        expect(grace.get_by_role("button", name="Sign out")).to_have_count(0)
    grace.get_by_role("button", name="Back to being grace").click()  # ada's link can be opened again: nobody is asked
    grace.wait_for_url("**/progress")
    expect(grace.locator(".who")).to_have_text("Signed in as grace")
    grace.get_by_role("link", name="Label").click()
    row(grace)
    expect(grace.locator(".who")).to_have_text("Signed in as grace")


def test_the_administrators_own_link_ends_labelling_as_somebody_else(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    ada.goto(page.link())
    ada.get_by_role("button", name="Go on as grace").click()
    ada.wait_for_url("**/progress")
    ada.get_by_role("link", name="Label").click()
    row(ada)
    expect(ada.locator(".who")).to_have_text("Signed in as grace")


@pytest.mark.parametrize("path", ["progress", "conflicts", "campaign"])
def test_an_administrators_page_ends_acting_as_somebody_else(page: Page, visit: Callable[..., Tab], path: str) -> None:
    grace = visit(None)
    grace.goto(page.link("ada"))
    grace.get_by_role("button", name="Go on as ada").click()
    grace.wait_for_url("**/label")
    first = row(grace)
    own = grace.context.new_page()
    own.goto(f"{page.address}/{path}")
    expect(own.locator(".who")).to_have_text("Signed in as grace")
    press(grace, "1")  # the page that was open is still ada's: it labels in nobody's name
    expect(grace.locator("#message-text")).to_contain_text("Reload the page. Your last answer is kept in this browser")
    assert page.campaign.refresh().spent == 0
    own.get_by_role("link", name="Label").click()
    assert row(own) != first
    expect(own.locator(".who")).to_have_text("Signed in as grace")
    grace.goto(page.link("ada"))
    expect(grace.locator("#text")).to_contain_text("You are signed in as grace")


def test_the_first_page_is_that_of_whom_an_administrator_acts_as(page: Page, visit: Callable[..., Tab]) -> None:
    grace = visit(None)
    grace.goto(page.link("ada"))
    grace.get_by_role("button", name="Go on as ada").click()
    grace.wait_for_url("**/label")
    grace.goto(page.link("bob"))
    grace.get_by_role("link", name="Stay signed in as ada").click()
    grace.wait_for_url("**/label")
    expect(grace.locator(".who")).to_have_text("Signed in as ada")


def test_signing_out_on_the_administrators_page_signs_out_the_administrator(
    page: Page, visit: Callable[..., Tab]
) -> None:
    grace = visit(None)
    other = grace.context.new_page()
    other.goto(page.link("ada"))
    other.get_by_role("button", name="Go on as ada").click()
    other.wait_for_url("**/label")
    grace.once("dialog", lambda dialog: dialog.accept())
    grace.get_by_role("button", name="Sign out").click()
    grace.wait_for_url("**/label")
    expect(grace.locator(".who")).to_have_text("Signed in as ada")
    expect(grace.locator("nav a")).to_have_text(["Label", "History"])
    expect(grace.get_by_role("button", name="Sign out")).to_be_visible()


def test_shortcut_keys_can_be_turned_off(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    keys = ada.get_by_role("checkbox", name="Shortcut keys")
    expect(keys).to_be_checked()
    keys.uncheck()
    expect(ada.locator("kbd").first).to_be_hidden()
    for key in "10su":
        press(ada, key)
    assert row(ada) == first
    ada.reload()
    assert row(ada) == first
    expect(keys).not_to_be_checked()
    expect(ada.locator("kbd").first).to_be_hidden()
    keys.check()
    expect(ada.locator("kbd").first).to_be_visible()
    press(ada, "1")
    expect(ada.locator("#identity")).not_to_contain_text(first)
    settle(ada)
    assert page.campaign.state.spent == 1


def test_a_screen_reader_is_told_briefly(visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    expect(ada.get_by_role("status")).to_have_text(f"Row {first}. 12 of 12 left.")
    assert ada.locator("#row").evaluate("node => node.closest('[aria-live], [role=status], [role=alert]')") is None
    press(ada, "1")
    expect(ada.get_by_role("status")).to_have_text(f"Row {row(ada)}. 12 of 12 left.")


def test_texts_are_written_in_their_own_direction(visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    row(ada)
    assert ada.locator("#fields :is(dt, dd):not([dir=auto])").count() == 0
    arabic = "node => { node.textContent = 'قرض للسيارة'; return getComputedStyle(node).direction; }"
    for text in ("#fields dd", ".answer span", ".campaign span", ".who"):
        assert ada.locator(text).first.evaluate(arabic) == "rtl", text
