"""Reproduction on a real Dask cluster: one scheduler and two worker processes, on this machine."""

import importlib
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from dask_processes import scheduler, workers
from unskew import cli
from unskew.errors import InputError
from unskew.experiments import reproduce as module
from unskew.experiments.protocols import RELEASED
from unskew.experiments.reproduce import Grid, reproduce
from unskew.pools import cluster as cluster_module

GRID = Grid(
    ("synthetic",), ("uniform", "certainty"), protocol=replace(RELEASED, tune_repeats=1, repeats=2, grid="coarse")
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with (
        scheduler(folder) as address,
        workers(folder),
    ):
        yield address


def contents(out):
    return sorted((out / "results.jsonl").read_text().splitlines())


def test_cluster_and_local_jobs_agree_to_the_bit(cluster, tmp_path):
    from distributed import Client

    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    done = []
    spread = reproduce(
        GRID, tmp_path / "cluster", cluster=cluster, progress=lambda finished: done.append(finished.done)
    )
    assert done == list(range(1, len(GRID) + 1))
    assert not any("failed" in record for record in spread)
    for jobs in (1, 2):
        assert reproduce(GRID, tmp_path / f"{jobs}", jobs=jobs) == spread
        assert contents(tmp_path / f"{jobs}") == contents(tmp_path / "cluster")


def test_workers_of_another_version_are_refused(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "code_version", lambda: f"of process {os.getpid()}")
    with pytest.raises(InputError, match=f"this is of process {os.getpid()}. Install the same unskew everywhere"):
        reproduce(GRID, tmp_path / "out", cluster=cluster)
    assert not (tmp_path / "out").exists()


def test_workers_without_the_package_are_refused(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def code_version():\n    return 'mine'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "code_version", importlib.import_module("only_here").code_version)
    with pytest.raises(InputError, match="No module named 'only_here'.*Install unskew where the workers are"):
        reproduce(GRID, tmp_path / "out", cluster=cluster)
    assert not (tmp_path / "out").exists()


def test_no_scheduler_is_one_line_within_seconds(tmp_path):
    command = "import sys; from unskew.cli import main; sys.exit(main())"
    args = ["reproduce", "--datasets", "synthetic", "--cluster", "tcp://127.0.0.1:9", "--out", str(tmp_path / "out")]
    run = subprocess.run(
        [sys.executable, "-c", command, *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("no Dask scheduler answers at 'tcp://127.0.0.1:9' (")
    assert run.stderr.endswith("Start one, or leave out --cluster.\n") and run.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1:1"])
def test_an_address_that_is_none(address, tmp_path, capsys):
    args = ["reproduce", "--datasets", "synthetic", "--cluster", address, "--out", str(tmp_path / "out")]
    assert cli.main(args) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and address in err


def test_a_scheduler_without_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "WORKERS_WAIT", 1.0)
    with (
        scheduler(tmp_path) as address,
        pytest.raises(InputError, match="has no workers. Start some with: dask worker"),
    ):
        reproduce(GRID, tmp_path / "out", cluster=address)
    assert not (tmp_path / "out").exists()


def test_without_dask_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'unskew\[cluster\]'"):
        reproduce(GRID, tmp_path / "out", cluster="tcp://127.0.0.1:9")
