"""How much room the answers take, and what can be seen of them: small windows, long names, colours."""

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Page as Tab

from axe import SHIFTS, cut
from web_page import Page, begin, begin_sorting, press, row, serving

SEVEN = ("legitimate", "phishing", "advertisement", "newsletter", "كعك بالعسل", "somebody else's message", "other")
LONG = ("does not meet the requirements of the programme", "legitimate_interest_was_shown_and_documented")
THREE = ("spam", "phishing", "other")
LOW = [(640, 360), (667, 375), (320, 256), (568, 320), (844, 390), (915, 412), (480, 400), (700, 500)]
SMALL = [(320, 256), (667, 375), (375, 667), (360, 640), (768, 1024), (1280, 800)]
CONTRAST = """([selector, what]) => {
    const node = document.querySelector(selector);
    const rgb = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const linear = v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const light = colour => rgb(colour).map(v => linear(v / 255))
        .reduce((sum, v, k) => sum + v * [.2126, .7152, .0722][k], 0);
    const behind = node => { // the first that is not transparent
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (!/rgba\\(.*, 0\\)|color/.test(colour)) return colour;
        }
    };
    const own = getComputedStyle(node, what === 'placeholder' ? '::placeholder' : null);
    const front = what === 'border' ? own.borderTopColor : own.color;
    const all = what === 'border' ? [behind(node), behind(node.parentElement)] : [behind(node)];
    return Math.min(...all.map(light).map(l => {
        const f = light(front);
        return (Math.max(f, l) + .05) / (Math.min(f, l) + .05);
    }));
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    forty = tuple(f"sort {k}" for k in range(40))
    with contextlib.ExitStack() as stack:
        folder = tmp_path_factory.mktemp("room")
        folders = {"two": begin(folder / "two")}
        for name, names in (("long", LONG), ("three", THREE), ("seven", SEVEN), ("forty", forty)):
            folders[name] = begin_sorting(folder / name, names)
        yield {name: stack.enter_context(serving(where)) for name, where in folders.items()}


@contextlib.contextmanager
def opened(browser: Browser, page: Page, name: str | None = "ada", **how: object) -> Iterator[Tab]:
    with contextlib.closing(browser.new_context(**how)) as context:  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto(page.link(name))
        tab.wait_for_url("**/progress" if name is None else "**/label")
        yield tab


@pytest.mark.parametrize("which", ["two", "long", "seven", "forty"])
def test_the_bar_leaves_room_for_the_row_in_every_window(pages: dict[str, Page], browser: Browser, which: str) -> None:
    with opened(browser, pages[which]) as tab:
        row(tab)
        for width, height in SMALL:
            tab.set_viewport_size({"width": width, "height": height})
            tab.wait_for_function("size => innerWidth === size", arg=width)
            tab.evaluate("() => new Promise(requestAnimationFrame)")
            taken = tab.evaluate("document.querySelector('.actions').offsetHeight / innerHeight")
            stays = tab.evaluate("getComputedStyle(document.querySelector('.actions')).position") == "sticky"
            assert taken <= 0.4 or not stays, (width, height, taken)
            assert stays or height < 400 or which == "long", (width, height)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, height)


SEEN = """() => {
    const row = document.getElementById('fields').getBoundingClientRect(), bar = document.querySelector('.actions');
    const stays = getComputedStyle(bar).position === 'sticky';
    const end = stays ? Math.min(innerHeight, bar.getBoundingClientRect().top) : innerHeight;
    return [Math.min(row.bottom, end) - row.top, row.height];
}"""


@pytest.mark.parametrize("phone", [False, True], ids=["screen", "phone"])
@pytest.mark.parametrize("which", ["two", "long", "three", "seven", "forty"])
def test_the_row_is_seen_in_low_windows(pages: dict[str, Page], browser: Browser, which: str, phone: bool) -> None:
    """Two fifths of the window's height or the whole row, when the page is opened. Nothing moves meanwhile."""
    how: dict[str, object] = {"is_mobile": True, "has_touch": True} if phone else {}
    with opened(browser, pages[which], **how) as tab:
        tab.add_init_script(SHIFTS)
        row(tab)
        for width, height in LOW:
            tab.set_viewport_size({"width": width, "height": height})
            tab.reload()
            row(tab)
            seen, whole = tab.evaluate(SEEN)
            assert seen >= min(whole, 0.4 * height, 192) - 1, (width, height, seen, whole)
            assert tab.evaluate("shifted") < 0.02, (width, height)
            assert cut(tab) == [], (width, height)
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, height)
            lines = tab.locator("header.top").evaluate("node => node.offsetHeight")
            assert lines <= 56 or height >= 480, "the header is one line"


