"""The documentation is run: its code, its printed output, its list of commands and options."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from conftest import ROOT
from unskew import cli

INCLUDES = ("add-a-method",)
"""Pages whose code is that of examples/, which has a test of its own."""

HOWTO = sorted(
    f"docs/howto/{page.name}"
    for page in (ROOT / "docs/howto").glob("*.md")
    if page.stem not in INCLUDES and "```python" in page.read_text()
)
PAGES = ["README.md", "docs/tutorial.md", "docs/method.md", *HOWTO]
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.M | re.S)
SHELL = ["docs/tutorial.md"]
"""Of these, the commands are run too."""

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""A lease's end is never the same twice."""


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


def shell(commands: str, folder: Path) -> str:
    """All that the commands print, on a path on which `unskew` is this one."""
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-e", "-c", commands], cwd=folder, env=os.environ | {"PATH": paths, "COLUMNS": "80"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, f"{commands}\n{run.stdout}"
    return run.stdout


@pytest.mark.parametrize("page", PAGES)
def test_code_runs_and_prints_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed = ""
    ran = 0
    for kind, body in BLOCK.findall((ROOT / page).read_text()):
        if kind == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, page, "exec"), names)
            printed, ran = output.getvalue(), ran + 1
        elif kind == "sh" and page in SHELL:
            printed = shell(body, tmp_path)
        elif kind == "text" and printed:
            assert same(MOMENT.sub("then", body), MOMENT.sub("then", printed)), (
                f"{page} shows:\n{body}\nbut the code prints:\n{printed}"
            )
            printed = ""
    assert ran, f"{page} has no python block"
    assert not printed, f"{page} does not show what its last block prints:\n{printed}"


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    group = typer.main.get_command(cli.app)
    sections = dict(re.findall(r"^## unskew (\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert set(sections) == set(group.commands)
    for name, command in group.commands.items():
        documented = set(re.findall(r"`(--?[\w-]+)`", "".join(re.findall(r"^\| (`-.*?) \|", sections[name], re.M))))
        options = {option for param in command.params for option in param.opts if option.startswith("-")}
        assert documented == options, f"unskew {name}"


def test_reproduction_quotes_its_tables() -> None:
    """Cells won and mean ratios in the prose are those of the files the command wrote."""
    page = (ROOT / "docs/reproduction.md").read_text()
    pairs = {}
    for name in ("reproduction", "ablation"):
        for line in (ROOT / f"docs/tables/{name}.md").read_text().splitlines():
            if re.match(r"\| \w+ / \w+ \|", line):
                pair, won, _, _, mean, paper_won, paper_mean = (cell.strip() for cell in line.strip("|").split("|"))
                pairs[pair] = won, mean.split()[0], paper_won.split()[0], paper_mean
    for pair in ("IDBAL / Passive", "IDBAL / DBALw", "DBALwm / DBALw", "DBALw / Passive", "IDBAL / DBALwm"):
        won, mean, paper_won, paper_mean = pairs[pair]
        one, other = pair.split(" / ")
        row = next(r for r in page.splitlines() if f"`{one}` beats `{other}`" in r)
        quoted = re.search(
            r"(\d+) of 48(?: cells)?,(?: mean ratio)? ([\d.]+); (?:the paper's tables give )?(\d+) and ([\d.]+)", row
        )
        assert quoted is not None
        assert quoted.groups() == (won.split()[0], mean, paper_won, paper_mean)
    assert f"| {pairs['Undebiased / DBALwm'][1]} (" in page
    assert "0.994 (" in page and round(1 / float(pairs["Undebiased / IDBAL"][1]), 3) == 0.994
