"""Every command with an output option: what it replaces, what it refuses, and that a campaign is never touched."""

import inspect
import lzma
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.models import OptionInfo

from commands import GOOD, out, refused
from unskew.campaigns.example import POOL
from unskew.cli import app, main
from unskew.experiments.datasets import FILES
from unskew.writing import CAMPAIGN_FILES

INPUTS = {"--log", "--pool", "--data-dir", "--guidelines"}
"""Options that name a file or folder to read. All others name one to write."""

MINE = "precious"
NAMES = ["--label", "repaid", "--propensity", "granted_with", "--id", "application"]
ONE = ["--quick", "--datasets", "synthetic", "--policies", "uniform", "--methods", "Passive", "--repeats", "2"]
CELL = ["--dataset", "synthetic", "--policy", "uniform", "--method", "Passive", "--repeats", "2", "--budget", "20"]


@dataclass(frozen=True)
class Case:
    """A command and its output option; `file` is a file that it writes, in a folder if the option names one."""

    words: list[str]
    option: str
    file: str
    again: bool = True
    """Whether it replaces its own earlier output."""

    @property
    def command(self) -> str:
        return " ".join(self.words[: 2 if self.words[0] == "data" else 1])

    @property
    def target(self) -> str:
        return self.file.partition("/")[0]

    def at(self, target: str | Path, *more: str) -> list[str]:
        return [*self.words, self.option, str(target), *more]


CASES = {
    "ask": Case(["ask", "bank", "-n", "2"], "--out", "rows.csv"),
    "ask jsonl": Case(["ask", "bank", "-n", "2", "--as", "jsonl"], "--out", "rows.jsonl"),
    "ask label-studio": Case(["ask", "bank", "-n", "2", "--as", "label-studio"], "--out", "tasks.json"),
    "report": Case(["report", "bank"], "--out", "page.html"),
    "predict": Case(["predict", "bank", str(POOL)], "--out", "found.csv", again=False),
    "predict parquet": Case(["predict", "bank", str(POOL)], "--out", "found.parquet", again=False),
    "export": Case(["export", "bank"], "--out", "model/model.joblib"),
    "audit": Case(["audit", "log.csv", *NAMES], "--html", "audit.html"),
    "demo": Case(["demo", "--files"], "--out", "files/pool.csv"),
    "curve png": Case(["curve", *CELL], "--plot", "curve.png"),
    "curve pdf": Case(["curve", *CELL], "--plot", "curve.pdf"),
    "curve svg": Case(["curve", *CELL], "--plot", "curve.svg"),
    "reproduce": Case(["reproduce", *ONE, "--tune-repeats", "1", "--jobs", "1"], "--out", "run/report.html"),
    "data fetch": Case(["data", "fetch", "german"], "--to", f"sets/{FILES['german'].file}"),
}
FOLDERS = [name for name, case in CASES.items() if "/" in case.file]


