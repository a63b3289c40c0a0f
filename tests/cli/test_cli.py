"""The command line, driven as a person would."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from unskew import __version__
from unskew.cli import app, main
from unskew.experiments import DATASETS
from unskew.methods.registry import EXPERIMENT_METHODS, PAPER_METHODS
from unskew.sampling.policies import ALL_POLICIES, VARIANTS

CELL = ["curve", "--dataset", "synthetic", "--policy", "uniform", "--repeats", "2", "--budget", "20"]


def shell(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", "import sys; from unskew.cli import main; sys.exit(main())", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_lists_the_commands_and_is_what_no_argument_shows(here: Path) -> None:
    run = shell("--help", cwd=here)
    assert run.returncode == 0
    assert all(f"  {name} " in run.stdout for name in ("demo", "audit", "start", "ask", "tell", "serve", "curve"))
    assert "..." not in run.stdout.partition("Commands:")[2]  # no line is cut short
    assert shell(cwd=here).stdout == run.stdout


def test_help_loads_nothing_heavy(here: Path) -> None:
    code = (
        "import sys; from unskew.cli import main; [main([name, '--help']) for name in ('curve', 'ask', 'start')]; "
        "main(['--help']); "
        "heavy = ('numba', 'matplotlib', 'sklearn', 'polars', 'numpy', 'pooch', 'sqlalchemy', 'fastapi'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_import_loads_nothing_heavy_and_lists_every_name() -> None:
    code = (
        "import sys, unskew; assert set(unskew.__all__) <= set(dir(unskew)); "
        "print([m for m in ('numba', 'matplotlib', 'sklearn', 'numpy') if m in sys.modules]); "
        "[getattr(unskew, name) for name in unskew.__all__]"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_round_needs_no_models_of_propensities() -> None:
    code = (
        "import sys, unskew.campaigns.learning.fitting, unskew.methods.pools.unskew; "
        "print([m for m in ('sklearn.ensemble', 'sklearn.neural_network', 'matplotlib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_version(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"unskew {__version__}\n"


def test_help_names_every_data_set_policy_and_method() -> None:
    options = typer.main.get_command(app).commands["curve"].params
    words = set(re.findall(r"[\w-]+", " ".join(option.help or "" for option in options)))
    assert {*DATASETS, *ALL_POLICIES, *EXPERIMENT_METHODS, *VARIANTS} <= words


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["curv"], "Did you mean 'curve'?"),
        (["curve", "--polcy", "uniform"], "--policy"),
        (["curve"], "Missing option '--dataset'"),
        (["curve", "--dataset", "magick", "--policy", "uniform"], "did you mean 'magic'?"),
        ([*CELL, "--policy", "unifrom"], "did you mean 'uniform'?"),
        ([*CELL, "--method", "IDBALL"], "did you mean 'IDBAL'?"),
        ([*CELL, "--variant", "papers"], "did you mean 'paper'?"),
        ([*CELL, "--C", "-1"], "C must be at least 0; got -1.0."),
        ([*CELL, "--C", "much"], "'--C'"),
        ([*CELL, "--seed", "-1"], "'--seed'"),
        ([*CELL, "--repeats", "1"], "repeats must be at least 2"),
        ([*CELL, "--logged-fraction", "1.5"], "logged_fraction must"),
        ([*CELL, "--logged-fraction", "nan"], "got nan. Try 0.5"),
        ([*CELL, "--logged-fraction", "inf"], "got inf. Try 0.5"),
        ([*CELL, "--plot", "curve.gif"], "curve.png"),
        ([*CELL, "--plot", "nowhere/curve.png"], "'nowhere' does not exist"),
        (["curve", "--dataset", "magic", "--policy", "uniform", "--data-dir", "nowhere"], "'nowhere' does not exist"),
        (["demo", "--seed", "-1"], "'--seed'"),
        (["ask"], "Missing argument 'DIR'"),
        (["ask", "bank", "-n", "many"], "'-n'"),
    ],
)
def test_bad_input_is_one_line_and_status_2_and_leaves_nothing(
    args: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and message in err
    assert list(here.iterdir()) == []


def test_bad_input_in_a_real_shell(here: Path) -> None:
    run = shell(*CELL, "--method", "Pasive", cwd=here)
    assert (run.returncode, run.stdout) == (2, "")
    known = ", ".join([*EXPERIMENT_METHODS, "module:Class"])
    assert run.stderr == f"unknown method 'Pasive': did you mean 'Passive'? Known: {known}.\n"


def test_a_folder_that_may_not_be_written_to_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert main([*CELL, "--plot", "curve.png"]) == 2
    assert "you may not write to the folder" in capsys.readouterr().err


def test_an_interrupted_run_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("unskew.experiments.mean_curve", interrupt)
    assert main(CELL) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_curve_prints_a_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CELL, "--method", "IDBAL", "--plot", "curve.png"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "labels ± se" in out and "IDBAL" in out and "Passive" not in out
    assert str(here / "curve.png") in out
    assert (here / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in here.iterdir()] == ["curve.png"]


def test_curve_of_a_later_method_under_a_later_policy(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CELL, "--policy", "blind-spot", "--method", "VCDBAL", "--method", "Passive", "--plot", "a.png"]) == 0
    assert "VCDBAL" in capsys.readouterr().out


def test_curve_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CELL, "--json", "--seed", "3"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["methods"]) == list(PAPER_METHODS)
    assert (record["seed"], record["label_budget"], record["C"]) == (3, 20, 0.64)
    for points in record["methods"].values():
        assert points[0]["labels"] == 0.0
        assert set(points[0]) == {"horizon", "labels", "labels_se", "error", "error_se"}


def test_curve_reads_the_data_files(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["curve", "--dataset", "german", "--policy", "certainty", "--method", "Passive", "--repeats", "2", "--json"]
    assert main([*args, "--data-dir", str(data_dir)]) == 0
    (points,) = json.loads(capsys.readouterr().out)["methods"].values()
    assert 0.2 < points[-1]["error"] < 0.5


def test_an_interrupt_while_commands_are_still_imported(here: Path) -> None:
    code = (
        "import sys; from unskew.cli import main; assert 'typer' not in sys.modules\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt()); sys.exit(main(['--help']))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted\n")


def test_a_narrow_terminal_cuts_no_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["data", "list"]) == 0
    said = capsys.readouterr().out
    assert "…" not in said and all(name in said for name in DATASETS)
