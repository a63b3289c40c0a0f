"""The documentation site, built once: docstrings leak no tags or quotes into it, and its pages have a sane size."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unskew"
TALLEST = 40_000
"""Pixels, at a width of 1280: some forty screens. The longest page has thirty."""

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
PLAIN = VOID | {
    "a", "abbr", "article", "aside", "b", "blockquote", "body", "button", "caption", "code", "colgroup", "dd", "del",
    "details", "dialog", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4",
    "h5", "h6", "head", "header", "html", "i", "ins", "kbd", "label", "li", "main", "mark", "nav", "ol", "p", "pre",
    "s", "script", "section", "small", "span", "strong", "style", "sub", "summary", "sup", "table", "tbody", "td",
    "template", "tfoot", "th", "thead", "title", "tr", "u", "ul",
}  # fmt: skip
"""The tags a page is made of. Any other comes from text that was meant to be read, such as <View> in a doctest."""

DRAWING = {"svg", "path", "g", "circle", "rect"}
"""The theme's icons."""


class Page(HTMLParser):
    """Collects what no page may hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.anchors: set[str] = set()
        self.quotes = 0
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.anchors |= {value for name, value in attributes if name == "id" and value}
        if tag not in PLAIN and not (tag in DRAWING and (tag == "svg" or "svg" in self.open)):
            self.problems.append(f"raw tag {self.get_starttag_text()} at line {self.getpos()[0]}")
        if tag == "blockquote":
            self.quotes += 1
            if "blockquote" in self.open:
                self.problems.append(f"a quote inside a quote at line {self.getpos()[0]}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]} at line {self.getpos()[0]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "em" in self.open and data.count("(") != data.count(")"):  # as from the stars of B(h*, r) and DIS(h*)
            self.problems.append(f"emphasis by accident at line {self.getpos()[0]}: {data.strip()[:80]!r}")
        if not {"code", "pre", "script", "style"} & set(self.open):
            for stray in (">>>", "::", "```", "--8<--"):
                if stray in data:
                    self.problems.append(f"{stray} outside code at line {self.getpos()[0]}: {data.strip()[:80]!r}")


def built(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.html"))}


def modules() -> set[str]:
    """Every module and package, by its dotted name."""
    parts = (path.relative_to(SOURCE.parent).with_suffix("").parts for path in SOURCE.rglob("*.py"))
    return {".".join(part for part in one if part != "__init__") for one in parts}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return folder


def test_nothing_of_a_docstring_leaks_into_a_page(site: Path) -> None:
    pages = {name: Page(path.read_text()) for name, path in built(site).items()}
    assert len(pages) > 40
    assert {name: page.problems for name, page in pages.items() if page.problems} == {}
    assert [name for name, page in pages.items() if name.startswith("reference/") and page.quotes] == []


def test_doctests_are_highlighted(site: Path) -> None:
    """Every prompt is one by its class, outside the sources that a reader may unfold."""
    prompts = 0
    for name, path in built(site).items():
        text = re.sub(r"<details.*?</details>", "", path.read_text(), flags=re.S)
        marked = len(re.findall(r'<span class="gp">&gt;&gt;&gt; ?</span>', text))
        assert text.count("&gt;&gt;&gt;") == marked, name
        prompts += marked
    assert prompts > 100


def test_every_module_is_on_exactly_one_reference_page(site: Path) -> None:
    pages = {path.stem: path.read_text() for path in (ROOT / "docs/reference").glob("*.md")}
    named = Counter(name for text in pages.values() for name in re.findall(r"^::: (\S+)", text, re.M))
    assert {name for name, times in named.items() if times > 1} == set()
    assert set(named) == modules()
    for page, text in pages.items():
        anchors = Page((site / f"reference/{page}.html").read_text()).anchors
        assert set(re.findall(r"^::: (\S+)", text, re.M)) <= anchors, page


def test_every_module_is_on_the_map_of_contributing() -> None:
    """One line each: the name of the module, and what it is for."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    tree = text.split("## Layout", 1)[1].split("\n## ", 1)[0]
    folders: list[str] = []
    shown = Counter[str]()
    for line in tree.splitlines():
        if found := re.match(r"^( {4,})(\w+)(/|\.py)  +(\S.*)$", line):
            depth = (len(found[1]) - 4) // 2
            folders = [*folders[:depth], found[2]]
            shown[".".join(folders)] += 1
    assert {name for name, times in shown.items() if times > 1} == set()
    assert set(shown) == modules()