@pytest.fixture
def sources(bank: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A short log to audit, and what would come from the network."""
    Path("log.csv").write_text("\n".join(GOOD[:301]))
    if "fetch" in request.node.name:
        data: Path = request.getfixturevalue("data_dir")
        raw = lzma.decompress((data / FILES["german"].file).read_bytes())
        monkeypatch.setattr("unskew.experiments.collections._raw", lambda name, url, *_: (url, raw))


def snapshot(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else path.lstat().st_mode
        for path in sorted(folder.rglob("*"))
    }


def options(app: typer.Typer, group: str = "") -> Iterator[tuple[str, str, bool]]:
    """Command, option, and whether it takes a path, of every option of the program."""
    for one in app.registered_commands:
        command = one.callback
        assert command is not None
        for parameter in inspect.signature(command).parameters.values():
            kind, *extras = get_args(parameter.annotation)
            for info in (extra for extra in extras if isinstance(extra, OptionInfo)):
                option = (info.param_decls or [f"--{parameter.name.replace('_', '-')}"])[-1]
                yield f"{group}{one.name or command.__name__}", option, Path in (kind, *get_args(kind))
    for inner in app.registered_groups:
        assert inner.typer_instance is not None
        yield from options(inner.typer_instance, f"{inner.name} ")


def test_the_cases_are_all_commands_with_an_output_option() -> None:
    found = list(options(app))
    writing = {(command, option) for command, option, path in found if path and option not in INPUTS}
    assert writing == {(case.command, case.option) for case in CASES.values()}
    assert {(command, "--overwrite", False) for command, _ in writing} <= set(found)


@pytest.mark.parametrize("name", CASES)
def test_no_command_writes_over_a_campaign(
    name: str, bank: Path, sources: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own or another, straight or through a link, not with --overwrite either, and no row is handed out."""
    case = CASES[name]
    shutil.copytree(bank, "other")
    Path("link").symlink_to("other")
    for folder in ("bank", "other"):
        Path(folder, "cache").mkdir(exist_ok=True)
        Path(folder, "cache", "kept.npy").write_text(MINE)
    before = snapshot(Path.cwd())
    ending = Path(case.file).suffix
    for folder in ("bank", "other", "link"):
        targets = (
            ["cache", "cache/deeper"] if name in FOLDERS else [*CAMPAIGN_FILES, "cache/kept.npy", f"cache/x{ending}"]
        )
        for target in targets:
            for more in ([], ["--overwrite"]):
                said = refused(capsys, *case.at(Path(folder, target), *more))
                named = "never written over" in said
                assert named or (Path(target).suffix != ending and "the file name must end in" in said), said
    assert snapshot(Path.cwd()) == before


@pytest.mark.parametrize("name", CASES)
def test_only_its_own_files_are_replaced(
    name: str, bank: Path, sources: None, capsys: pytest.CaptureFixture[str]
) -> None:
    case = CASES[name]
    file = Path(case.file)
    before = os.umask(0o027)
    try:
        out(capsys, *case.at(case.target))
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    first = file.read_bytes()
    assert main(case.at(case.target)) == (0 if case.again else 2)
    assert file.read_bytes() == first or name.startswith("curve")  # pictures hold the time

    elsewhere = Path(f"new-{case.file}")
    elsewhere.parent.mkdir(exist_ok=True)
    target = f"new-{case.target}"
    elsewhere.write_text(MINE)
    ledger = Path("bank/ledger.sqlite").read_bytes()
    said = refused(capsys, *case.at(target))
    assert f"{elsewhere} exists, and `unskew {case.command}` may not have written it" in said
    assert "Name another file, or add --overwrite" in said and elsewhere.read_text() == MINE
    assert Path("bank/ledger.sqlite").read_bytes() == ledger
    elsewhere.unlink()
    Path("target").write_text(MINE)
    elsewhere.symlink_to(Path("target").absolute())
    assert "--overwrite" in refused(capsys, *case.at(target)) and elsewhere.is_symlink()
    out(capsys, *case.at(target, "--overwrite"))
    assert not elsewhere.is_symlink() and elsewhere.stat().st_size > 100
    assert Path("target").read_text() == MINE


@pytest.mark.parametrize("name", CASES)
def test_a_pipe_is_refused_at_once(name: str, bank: Path, sources: None, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    file = Path(case.file)
    file.parent.mkdir(exist_ok=True)
    os.mkfifo(file)
    for more in ([], ["--overwrite"]):
        assert f"{file} is not a plain file. Name a file." in refused(capsys, *case.at(case.target, *more))
    assert stat.S_ISFIFO(file.stat().st_mode)


def test_the_whole_demo_spares_a_campaign_and_what_is_not_its_own(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = snapshot(Path.cwd())
    assert "exists already. Name another folder, or add --overwrite" in refused(capsys, "demo", "--out", ".")
    assert "holds a campaign already" in refused(capsys, "demo", "--out", ".", "--overwrite")
    assert snapshot(Path.cwd()) == before


def test_the_defaults_are_under_the_same_rule(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bank/report.html").write_text(MINE)
    Path("bank/export").mkdir()
    Path("bank/export/model.onnx").write_text(MINE)
    for command in ("report", "export"):
        assert f"`unskew {command}` may not have written it" in refused(capsys, command, "bank")
    assert [file.name for file in Path("bank/export").iterdir()] == ["model.onnx"]
    for command in ("report", "export"):
        assert main([command, "bank", "--overwrite"]) == main([command, "bank"]) == 0
