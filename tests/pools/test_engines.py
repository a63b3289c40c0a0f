"""The same answer from one thread, two, two processes, two Dask workers, and two of which one is killed."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import pytest

from dask_processes import scheduler, workers
from file_pools import answer, killed_once, pool, table, text_pool, write
from unskew.pools import stretches
from unskew.pools.cluster import on_cluster
from unskew.pools.files import check_ids
from unskew.pools.trying import try_files


@pytest.fixture
def of(tmp_path, monkeypatch):
    monkeypatch.setattr(stretches, "READ", 300)  # seventeen tasks
    return pool(write(tmp_path / "pool", table()))


@pytest.fixture
def expected(of):
    with joblib.parallel_config(backend="threading", n_jobs=1):
        return answer(of)


@pytest.mark.parametrize("config", [None, {"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 2}])
def test_threads_and_processes_agree(config, of, expected):
    if config is None:
        assert answer(of) == expected
        return
    with joblib.parallel_config(**config):
        assert answer(of) == expected


def test_one_thread_if_one_is_asked_for(of):
    with joblib.parallel_config(n_jobs=1):
        busy = of.scan(lambda block: {_thread()}, set.union)
    assert busy == {_thread()}


def _thread():
    return threading.get_ident()


def test_workers_of_a_cluster_agree_also_if_one_is_killed(of, expected, tmp_path):
    folder = tmp_path / "cluster"
    folder.mkdir()
    with scheduler(folder) as address, workers(folder), on_cluster(address) as client:
        client.wait_for_workers(2, timeout=60)
        assert len(set(client.run(os.getpid).values()) | {os.getpid()}) == 3
        assert answer(of) == expected
        check_ids(of)
        try_files(of)
        texts = text_pool(tmp_path / "texts")
        assert len(texts.stretches) >= 10 and answer(texts) == expected
        marker = tmp_path / "killed"
        assert killed_once(of, marker) == expected[0]
        assert marker.exists()


INTERRUPTED = """
import os, sys, time
from file_pools import pool
def slow(block):
    os.write(1, b"looking\\n")  # in one piece, whichever thread it is
    time.sleep(20)
pool(sys.argv[1]).scan(slow, lambda one, other: one)
"""


def test_control_c_ends_a_scan_at_once(tmp_path):
    folder = write(tmp_path / "pool", table())
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", INTERRUPTED, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=where) as process:
        assert process.stdout.readline() == b"looking\n"
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in told and time.monotonic() - began < 15  # it does not wait for what is looked at


@pytest.mark.parametrize(("address", "why"), [("nonsense", "missing port"), ("foo://a:1", "unknown address scheme")])
def test_an_address_that_is_none_is_refused_in_one_line(address, why):
    """Also when Python ends: a client that was made for it would print lines of its own then."""
    code = f"from unskew.pools.cluster import on_cluster\nwith on_cluster({address!r}): pass"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"unskew.errors.InputError: no Dask scheduler answers at {address!r} ")
    assert why in run.stderr and "Exception ignored" not in run.stderr
