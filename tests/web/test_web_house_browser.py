"""A campaign begun on the page, in a real browser: from two files to the first label. Every state is tried with axe."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as Tab

from axe import SHIFTS, cut, forget_shifts, violations
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from web_house import House, serving_house
from web_page import PATIENCE, press, row, settle

SIZES = {375: 667, 768: 1024, 1280: 800}
MOST_SHIFT = 0.02


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with serving_house(tmp_path) as house:
        yield house


@pytest.fixture
def tab(house: House, browser: Browser) -> Iterator[Tab]:
    """The administrator's browser. Errors of the page's scripts fail the test."""
    troubles: list[str] = []
    context = browser.new_context()
    context.set_default_timeout(1000 * PATIENCE)
    context.add_init_script(SHIFTS)
    expect.set_options(timeout=1000 * PATIENCE)  # the work runs in processes of its own
    tab = context.new_page()
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("console", lambda said: troubles.append(said.text) if "Security Policy" in said.text else None)
    tab.goto(house.link())
    tab.wait_for_selector("#new")
    yield tab
    context.close()
    assert troubles == []


def look(tab: Tab) -> None:
    """Refuse a state in which axe finds something, that is too wide or cuts a button, in any size and theme.

    Nothing may have moved since the page was opened, or since the last look at it.
    """
    assert tab.evaluate("shifted") < MOST_SHIFT
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        for width, height in SIZES.items():
            tab.set_viewport_size({"width": width, "height": height})
            assert violations(tab) == [], f"{theme}, {width} pixels"
            assert cut(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    forget_shifts(tab)  # another size moves everything


def upload(tab: Tab, role: str, path: Path) -> None:
    tab.set_input_files(f"#{role}-file", path)
    tab.get_by_role("button", name=f"Remove {path.name}").wait_for()


def test_from_two_files_to_the_first_label(house: House, tab: Tab, browser: Browser) -> None:
    look(tab)
    tab.keyboard.press("Tab")
    tab.fill("#name", "loans 2026")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/start/*")
    upload(tab, "log", LOG)
    upload(tab, "pool", POOL)
    look(tab)

    tab.get_by_role("button", name="Read the tables").press("Enter")
    expect(tab.locator("#columns-title")).to_be_focused()
    assert [tab.input_value(f"#{role}") for role in ("label", "positive", "id", "propensity")] == [
        "repaid", "yes", "application", "granted_with",
    ]  # fmt: skip
    look(tab)
    tab.get_by_label("Type of region").select_option("number")
    problem = tab.locator("#columns > .problem")
    expect(problem).to_contain_text("The column “region” cannot be read like this")
    expect(tab.locator("td .problem")).to_contain_text("log.csv line 2: column 'region' must hold numbers")
    expect(tab.locator("#columns [data-next]")).to_be_disabled()
    forget_shifts(tab)  # the two problems take room
    look(tab)
    tab.get_by_label("Type of region").select_option("category")
    expect(problem).to_be_hidden()
    expect(tab.locator("#columns [data-next]")).to_be_enabled()
    tab.evaluate("""() => { // the second before the server has replied to the first
        for (const [id, value] of [['positive', 'no'], ['type-age', 'ignore']]) {
            const select = document.getElementById(id);
            select.value = value;
            select.dispatchEvent(new Event('change', { bubbles: true }));
        }
    }""")
    expect(tab.get_by_text("Not learned from: by the type given.")).to_be_visible()
    assert tab.input_value("#positive") == "no"
    forget_shifts(tab)  # what is said of a column takes room

    tab.locator("#columns [data-next]").click()
    expect(tab.frame_locator("#audit-page").locator("h1")).to_contain_text("log.csv")
    look(tab)
    with tab.context.expect_page() as opened:
        tab.get_by_role("link", name="Open the audit").click()
    assert opened.value.locator("h1").inner_text() == tab.frame_locator("#audit-page").locator("h1").inner_text()

    tab.locator("#audit").get_by_role("button", name="Continue").click()
    tab.locator("#more-begin summary").click()
    tab.fill("#budget", "12")
    tab.fill("#overlap", "20")
    tab.fill("#question", "Did they repay?")
    tab.fill("#guidelines", "Within *a year*.")
    look(tab)
    tab.get_by_role("button", name="Begin the campaign").click()
    tab.wait_for_url("**/c/loans%202026/progress")
    with Campaign.open(house.folder / "loans 2026") as campaign:
        settings, shown = campaign.settings, campaign.arrangement
        assert (settings.budget, settings.classes) == (12, ("yes", "no"))
        assert settings.given == {"age": "ignore", "region": "category"}
        assert (shown.overlap, shown.question, shown.guidelines) == (0.2, "Did they repay?", "Within *a year*.")

    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.fill("#name", "ada")
    tab.get_by_role("button", name="Make a link").click()
    link = tab.locator("#invited-link")
    expect(link).to_have_value(re.compile(re.escape(f"{house.address}/c/loans%202026/enter#") + r"[\w-]{43}"))
    with browser.new_context() as context:
        context.set_default_timeout(1000 * PATIENCE)
        context.add_init_script(SHIFTS)
        ada = context.new_page()
        ada.goto(link.input_value())
        ada.wait_for_url("**/c/loans%202026/label")
        expect(ada.get_by_text("All campaigns")).to_have_count(0)
        first = row(ada)
        press(ada, "1")
        settle(ada)
        with Campaign.open(house.folder / "loans 2026") as campaign:
            assert campaign.state.spent == 1 and campaign.row(first).label == "no"
        ada.goto(f"{house.address}/")
        expect(ada.get_by_role("heading")).to_have_text("Open your link")
        look(ada)

    tab.get_by_role("link", name="All campaigns").click()
    expect(tab.locator(".campaigns li")).to_contain_text("1 of 12")
    expect(tab.locator(".campaigns li")).to_contain_text("1 · 1 labelling now")
    look(tab)


def test_a_draft_waits_and_is_discarded(house: House, tab: Tab) -> None:
    tab.fill("#name", "a/b")
    tab.keyboard.press("Enter")
    expect(tab.locator("#new-problem")).to_contain_text("none of them a slash")
    look(tab)
    tab.fill("#name", "others")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/start/*")
    upload(tab, "log", LOG)
    tab.get_by_role("button", name="Read the tables").click()
    expect(tab.locator("#tables p.problem")).to_have_text(
        "There is no pool yet. Upload one, or name its path on the server."
    )
    tab.fill("#pool-path", "/no/such/pool.csv")
    tab.get_by_role("button", name="Read the tables").click()
    expect(tab.locator("#tables p.problem")).to_contain_text("/no/such/pool.csv")
    look(tab)
    tab.goto(f"{house.address}/")
    tab.get_by_role("link", name="others").click()
    expect(tab.locator("#pool-path")).to_have_value("/no/such/pool.csv")
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.locator("#discard").click()
    tab.wait_for_url(f"{house.address}/")
    expect(tab.get_by_text("In preparation")).to_have_count(0)
    assert list(house.folder.iterdir()) == []


def test_work_is_cancelled_on_the_page(tab: Tab) -> None:
    tab.fill("#name", "loans")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/start/*")
    tab.fill("#log-path", str(LOG))
    tab.fill("#pool-path", str(POOL))
    tab.get_by_role("button", name="Read the tables").click()
    expect(tab.locator("#work-words")).to_contain_text("Reading the tables")
    tab.locator("#cancel").click()
    expect(tab.locator("#work")).to_be_hidden()
    expect(tab.get_by_role("button", name="Read the tables")).to_be_enabled()
