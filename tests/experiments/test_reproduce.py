"""The store of finished results and the run that fills it, killed and resumed."""

import importlib
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from unskew.errors import InputError
from unskew.experiments import reproduce as module
from unskew.experiments.datasets import Synthetic
from unskew.experiments.outputs import write
from unskew.experiments.protocols import RELEASED
from unskew.experiments.reproduce import Grid, reproduce
from unskew.experiments.simulation import curve, simulate
from unskew.experiments.store import NAME, Store, code_version, key_of
from unskew.experiments.tasks import Task, _tune, made, settings
from unskew.methods.registry import method_named

FAST = replace(RELEASED, tune_repeats=1, repeats=2, grid="coarse")
SMALL = Grid(("synthetic",), ("uniform",), ("Passive", "DBALwm"), protocol=FAST)

OUTSIDE = """
from unskew.methods import Passive

class Mine(Passive):
    pass

class Bad(Passive):
    def warm_start(self):
        if BROKEN:
            raise ValueError("no luck")
        return super().warm_start()

BROKEN = True
"""


@pytest.fixture
def calls(monkeypatch):
    """What is planned and run, in order."""
    made = []

    def counted(name):
        original = getattr(module, name)

        def call(*args, **how):
            made.append(name)
            return original(*args, **how)

        monkeypatch.setattr(module, name, call)

    counted("plan")
    counted("run_task")
    return made


@pytest.fixture
def outside(tmp_path, monkeypatch):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "methods_of_mine.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module("methods_of_mine")
    del sys.modules["methods_of_mine"]


def lines(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / NAME).read_text().splitlines()]


def test_what_is_put_is_there_again(tmp_path):
    with Store(tmp_path) as store:
        put = store.put("a", {"value": [0.1, 2]})
        store.put("b", {"failed": "ValueError: no luck"})
        assert store.get("a") == put == {"key": "a", "code": code_version(), "value": [0.1, 2]}
    with Store(tmp_path) as store:
        assert store.get("a") == put and store.get("b") is None and store.get("c") is None
        again = store.put("b", {"value": 1})
    with Store(tmp_path) as store:
        assert store.get("b") == again


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_torn_last_line_is_dropped(tmp_path, cut):
    with Store(tmp_path) as store:
        store.put("a", {"value": 1})
        whole = store.path.read_bytes()
        store.put("b", {"value": 2})
    torn = store.path.read_bytes()[:-cut]
    store.path.write_bytes(torn)
    with Store(tmp_path) as store:
        assert list(store.records) == ["a"] and store.path.read_bytes() == whole
        store.put("c", {"value": 3})
    assert [line["key"] for line in lines(tmp_path)] == ["a", "c"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"key":"k","code":"older"}\n', "holds results of code version older; this is "),
        ("not json\n", "line 1, is not a result"),
        ('{"key":"k"}\n', "line 1, is not a result"),
        ("[1]\n", "line 1, is not a result"),
    ],
)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path, line, said):
    content = line + '{"key":"torn'
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match=said):
        reproduce(SMALL, tmp_path, jobs=1)
    assert (tmp_path / NAME).read_text() == content
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("content", ['{"mine":1}', "notes", '{"key":1}'])
def test_a_foreign_file_without_a_line_end_is_not_taken_for_a_torn_result(tmp_path, content):
    (tmp_path / NAME).write_text(content)
    with pytest.raises(InputError, match="line 1, is not a result"):
        reproduce(SMALL, tmp_path, jobs=1)
    assert (tmp_path / NAME).read_text() == content


@pytest.mark.parametrize("torn", ["{", '{"key":', '{"key":"a","co'])
def test_a_torn_first_line_is_dropped(tmp_path, torn):
    (tmp_path / NAME).write_text(torn)
    with Store(tmp_path) as store:
        assert store.records == {} and store.path.read_bytes() == b""


