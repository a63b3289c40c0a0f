"""kill -9 at random moments: of workers and commands, of the server, of its planner, of the database."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults.database import Database
from faults.forks import context, end, run_commands, start
from faults.replay import replay
from faults.scene import ID, LABEL, begin, read_notes, truth
from faults.served import PATIENCE, Server
from faults.workers import annotate, by_calls, by_commands

WORKERS = 20
HANG = 60.0
"""Seconds after which a call hangs: twice as long as the ledger waits for another writer."""
Tick = Callable[[float], None]
"""Told the seconds that passed, for the progress line."""


@dataclass
class Killed:
    """What came of a stage: kills by what was killed, answers acknowledged, lost, counted twice, and all faults."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    twice: int = 0
    over_budget: int = 0
    longest: float = 0.0
    """Seconds of the longest call, with 20 at work and waiting for each other."""
    tracebacks: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Killed") -> None:
        self.kills += other.kills
        for name in ("acknowledged", "lost", "twice", "over_budget", "tracebacks"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.faults += other.faults


def kill_workers(
    scratch: Path, *, kills: int, seconds: float, chance: random.Random, tick: Tick, budget: int = 1000,
    workers: int = WORKERS, database: Database | None = None, crashes: int = 0,
) -> Killed:  # fmt: skip
    """Workers, half by calls and half by commands, killed one by one and started again; with crashes of the store.

    They race for a small budget: it must hold to the last row.
    """
    folder = begin(scratch, budget=budget, store=database and database.url, planned=budget // 2)
    notes, began, found = _notes(scratch), context.RawArray("d", workers), Killed()
    kinds = {at: (by_calls, "worker") if at % 2 else (by_commands, "command") for at in range(workers)}
    running = {}

    def launch(at: int) -> None:
        began[at] = 0.0
        file = notes / f"worker-{at:02d}"
        running[at] = start(kinds[at][0], folder, at, file, began, chance.randrange(2**32))

    try:
        for at in kinds:
            launch(at)
        begun, crashed = time.monotonic(), 0
        for number in range(kills):
            _pause(begun + seconds * number / kills + chance.uniform(0, seconds / kills), began, found)
            at = chance.choice([at for at in running if began[at]] or [*running])  # one in the middle of a call
            end(running.pop(at))
            found.kills[f"{kinds[at][1]}, {'PostgreSQL' if database else 'SQLite'}"] += 1
            launch(at)
            if database is not None and (number + 1) * crashes // kills > crashed:
                crashed += 1
                database.crash(killed=bool(crashed % 2))
                found.kills["database"] += 1
            tick(time.monotonic() - begun)
        time.sleep(1)  # all of them at work again
    finally:
        for child in running.values():
            end(child)
    if found.longest > HANG:
        found.faults.append(f"a call took {found.longest:.1f} s")
    _check(folder, notes, found)
    return found


def kill_servers(
    scratch: Path, *, kills: int, seconds: float, chance: random.Random, tick: Tick, budget: int = 6000
) -> Killed:
    """20 annotators on the page of a server that is killed and started again; half the time with its planner."""
    folder = begin(scratch, budget=budget, planned=budget // 2)
    found, notes = Killed(), _notes(scratch)
    with Server(folder, _names(), scratch) as server, _annotating(server, scratch, notes, chance, pause=0.02):
        begun = time.monotonic()
        for number in range(kills):
            _pause(begun + seconds * number / kills + chance.uniform(0, 0.7 * seconds / kills))
            server.kill(alone=bool(number % 2))
            found.kills["server"] += 1
            server.start()
            tick(time.monotonic() - begun)
        time.sleep(1)
    _complaints(server, found)
    _check(folder, notes, found)
    return found


def kill_planners(scratch: Path, *, seconds: float, chance: random.Random, tick: Tick, budget: int = 3000) -> Killed:
    """20 annotators on the page of a server whose planner is killed each time it is at work."""
    folder = begin(scratch, budget=budget, planned=budget // 5)
    found, notes = Killed(), _notes(scratch)
    with (
        Server(folder, _names(), scratch, again=0.1) as server,
        _annotating(server, scratch, notes, chance, pause=0.1),
    ):
        begun = time.monotonic()
        while time.monotonic() < begun + (seconds if found.kills else PATIENCE):
            planner = server.planner()
            if planner is None:
                time.sleep(0.01)
                continue
            time.sleep(chance.uniform(0.0, 2.0))
            with suppress(ProcessLookupError):
                os.kill(planner, signal.SIGKILL)
                found.kills["planner"] += 1
            tick(time.monotonic() - begun)
    _complaints(server, found)
    _check(folder, notes, found)
    return found


def _names() -> list[str]:
    return [f"annotator {k:02d}" for k in range(WORKERS)]


def _notes(scratch: Path) -> Path:
    notes = scratch / "notes"
    notes.mkdir()
    return notes


def _pause(until: float, began: object = (), found: Killed | None = None) -> None:
    """Wait until then, and meanwhile see how long the calls that are under way take."""
    while True:
        now = time.monotonic()
        if found is not None:
            found.longest = max([found.longest, *(now - at for at in began if at)])  # type: ignore[attr-defined]
        if now >= until:
            return
        time.sleep(min(0.05, until - now))


@contextmanager
def _annotating(server: Server, scratch: Path, notes: Path, chance: random.Random, *, pause: float) -> Iterator[None]:
    """20 annotators at work, in a process of their own."""
    stop = context.Event()
    seed = chance.randrange(2**32)
    child = start(annotate, server.port, server.tokens, notes, scratch / "times.json", stop, pause, seed)
    try:
        yield
        stop.set()
        child.join(60)
        assert not child.is_alive(), "a request never ended"
    finally:
        end(child)


def _complaints(server: Server, found: Killed) -> None:
    """A server may say in a line that its planner died. It may not print a traceback."""
    said = server.complaints()
    if "Traceback" in said:
        found.tracebacks += said.count("Traceback")
        found.faults.append(f"unskew serve printed: {' '.join(said[said.index('Traceback') :].split())[:600]}")


def _check(folder: Path, notes: Path, found: Killed) -> None:
    """Every acknowledged answer counts, once; no rule was broken; the campaign goes on."""
    said, found.acknowledged, odd = read_notes(notes)
    found.tracebacks += sum("Traceback" in what for what in odd)
    found.faults += odd
    state = replay(folder)
    missing = [id for id, label in said.items() if id not in state.labels or state.labels[id] != label]
    found.lost = len(missing)
    found.faults += [f"row {id!r} was acknowledged as {said[id]!r} and is lost" for id in missing]
    found.twice = sum("before" in what for what in state.faults)
    found.over_budget = sum("above the budget" in what for what in state.faults)
    found.faults += state.faults
    found.faults += _goes_on(folder, notes.parent, state.spent)


def _goes_on(folder: Path, scratch: Path, spent: int) -> list[str]:
    """What is wrong with the campaign when somebody else comes to it."""
    (status, asked), why = _commands(scratch, ["status", str(folder)], ["ask", str(folder), "-n", "3", "--by", "after"])
    if why:
        return [why]
    if json.loads(status)["spent"] != spent:
        return [f"status says {json.loads(status)['spent']} labels; the ledger holds {spent}"]
    ids = [row["id"] for row in json.loads(asked)["rows"]]
    if not ids:  # the budget is spent, or others hold the last rows
        return [] if json.loads(status)["left"] == 0 else ["there is budget left and no row is given"]
    file = scratch / "after.csv"
    file.write_text(f"{ID},{LABEL}\n" + "".join(f"{id},{truth(id)}\n" for id in ids))
    (told,), why = _commands(scratch, ["tell", str(folder), str(file), "--by", "after"])
    if why or json.loads(told)["spent"] != spent + len(ids):
        return [why or f"after {len(ids)} more, tell says {json.loads(told)['spent']} labels; before it were {spent}"]
    return []


def _commands(scratch: Path, *every: list[str]) -> tuple[list[str], str]:
    ran, why = run_commands(scratch / "after.jsonl", [[*words, "--json"] for words in every], limit=60)
    failed = [f"unskew {words[0]}: {one.err}" for words, one in zip(every, ran, strict=False) if one.status != 0]
    return [one.out for one in ran] if not why else [""] * len(every), why or "; ".join(failed)
