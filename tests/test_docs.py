"""The documentation is run: its code, its printed output, its list of commands and options."""

import contextlib
import io
import re

import pytest
import typer.main

from conftest import ROOT
from unskew import cli

PAGES = ["README.md", *(f"docs/{page}" for page in ("tutorial.md", "howto/own-data.md", "howto/choose-variant.md"))]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


def same(shown: str, printed: str) -> bool:
    """The same words; numbers within a fiftieth of each other, for floating point differs between machines."""
    if shown.split() == printed.split():
        return True
    pairs = list(zip(shown.split(), printed.split(), strict=False))
    return len(shown.split()) == len(printed.split()) and all(a == b or _near(a, b) for a, b in pairs)


def _near(a: str, b: str) -> bool:
    try:
        return float(a) == pytest.approx(float(b), rel=0.02)
    except ValueError:
        return False


@pytest.mark.parametrize("page", PAGES)
def test_code_runs_and_prints_what_the_page_shows(page: str) -> None:
    names: dict[str, object] = {}
    printed = ""
    ran = 0
    for kind, body in BLOCK.findall((ROOT / page).read_text()):
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, page, "exec"), names)
            printed, ran = output.getvalue(), ran + 1
        elif printed:
            assert same(body, printed), f"{page} shows:\n{body}\nbut the code prints:\n{printed}"
            printed = ""
    assert ran, f"{page} has no python block"
    assert not printed, f"{page} does not show what its last block prints:\n{printed}"


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    group = typer.main.get_command(cli.app)
    sections = dict(re.findall(r"^## unskew (\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert set(sections) == set(group.commands)
    for name, command in group.commands.items():
        documented = set(re.findall(r"^\| `(--[\w-]+)`", sections[name], re.M))
        assert documented == {option for param in command.params for option in param.opts}, f"unskew {name}"