def test_results_are_not_written_through_a_link(tmp_path):
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link, and results would be written to another file"):
        reproduce(SMALL, tmp_path, jobs=1)
    assert not (tmp_path / "elsewhere").exists()


def test_a_second_writer_is_refused(tmp_path):
    with Store(tmp_path) as store:
        store.put("a", {"value": 1})
        before = store.path.read_bytes()
        with pytest.raises(InputError, match="another run is writing to"), Store(tmp_path):
            pass
        with pytest.raises(InputError, match="another run is writing to"):
            reproduce(SMALL, tmp_path, jobs=1)
        assert store.path.read_bytes() == before
        store.put("b", {"value": 2})
    with Store(tmp_path) as store:
        assert set(store.records) == {"a", "b"}


def test_keys_depend_on_content_alone():
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1}) != key_of({"a": 1, "b": [3]})


def test_code_version_is_that_of_what_figures_depend_on(tmp_path, monkeypatch):
    copy = tmp_path / "unskew"
    shutil.copytree(Path(module.__file__).parents[1], copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr("unskew.__file__", str(copy / "__init__.py"))
    before = code_version()
    for free in ("cli/__init__.py", "experiments/store.py", "experiments/collections.py"):
        (copy / free).write_text("changed")
    assert code_version() == before
    for part in ("_kernels.py", "_look.py", "methods/idbal.py", "experiments/tasks.py"):
        (copy / part).write_text("changed")
        assert code_version() != before
        before = code_version()


def test_resuming_runs_only_what_is_missing(tmp_path, calls):
    first = reproduce(SMALL, tmp_path, jobs=1)
    assert calls == ["plan", "run_task", "run_task"]
    before = (tmp_path / NAME).read_bytes()
    done = []
    assert reproduce(SMALL, tmp_path, jobs=1, progress=lambda f: done.append((f.done, f.total))) == first
    assert calls == ["plan", "run_task", "run_task"]
    assert done == [(1, 2), (2, 2)] and (tmp_path / NAME).read_bytes() == before

    (tmp_path / NAME).write_bytes(before[:-1])  # the last result is torn
    assert reproduce(SMALL, tmp_path, jobs=1) == first
    assert calls[3:] == ["run_task"] and (tmp_path / NAME).read_bytes() == before


def test_a_cell_is_known_by_what_it_is_not_by_its_place(tmp_path, calls):
    first = reproduce(SMALL, tmp_path, jobs=1)
    del calls[:]
    grown = replace(SMALL, policies=("certainty", "uniform"), methods=("DBALwm", "DBALw", "Passive"))
    records = reproduce(grown, tmp_path, jobs=1)
    assert sorted(calls) == ["plan"] + 4 * ["run_task"]
    assert [(r["task"]["policy"], r["task"]["method"]) for r in records] == [
        (policy, method) for policy in grown.policies for method in grown.methods
    ]
    assert [records[5], records[3]] == first
    for other in (replace(SMALL, seed=1), replace(SMALL, protocol=replace(FAST, repeats=3))):
        assert not {r["key"] for r in reproduce(other, tmp_path, jobs=1)} & {r["key"] for r in records}
    reproduce(SMALL, tmp_path, jobs=1)
    assert sorted(calls) == 2 * ["plan"] + 8 * ["run_task"]  # `repeats` is no part of a plan


def test_the_plan_is_the_same_on_a_rerun(tmp_path):
    tasks = [[r["task"] for r in reproduce(SMALL, tmp_path / name, jobs=1)] for name in "ab"]
    assert tasks[0] == tasks[1]
    assert [line for line in lines(tmp_path / "a") if "plan" in line] == [
        line for line in lines(tmp_path / "b") if "plan" in line
    ]
    assert 0.1 <= tasks[0][0]["logged_fraction"] <= 0.6 and tasks[0][0]["label_budget"] >= 100


def test_a_failed_cell_is_recorded_and_tried_again(tmp_path, outside, calls):
    grid = replace(SMALL, methods=("Passive", "methods_of_mine:Bad"))
    good, bad = reproduce(grid, tmp_path / "out", jobs=1)
    assert "failed" not in good
    assert bad["task"] == {**good["task"], "method": "methods_of_mine:Bad"}
    assert bad["failed"].startswith("ValueError: no luck (methods_of_mine.py, line ")
    outside.BROKEN = False
    again = reproduce(grid, tmp_path / "out", jobs=1)
    assert calls == ["plan"] + 3 * ["run_task"]
    assert again[0] == good and again[1]["key"] == bad["key"] and again[1]["errors"]
    assert reproduce(grid, tmp_path / "out", jobs=1) == again
    assert calls == ["plan"] + 3 * ["run_task"]


def test_a_method_from_outside_runs_and_its_source_is_part_of_its_name(tmp_path, outside, monkeypatch):
    grid = replace(SMALL, methods=("Passive", "methods_of_mine:Mine"))
    ours, mine = reproduce(grid, tmp_path / "out", jobs=1)
    assert mine["errors"] == ours["errors"] and mine["setting"] == ours["setting"]
    monkeypatch.setattr("inspect.getsource", lambda kind: "another text")
    assert reproduce(grid, tmp_path / "out", jobs=1)[1]["key"] != mine["key"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"datasets": ("magick",)}, "unknown data set 'magick': did you mean 'magic'?"),
        ({"policies": ("unifrom",)}, "unknown policy 'unifrom': did you mean 'uniform'?"),
        ({"methods": ("IDBALL",)}, "unknown method 'IDBALL': did you mean 'IDBAL'?"),
        ({"methods": ("no_such_module:Mine",)}, "'no_such_module:Mine' cannot be imported: No module named"),
        ({"methods": ("unskew.methods:Mine",)}, "unknown method in the module unskew.methods 'Mine'"),
        ({"methods": ("pathlib:Path",)}, "must be a subclass of StreamMethod or PoolMethod; got"),
        ({"protocol": replace(FAST, tune_repeats=0)}, "tune_repeats must be at least 1; got 0."),
        ({"protocol": replace(FAST, repeats=1)}, "repeats must be at least 2; got 1."),
        (
            {"protocol": replace(FAST, fresh=False)},
            "must be equal; got 1 to tune and 2 to report. Give only one of them.",
        ),
    ],
)
def test_what_a_grid_refuses(change, said):
    with pytest.raises(InputError) as refused:
        Grid(**change)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_the_whole_grid_is_that_of_the_paper():
    assert len(Grid()) == 12 * 4 * 4 and len(SMALL) == 2


