"""A Dask scheduler and workers as processes of their own, on this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager


@contextmanager
def dask(folder, *words):
    """A dask command as a process group of its own, killed at the end."""
    command = [
        sys.executable,
        "-m",
        "dask",
        *words,
        "--no-dashboard",
        "--scheduler-file",
        str(folder / "scheduler.json"),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # workers import tests' modules
    with open(folder / f"{words[0]}.log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True, env=env)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def scheduler(folder):
    with dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0"):
        deadline = time.monotonic() + 60
        while True:
            try:
                address = json.loads((folder / "scheduler.json").read_text())["address"]
            except (OSError, ValueError):
                assert time.monotonic() < deadline, (folder / "scheduler.log").read_text()
                time.sleep(0.05)
                continue
            yield address
            return


def workers(folder):
    """Two of them, each a process with one thread."""
    return dask(folder, "worker", "--nworkers", "2", "--nthreads", "1", "--host", "127.0.0.1")
