"""The documentation is run: its code, its printed output, its list of commands and options."""

import contextlib
import io
import itertools
import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import typer.main

import unskew
from paths import ROOT
from unskew import cli
from unskew.campaigns.ledger.events import KINDS

ELSEWHERE = ("add-a-method",)
"""Pages with a test of their own, in test_examples.py."""

HOWTO = sorted(
    f"docs/howto/{page.name}"
    for page in (ROOT / "docs/howto").glob("*.md")
    if page.stem not in ELSEWHERE and "```python" in page.read_text()
)
PAGES = ["README.md", "docs/tutorial.md", "docs/method.md", "docs/scaling.md", *HOWTO]
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", re.M | re.S)
SHELL = ["docs/tutorial.md"]
"""Of these, the commands are run too."""

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""A lease's end is never the same twice."""


def same(shown: str, printed: str) -> bool:
    """The same words; numbers within a fiftieth of each other, for floating point differs between machines."""
    ours, theirs = (re.split(r"[\s,]+", text.strip()) for text in (shown, printed))  # lines of CSV have commas
    return len(ours) == len(theirs) and all(a == b or _near(a, b) for a, b in zip(ours, theirs, strict=True))


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


def test_the_commands_of_the_readme_run_as_typed(tmp_path: Path) -> None:
    """Line by line, on the example files; where the README says to fill in labels, those of truth.csv are filled in."""
    blocks = [body for kind, body in BLOCK.findall((ROOT / "README.md").read_text()) if kind == "sh"]
    (block,) = (body for body in blocks if body.startswith("unskew "))
    named = re.findall(r"^(?:unskew|#) (\w+)", block, re.M)
    assert named == ["demo", "audit", "start", "ask", "fill", "tell", "report", "predict"]
    printed = {}
    for line in block.splitlines():
        if line.startswith("#"):
            fill_in(tmp_path / "rows.csv", tmp_path / "truth.csv")
        else:
            printed[line.split()[1]] = shell(line, tmp_path)
    assert "20 new" in printed["tell"] and "The model is wrong on" in printed["report"]
    predictions = (tmp_path / "predictions.csv").read_text().splitlines()
    pool = (tmp_path / "pool.csv").read_text().splitlines()
    assert len(predictions) == len(pool) == 2501


def fill_in(rows: Path, truth: Path) -> None:
    """What a person would do in a spreadsheet: the last column of every row."""
    outcome = dict(line.split(",") for line in truth.read_text().splitlines())
    heading, *lines = rows.read_text().splitlines()
    assert all(line.endswith(",") for line in lines)
    rows.write_text("\n".join([heading, *(line + outcome[line.split(",")[0]] for line in lines)]) + "\n")


def option_tables() -> ModuleType:
    """The program that fills in tables of options when the site is built."""
    spec = spec_from_file_location("option_tables", ROOT / "docs/option_tables.py")
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_command_and_option_is_documented() -> None:
    page = option_tables().filled((ROOT / "docs/reference/cli.md").read_text())
    group = typer.main.get_command(cli.app)
    sections = dict(re.findall(r"^## unskew (\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    assert set(sections) == set(group.commands)
    for name, command in group.commands.items():
        documented = set(re.findall(r"`(--?[\w-]+)`", "".join(re.findall(r"^\| (`-.*?) \|", sections[name], re.M))))
        options = {option for param in command.params for option in param.opts if option.startswith("-")}
        assert documented == options, f"unskew {name}"


def test_every_event_is_in_the_table_of_the_ledger() -> None:
    lines = (ROOT / "docs/howto/run-a-campaign.md").read_text().partition("| event | what it records |")[2].splitlines()
    table = itertools.takewhile(lambda line: line.startswith("|"), lines[2:])
    named = [name for line in table for name in line.split("|")[1].strip().split(", ")]
    assert sorted(named) == sorted(KINDS)


def test_reproduction_quotes_its_tables() -> None:
    """Cells won and mean ratios in the prose are those of the files that the commands wrote."""
    page = " ".join((ROOT / "docs/reproduction.md").read_text().split())
    table = (ROOT / "docs/tables/protocols.md").read_text()
    entry = r"\d+ of (?:48|36), \d\.\d{3}"
    quoted = re.findall(entry, page)
    assert len(quoted) >= 10 and set(quoted) <= set(re.findall(entry, table))
    lines = {line.split("|")[1].strip(): re.findall(rf"{entry}(?: <br>\(.*?\))?", line) for line in table.splitlines()}
    lines = {name: entries for name, entries in lines.items() if entries}
    printed, text = lines.pop("*printed in the paper*"), lines.pop("everything: the text")
    for theirs, ours in zip(printed, text, strict=True):
        low, high = map(float, re.findall(r"\d\.\d{3}", ours)[1:])
        assert low < float(theirs.split(", ")[1]) < high, "within the intervals of the last line"
    ratio = {name: float(entries[3].split()[3]) for name, entries in lines.items()}
    sliced = {name for name in ratio if "slices" in name or "variant" in name}
    assert len(sliced) == 2 and min(ratio[name] for name in ratio if name not in sliced) > 1.0
    only_debiasing = [lines[name][4] for name in sliced] + [text[4]]
    for found in only_debiasing:
        won, cells, mean, low, high = map(float, re.findall(r"[\d.]+", found))
        assert won / cells >= 2 / 3 and 1 <= round(100 * (1 - mean)) <= 4 and low < 1.0 < high
    released, slices = ratio["nothing: the released program"], ratio["DBALwm trains on slices, as IDBAL does"]
    assert 6.5 < 100 * (released / slices - 1) < 7.6 and "gains about 7 %" in page


def test_both_runs_wrote_what_their_pages_say_of_claims() -> None:
    """The verdicts side by side are those in the tables of each run."""
    lines = (ROOT / "docs/tables/claims.md").read_text().splitlines()[2:]
    assert len(lines) == 7
    for column, name in ((3, "reproduction"), (4, "reproduction_text")):
        tables = (ROOT / f"docs/tables/{name}.md").read_text()
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")]
            found, holds = cells[column].rsplit(": ", 1)
            alone = next(row for row in tables.splitlines() if row.startswith(f"| {cells[1]} |")).split("|")
            assert (alone[4].strip(), alone[5].strip("* ")) == (found, holds.strip("* "))


def test_notation_names_modules_that_exist() -> None:
    page = (ROOT / "docs/notation.md").read_text()
    named = {
        name for row in re.findall(r"^\| .* \| ([^|]*) \|$", page, re.M) for name in re.findall(r"`([\w.]+)`", row)
    }
    assert len(named) > 10
    for name in named:
        path = ROOT / "src/unskew" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name


def test_the_version_is_the_newest_of_the_changelog() -> None:
    released = re.findall(r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert released[0] == unskew.__version__
    assert f"Version {unskew.__version__} " in (ROOT / "README.md").read_text()


def test_the_tests_that_pages_name_exist() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"\btest_\w+\.py\b", page.read_text())}
    assert len(named) > 5
    assert named <= {path.name for path in (ROOT / "tests").rglob("test_*.py")}