def test_data_are_checked_before_any_work(tmp_path, calls, monkeypatch):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    monkeypatch.delenv("UNSKEW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    grid = replace(SMALL, datasets=("synthetic", "german"))
    with pytest.raises(InputError, match=r"data set 'german' needs the file german\.libsvm\.xz, which is not in "):
        reproduce(grid, out, data_dir=data, jobs=1)
    rows = b"".join(b"%+d 1:%d\n" % (1 - 2 * (k % 2), k) for k in range(700))
    for content, said in (
        (lzma.compress(rows), r"german\.libsvm\.xz is not whole: 700 rows; expected 1000 rows of 24 features"),
        (lzma.compress(rows)[:-20], r"german\.libsvm\.xz cannot be read .*; expected 1000 rows of 24 features"),
    ):
        (data / "german.libsvm.xz").write_bytes(content)
        with pytest.raises(InputError, match=said):
            reproduce(grid, out, data_dir=data, jobs=1)
    assert calls == [] and not out.exists()


def test_real_data_with_two_jobs(tmp_path, data_dir):
    grid = replace(SMALL, datasets=("german", "synthetic"), methods=("Passive", "IDBAL"))
    two = reproduce(grid, tmp_path / "two", data_dir=data_dir, jobs=2)
    assert reproduce(grid, tmp_path / "one", data_dir=data_dir, jobs=1) == two
    assert sorted(map(str, lines(tmp_path / "one"))) == sorted(map(str, lines(tmp_path / "two")))


DRIVER = """
import json, sys
from pathlib import Path
from unskew.experiments.protocols import Protocol
from unskew.experiments.reproduce import Grid, reproduce

if __name__ == "__main__":
    out = Path(sys.argv[1])
    grid = {key: tuple(value) if isinstance(value, list) else value for key, value in json.loads(sys.argv[2]).items()}
    reproduce(Grid(**grid | {"protocol": Protocol(**grid["protocol"])}), out, jobs=2)
"""

KILLED = Grid(("synthetic",), protocol=replace(RELEASED, tune_repeats=12, repeats=8, grid="coarse"))


def start(folder: Path, out: Path) -> subprocess.Popen:
    (folder / "driver.py").write_text(DRIVER)
    return subprocess.Popen(
        [sys.executable, "driver.py", str(out), json.dumps(asdict(KILLED))],
        cwd=folder,
        env={**os.environ, "JOBLIB_TEMP_FOLDER": str(folder)},  # what killed runs leave behind goes with the folder
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: subprocess.Popen) -> None:
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err.decode()


def kept(out: Path) -> int:
    return (out / NAME).read_bytes().count(b"\n") if (out / NAME).exists() else 0


def test_killed_ten_times_it_ends_with_the_same_files(tmp_path):
    begun = time.monotonic()
    finish(start(tmp_path, tmp_path / "undisturbed"))
    took = time.monotonic() - begun

    out, rng, stored = tmp_path / "killed", random.Random(20), [0]
    for kill in range(10):
        process = start(tmp_path, out)
        # Every third time in the middle of the work, a moment after the next result; else at any moment before.
        end = time.monotonic() + (120.0 if kill % 3 == 2 else 0.5 * took * rng.random())
        while kept(out) == stored[-1] and time.monotonic() < end and process.poll() is None:
            time.sleep(0.005)
        if kill % 3 == 2:
            time.sleep(0.1 * rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        stored.append(kept(out))
    assert stored == sorted(stored) and len(set(stored)) > 3
    finish(start(tmp_path, out))

    files = {}
    for folder in (tmp_path / "undisturbed", out):
        write(reproduce(KILLED, folder, jobs=1), folder)
        files[folder.name] = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != NAME}
        files[folder.name][NAME] = sorted((folder / NAME).read_bytes().splitlines())  # in any order
    assert files["killed"].keys() == files["undisturbed"].keys() > {NAME, "report.html", "tables.md"}
    assert [name for name, content in files["killed"].items() if content != files["undisturbed"][name]] == []


@pytest.mark.parametrize("method", ["DBALw", "DBALwm", "IDBAL"])
def test_a_saturated_setting_stands_for_every_larger_C(method):
    """Tuning reuses a curve once every row was in the region: the same as running each setting."""
    X, y = Synthetic().population(0, 0)
    simulation = simulate(X[:1500], y[:1500], "uniform", 0.5, np.random.default_rng(3))
    kind, tried = method_named(method), settings(method_named(method), "released")
    each = [curve(made(kind, setting, 5), simulation, 100) for setting in tried]
    task = Task("synthetic", "uniform", method, 0.5, 100, 0, RELEASED)
    assert list(_tune(kind, tried, task, simulation, 5)) == each
    built = [made(kind, setting, 5) for setting in tried]
    for one in built:
        curve(one, simulation, 100)
    assert 0 < sum(one.saturated for one in built) < len(built)


def test_the_follow_up_is_never_saturated():
    """Its C does more than widen the region."""
    X, y = Synthetic().population(0, 0)
    simulation = simulate(X[:600], y[:600], "uniform", 0.5, np.random.default_rng(3))
    method = made(method_named("VCDBAL"), {"C": 1e9, "eta": 0.1}, 5)
    curve(method, simulation, 100)
    assert not method.saturated
