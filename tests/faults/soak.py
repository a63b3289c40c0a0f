"""20 annotators on a real `unskew serve`: answers a second, times, waits, memory."""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.forks import context, end, start
from faults.replay import replay
from faults.scene import begin, read_notes
from faults.workers import annotate

ANNOTATORS = 20
CROWDS: dict[str, Any] = {
    "without pause, one row ahead": {"ahead": 2, "pause": 0.0},
    "without pause, ten rows ahead": {"ahead": 11, "pause": 0.0},
    "two seconds a row, one row ahead": {"ahead": 2, "pause": 2.0},
}
"""How the 20 work, in the same run."""
SERVE = [sys.executable, "-c", "import sys; from unskew.cli import main; sys.exit(main())", "serve"]


@dataclass
class Soaked:
    """The figures of a soak; times are of one request, an answer in and the next rows out."""

    seconds: float = 0.0
    answers: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    longest: float = 0.0
    wait_p50: float = 0.0
    wait_p99: float = 0.0
    """Seconds until somebody who answered sees the next row."""
    rounds: int = 0
    round: float = 0.0
    """The number of rounds, and the median number of their rows."""
    memory_start: float = 0.0
    memory_end: float = 0.0
    """Megabytes of the server's process."""
    lost: int = 0
    tracebacks: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


def soak(
    scratch: Path, *, seconds: float, chance: random.Random, tick: Callable[[float], None], budget: int = 8_000,
    ahead: int = 2, pause: float = 0.0,
) -> Soaked:  # fmt: skip
    """Label for that long, and see that the ledger holds what was acknowledged.

    Everybody holds `ahead` rows and thinks for `pause` seconds about each, on average.
    """
    scratch.mkdir(exist_ok=True)
    folder = begin(scratch, budget=budget, pool=budget)
    found, notes, errors = Soaked(), scratch / "notes", scratch / "served.err"
    notes.mkdir()
    names = [f"annotator {k:02d}" for k in range(ANNOTATORS)]
    words = [word for name in names for word in ("--annotator", name)]
    with (
        open(errors, "w") as complaints,
        subprocess.Popen([*SERVE, str(folder), "--port", "0", "--json", *words], stdout=subprocess.PIPE,
                         stderr=complaints, text=True) as server,
    ):  # fmt: skip
        try:
            assert server.stdout is not None
            links = json.loads(server.stdout.readline())
            tokens = {name: link.partition("#")[2] for name, link in links["annotators"].items()}
            port = int(links["address"].rpartition(":")[2])
            stop, times = context.Event(), scratch / "times.json"
            child = start(annotate, port, tokens, notes, times, stop, pause, chance.randrange(2**32), ahead)
            while not read_notes(notes)[1]:
                assert child.is_alive() and server.poll() is None, errors.read_text()
                time.sleep(0.05)
            found.memory_start, before, begun = memory(server.pid), read_notes(notes)[1], time.monotonic()
            while (now := time.monotonic()) < begun + seconds:
                tick(now - begun)
                time.sleep(min(1.0, begun + seconds - now))
            found.answers, found.seconds = read_notes(notes)[1] - before, time.monotonic() - begun
            found.memory_end = memory(server.pid)
            stop.set()
            child.join(60)
            end(child)
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(30)
            finally:
                server.kill()
    measured = json.loads(times.read_text())
    every = sorted(1000 * one for one in measured["times"])
    cuts = statistics.quantiles(every, n=100, method="inclusive")
    found.p50, found.p95, found.p99, found.longest = cuts[49], cuts[94], cuts[98], every[-1] / 1000
    waits = statistics.quantiles(measured["waits"], n=100, method="inclusive")
    found.wait_p50, found.wait_p99 = waits[49], waits[98]
    _check(folder, notes, errors.read_text(), found)
    return found


def _check(folder: Path, notes: Path, complaints: str, found: Soaked) -> None:
    said, _, odd = read_notes(notes)
    state = replay(folder)
    missing = [id for id, label in said.items() if id not in state.labels or state.labels[id] != label]
    found.lost = len(missing)
    found.rounds, found.round = len(state.sizes), statistics.median(state.sizes)
    found.tracebacks = complaints.count("Traceback") + sum("Traceback" in what for what in odd)
    found.faults = [f"row {id!r} was acknowledged as {said[id]!r} and is lost" for id in missing]
    found.faults += [*odd, *state.faults]
    if "Traceback" in complaints:
        found.faults.append(f"unskew serve printed: {' '.join(complaints.split())[:600]}")


def memory(pid: int) -> float:
    """The resident memory of a process, in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