def test_no_page_is_endless_or_wider_than_the_screen(site: Path, browser: Browser) -> None:
    troubles = []
    tab = browser.new_page()
    for name, path in built(site).items():
        if name == "404.html":  # its style sheets are named from the root of a server
            continue
        for width in (1280, 390):
            tab.set_viewport_size({"width": width, "height": 900})
            if width == 1280:
                tab.goto(path.as_uri())
            height, wide = tab.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
            if (width == 1280 and height > TALLEST) or wide > width:
                troubles.append(f"{name} at {width} pixels: {height} tall, {wide} wide")
    tab.close()
    assert troubles == []


def loaded(name: str) -> Any:
    """A program of docs/ as a module."""
    pytest.importorskip("griffe")
    spec = spec_from_file_location(name, ROOT / f"docs/{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fenced() -> Any:
    """The function that turns docstrings into Markdown."""
    return loaded("docstrings").fenced


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Words.\n\n>>> f(1)\n<View>\n", "Words.\n\n\n```pycon\n>>> f(1)\n<View>\n```\n"),
        ("    >>> f(1)  # doctest: +SKIP\n    1\n", "\n    ```pycon\n    >>> f(1)\n    1\n    ```\n"),
        (">>> f(1)\n1\n\n>>> f(2)\n2\n\nWords.", "\n```pycon\n>>> f(1)\n1\n\n>>> f(2)\n2\n```\n\n\nWords."),
        ("As follows::\n\n    a = b\n\n    c\n\nWords.", "As follows:\n\n```text\na = b\n\nc\n```\n\n\nWords."),
        ("Words.\n\n::\n\n    a = b\n", "Words.\n\n\n```text\na = b\n```\n"),
        ("As follows ::\n\n    a\n", "As follows:\n\n```text\na\n```\n"),
        ("```sh\n>>> left as it is ::\n```", "```sh\n>>> left as it is ::\n```"),
        ("No block follows::\n\nWords.", "No block follows::\n\nWords."),
        ("{h != h*} and B(h*, r), *every* `h*`.", r"{h != h\*} and B(h\*, r), *every* `h*`."),
    ],
)
def test_doctests_and_literal_blocks_become_fences(fenced: Any, docstring: str, markdown: str) -> None:
    assert fenced(docstring) == markdown


@pytest.fixture(scope="module")
def path_of_a_row() -> Any:
    """The program that draws the picture of docs/internals.md."""
    return loaded("path_of_a_row")


def test_the_picture_of_the_path_names_functions_that_exist(path_of_a_row: Any) -> None:
    for steps in path_of_a_row.LANES.values():
        for module, function, _ in steps:
            source = (SOURCE / module).read_text()
            if module.endswith(".js"):
                assert re.search(rf"\b(function|class) {function}\b", source), (module, function)
                continue
            body: list[ast.stmt] = ast.parse(source).body
            kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            for name in function.split("."):
                named = [one for one in body if isinstance(one, kinds) and one.name == name]
                assert len(named) == 1, (module, function)
                body = named[0].body


def test_the_picture_of_the_path_is_up_to_date(path_of_a_row: Any) -> None:
    assert path_of_a_row.OUT.read_text() == path_of_a_row.drawing(), "run python docs/path_of_a_row.py"


def test_the_page_of_the_path_names_modules_that_exist() -> None:
    page = (ROOT / "docs/internals.md").read_text()
    known = modules()
    named = re.findall(r"`((?:cli|web|experiments|campaigns|methods|models|estimation)\.[\w.]+)`", page)
    assert len(named) > 15
    for name in named:
        parts = ["unskew", *name.split(".")]
        module = next(".".join(parts[:k]) for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in known)
        assert module != "unskew", name
        rest = parts[len(module.split(".")) :]
        path = SOURCE.joinpath(*module.split(".")[1:])
        source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        assert all(re.search(rf"\b(def|class) {one}\b", source) for one in rest), name