def test_a_notice_hides_neither_who_is_signed_in_nor_answers(pages: dict[str, Page], browser: Browser) -> None:
    for width, height in (*LOW, (375, 667), (1280, 800)):
        with opened(browser, pages["two"], viewport={"width": width, "height": height}) as tab:
            tab.add_init_script(SHIFTS)
            tab.route("**/api/tell", lambda route: route.abort())
            tab.reload()
            row(tab)
            before = tab.locator("#row").bounding_box()
            press(tab, "1")
            tab.get_by_role("alert").wait_for()
            assert tab.locator("#row").bounding_box() == before, (width, height)
            assert tab.evaluate("shifted") < 0.02
            notice, header = tab.locator("#notice").bounding_box(), tab.locator("header.top").bounding_box()
            assert notice and header and notice["y"] >= header["y"] + header["height"], (width, height)
            tab.evaluate("document.body.style.minHeight = '3000px'")
            tab.evaluate("scrollTo(0, 400)")
            tab.wait_for_function("scrollY > 300")
            notice = tab.locator("#notice").bounding_box()
            assert notice and 0 <= notice["y"] < height / 2, "it stays in sight"


@pytest.mark.parametrize("which", ["two", "long", "three", "seven", "forty"])
def test_no_word_on_a_button_is_cut_at_any_width(pages: dict[str, Page], browser: Browser, which: str) -> None:
    with opened(browser, pages[which]) as tab:
        row(tab)
        for width in (*range(320, 800, 20), 641, 769, 1014, 1280, 1920):
            tab.set_viewport_size({"width": width, "height": 700})
            tab.wait_for_function("size => innerWidth === size", arg=width)
            tab.evaluate("() => new Promise(requestAnimationFrame)")  # by then the page knows its size, too
            assert cut(tab) == [], width
            shortened = "node => getComputedStyle(node).textOverflow === 'ellipsis'"
            assert tab.evaluate(f"[...document.querySelectorAll('*')].filter({shortened}).length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_axe_does_not_measure_stands_out_as_well(pages: dict[str, Page], browser: Browser, theme: str) -> None:
    label = [("#find", "placeholder", 4.5), ("#find", "border", 3), ("[data-skip]", "border", 3), ("li", "border", 3)]
    progress = [("#name", "placeholder", 4.5), ("#name", "border", 3), ("#leave", "border", 3)]
    for which, name, looked in (("forty", "ada", label), ("two", None, progress)):
        with opened(browser, pages[which], name, color_scheme=theme) as tab:
            row(tab) if name else tab.wait_for_selector("#name:visible")
            for selector, what, least in looked:
                assert tab.evaluate(CONTRAST, [selector, what]) >= least, (selector, what)
    with opened(browser, pages["two"], color_scheme=theme) as tab:
        row(tab)
        for key in tab.locator(".actions [aria-disabled=false] kbd").all():
            key.evaluate("node => node.id = 'looked-at'")
            assert tab.evaluate(CONTRAST, ["#looked-at", "text"]) >= 4.5
            key.evaluate("node => node.id = ''")


def test_forced_colours_hide_neither_progress_nor_answers(pages: dict[str, Page], browser: Browser) -> None:
    with opened(browser, pages["two"], forced_colors="active") as tab:
        row(tab)
        for selector in ("#bar", ".actions", ".answer", ".other"):
            style = tab.locator(selector).first.evaluate(
                """node => {
                    const look = getComputedStyle(node);
                    return { width: look.borderTopWidth, line: look.borderTopColor, behind: look.backgroundColor };
                }"""
            )
            assert style["width"] != "0px", selector
            assert style["line"] != style["behind"], selector


def test_the_header_has_room_for_five_pages_and_a_long_name_on_a_phone(
    pages: dict[str, Page], browser: Browser
) -> None:
    name = "Ada Augusta King, Countess of Lovelace"
    with opened(browser, pages["two"], None, viewport={"width": 375, "height": 667}) as tab:
        tab.evaluate(
            """name => {
                const nav = document.querySelector('nav');
                for (const text of ['History', 'Conflicts', 'Campaign']) {
                    const link = nav.appendChild(document.createElement('a'));
                    link.href = '/';
                    link.textContent = text;
                }
                document.querySelector('.who').lastChild.textContent = name;
            }""",
            name,
        )
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        boxes = [node.bounding_box() for node in tab.locator("header :is(a, .who, button, .campaign span)").all()]
        assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= 375 for box in boxes)
        wider = "node => node.clientWidth > 1 && node.scrollWidth > node.clientWidth + 1"
        assert tab.evaluate(f"[...document.querySelectorAll('header *')].filter({wider}).length") == 0
