"""More than two classes on the page, in a real browser: keys for a few, a list to find one in for many."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from web_page import Page, begin_sorting, press, row, settle

FOUR = ("cat", "dog", "owl", "<b>fox</b>")
DIGITS = tuple("0123456789")
NINE = tuple(f"class {k}, with quite a long name" for k in range(9))
TWELVE = (
    "Äpfel", "bread", "cheese", "1", "10", "figs", "grapes", "ham and eggs", "ice cream " + 6 * "and more ", "jam",
    "كعك بالعسل", "lemons",
)  # fmt: skip
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], Path]:
    """A campaign of these classes on which nothing was done yet."""
    return cache(lambda names: begin_sorting(tmp_path_factory.mktemp("sorting"), names))


@pytest.fixture
def folder(request: pytest.FixtureRequest, made: Callable[[tuple[str, ...]], Path], tmp_path: Path) -> Path:
    return shutil.copytree(made(request.param), tmp_path / "items")


def classes(*names: tuple[str, ...]) -> pytest.MarkDecorator:
    """The test is of a campaign with each of these classes."""
    return pytest.mark.parametrize("folder", names, indirect=True, ids=[str(len(some)) for some in names])


def answered(tab: Tab, id: str) -> str:
    """The next row, once the answer to this one has arrived."""
    expect(tab.locator("#identity")).not_to_contain_text(id)
    settle(tab)
    return row(tab)


def find(tab: Tab, text: str) -> None:
    """Type once the row can have been read."""
    tab.wait_for_timeout(220)
    tab.keyboard.type(text)


@classes(FOUR)
def test_each_of_a_few_classes_has_a_button_and_a_key(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    said, id = {}, row(ada)
    expect(ada.locator(".answer")).to_have_text(["cat 1", "dog 2", "owl 3", "<b>fox</b> 4"])
    for key, name in zip("1234", FOUR, strict=True):
        press(ada, key)
        said[id], id = name, answered(ada, id)
    assert {one: page.campaign.state.rows[one].label for one in said} == said
    press(ada, "5")  # no class
    press(ada, "0")
    assert row(ada) == id and page.campaign.state.spent == 4
    press(ada, "u")
    last = list(said)[-1]
    expect(ada.locator("#identity")).to_contain_text(last)
    ada.wait_for_timeout(220)
    ada.get_by_role("button", name="owl").click()
    answered(ada, last)
    assert page.campaign.state.rows[last].label == "owl"


@classes(DIGITS)
def test_classes_that_are_digits_are_their_own_keys(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    press(ada, "0")
    second = answered(ada, first)
    press(ada, "3")
    answered(ada, second)
    assert [page.campaign.state.rows[id].label for id in (first, second)] == ["0", "3"]


@classes(TWELVE)
def test_many_classes_are_found_by_typing(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    field, options = ada.get_by_role("combobox", name="Find a class"), ada.get_by_role("option")
    id = row(ada)
    expect(field).to_be_focused()
    expect(options).to_have_text([name.strip() for name in TWELVE])
    press(ada, "Enter")  # nothing is typed, so nothing is meant
    assert row(ada) == id
    find(ada, "1")  # typed, and no key
    expect(options).to_have_text(["1", "10"])
    said = {}
    for keys, name in {
        ("Enter",): "1",
        ("1", "ArrowDown", "Enter"): "10",
        ("a", "p", "f", "Enter"): "Äpfel",
        ("s", "Enter"): "cheese",
        ("e", "g", "Space", "h", "a", "Enter"): "ham and eggs",
        ("كعك", "Enter"): "كعك بالعسل",
        ("ArrowUp", "Enter"): "lemons",
        ("x", "x", "Escape", "j", "Enter"): "jam",
    }.items():
        ada.wait_for_timeout(220)
        for key in keys:
            ada.keyboard.type(key) if key == "كعك" else ada.keyboard.press(key)
        said[id], id = name, answered(ada, id)
        expect(field).to_have_value("")
        expect(field).to_be_focused()
    assert {one: page.campaign.state.rows[one].label for one in said} == said


@classes(TWELVE)
def test_skip_and_undo_beside_the_list(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    press(ada, "Shift+Enter")
    second = answered(ada, first)
    find(ada, "fig")
    press(ada, "Control+z")  # takes back what was typed, and no answer
    assert row(ada) == second
    press(ada, "Escape")
    press(ada, "Control+z")
    expect(ada.locator("#identity")).to_contain_text(first)
    find(ada, "fig")
    press(ada, "Enter")
    answered(ada, first)
    assert page.campaign.state.rows[first].label == "figs" and page.campaign.state.spent == 1


@classes(TWELVE)
def test_what_is_typed_elsewhere_goes_to_the_field(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    first = row(ada)
    ada.locator("#fields").click()
    find(ada, "su")  # neither skips nor undoes
    expect(ada.locator("#find")).to_have_value("su")
    expect(ada.get_by_text("No class is like this.")).to_be_visible()
    press(ada, "Enter")
    assert row(ada) == first and page.campaign.state.spent == page.campaign.state.skipped == 0
    ada.locator("#find").fill("")
    ada.get_by_role("option", name="grapes").click()
    answered(ada, first)
    assert page.campaign.state.rows[first].label == "grapes"


@classes(TWELVE)
def test_a_screen_reader_is_told_which_class_is_meant(visit: Callable[..., Tab]) -> None:
    ada = visit("ada")
    row(ada)
    field = ada.get_by_role("combobox")
    expect(field).to_have_attribute("aria-controls", "classes")
    assert field.get_attribute("aria-activedescendant") is None
    find(ada, "le")
    expect(ada.get_by_role("option", selected=True)).to_have_text("lemons")
    meant = field.get_attribute("aria-activedescendant")
    expect(ada.locator(f"#{meant}")).to_have_text("lemons")
    expect(ada.locator("#classes")).to_have_attribute("role", "listbox")


@classes(FOUR, NINE, TWELVE)
def test_the_bar_leaves_room_for_the_row_on_a_phone(page: Page, visit: Callable[..., Tab]) -> None:
    ada = visit("ada", **PHONE)
    first = row(ada)
    assert ada.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert ada.evaluate("document.querySelector('.actions').offsetHeight <= 0.4 * innerHeight")
    sizes = "nodes => nodes.map(node => Math.min(node.offsetWidth, node.offsetHeight))"
    assert min(ada.locator(".actions button, .actions li").evaluate_all(sizes)) >= 44
    assert ada.evaluate("document.activeElement === document.body"), "the keyboard on the screen opens by itself"
    last = ada.locator(".answer, #classes li").last  # below, so that the bar scrolls
    ada.wait_for_timeout(220)
    last.tap()
    answered(ada, first)
    assert page.campaign.state.rows[first].label == page.campaign.settings.classes[-1]


@classes(FOUR, TWELVE)
def test_progress_counts_the_labels_of_every_class(page: Page, visit: Callable[..., Tab]) -> None:
    names = page.campaign.settings.classes
    for who, label in (("ada", names[1]), ("bob", names[1]), ("bob", names[-1])):
        (asked,) = page.campaign.ask(1, by=who)
        page.campaign.tell({asked.id: label}, by=who)
    grace = visit(None, **PHONE)
    lines = grace.locator("#by-class tbody tr")
    expect(lines).to_have_count(len(names))
    expect(grace.locator("#by-class thead tr > *")).to_have_text(["Class", "Labels", "", "bob", "ada"])
    found = {name: lines.nth(k).locator("td").all_inner_texts() for k, name in enumerate(names)}
    wanted = {name: ["0", "", "0", "0"] for name in names}
    assert found == wanted | {names[1]: ["2", "", "1", "1"], names[-1]: ["1", "", "1", "0"]}
    expect(grace.locator("#people tbody tr").first.locator("td").first).to_have_text("2")
    assert grace.evaluate("document.documentElement.scrollWidth <= innerWidth")
