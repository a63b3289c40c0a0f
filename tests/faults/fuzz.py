"""Odd inputs for every reader and every route: each is taken, or refused in one line."""

import json
import os
import random
import resource
import shutil
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.forks import HANG, context, start
from faults.scene import begin

MEMORY = 6 << 30
"""Bytes of address space for a reader: what a file of a few megabytes may never need."""
PAGE = "routes of the page"
NAMES = {
    "log, CSV": 0.12, "log, CSV in gzip": 0.06, "log, TSV": 0.05, "log, Parquet": 0.10, "pool, CSV": 0.06,
    "pool, Parquet": 0.05, "labels, CSV": 0.10, "labels, JSON lines": 0.08, "labels, Label Studio's JSON": 0.10,
    "campaign.json": 0.06, "settings in the ledger": 0.04, "unskew audit": 0.008, "unskew start": 0.006,
    "unskew predict": 0.01, PAGE: 0.15,
}  # fmt: skip
"""What is fuzzed, and its share of all inputs."""


@dataclass
class Fuzzed:
    """Inputs by reader and verdict, the longest, and each different fault with an input that shows it."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    longest: float = 0.0
    hangs: int = 0
    crashes: int = 0
    tracebacks: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return sum(verdicts.total() for verdicts in self.verdicts.values())


@dataclass
class _Job:
    name: str
    left: int
    seed: int
    scratch: Path
    child: Any = None
    shared: Any = None
    """In shared memory: inputs done, and when the present one began."""
    attempt: int = 0


def fuzz(scratch: Path, *, inputs: int, chance: random.Random, tick: Callable[[int], None], at_once: int = 2) -> Fuzzed:
    """Fuzz all readers and routes, two at a time, in processes that may hang or die."""
    campaign = begin(scratch, budget=3000, pool=1500, planned=600)
    found = Fuzzed({name: Counter() for name in NAMES})
    total = sum(NAMES.values())
    waiting = [
        _Job(name, max(5, round(inputs * share / total)), chance.randrange(2**32), scratch / f"job-{k}")
        for k, (name, share) in enumerate(NAMES.items())
    ]
    running: list[_Job] = []
    done = 0
    while waiting or running:
        while waiting and len(running) < at_once:
            running.append(_launch(waiting.pop(0), campaign))
        time.sleep(0.05)
        for job in [*running]:
            began = job.shared[1]
            hangs = bool(began) and time.monotonic() - began > HANG
            if job.child.is_alive() and not hangs:
                continue
            running.remove(job)
            done += _collect(job, hangs, found)
            if job.left > 0:
                waiting.insert(0, job)
        tick(done + sum(int(job.shared[0]) for job in running))
    return found


def _launch(job: _Job, campaign: Path) -> _Job:
    shutil.rmtree(job.scratch, ignore_errors=True)
    job.scratch.mkdir()
    job.shared = context.RawArray("d", 2)
    job.attempt += 1
    job.child = start(_fuzz, job.name, job.left, job.seed + job.attempt, job.scratch, campaign, job.shared)
    return job


def _collect(job: _Job, hangs: bool, found: Fuzzed) -> int:
    """Take in what a process found, and why it ended if that was too early."""
    job.child.kill()
    job.child.join()
    status, tried = job.child.exitcode, int(job.shared[0])
    verdicts = found.verdicts[job.name]
    for line in (job.scratch / "found").read_text().splitlines() if (job.scratch / "found").exists() else []:
        record = json.loads(line)
        verdicts[record["verdict"]] += record["times"]
        if record["verdict"] == "faults":
            found.tracebacks += 0 if record["what"].startswith("a message") else record["times"]
            found.faults.append(f"{job.name}, {record['times']} times: {record['what']}: {record['example']}")
    longest = job.scratch / "longest"
    found.longest = max(found.longest, float(longest.read_text()) if longest.exists() else 0.0)
    job.left -= tried
    if (job.scratch / "broken").exists():
        raise AssertionError(f"inputs for {job.name} cannot be made: {(job.scratch / 'broken').read_text()}")
    if hangs or status != 0:
        why = f"no end within {HANG:g} s" if hangs else f"the process died with status {status}"
        current = job.scratch / "input"
        shown = repr(current.read_bytes()[:200]) if current.exists() else "nothing yet"
        found.faults.append(f"{job.name}: {why}; for {shown}")
        found.hangs, found.crashes = found.hangs + hangs, found.crashes + (not hangs)
        verdicts["faults"] += 1
        job.left -= 1
        if not tried and job.attempt > 5:
            job.left = 0  # it dies whatever it is given
    else:
        job.left = 0  # there are no more inputs of this kind
    return tried


def _fuzz(name: str, number: int, seed: int, scratch: Path, campaign: Path, shared: Any) -> None:
    """The process: give a reader its inputs, one after the other. Counts are written as they change."""
    import hypothesis

    from unskew.errors import UnskewError

    os.chdir(scratch)
    os.environ["XDG_CACHE_HOME"] = str(scratch / "home")
    os.dup2(os.open(scratch / "printed", os.O_WRONLY | os.O_CREAT), 2)  # Rust prints its panics
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")  # a person would see more than one line
    counts: dict[tuple[str, str], list[Any]] = {}
    longest = 0.0
    with ExitStack() as stack:
        strategy, call, shown = _target(name, scratch, campaign, stack)

        def attempt(value: Any) -> None:
            nonlocal longest
            (scratch / "input").write_bytes(shown(value))
            begun = shared[1] = time.monotonic()
            what = message = ""
            try:
                call(value)
                verdict = "accepted"
            except UnskewError as error:
                what = _unfit(str(error))
                verdict = "faults" if what else "refused"
            except BaseException as error:  # Rust's panics are no Exception
                verdict, what = "faults", _where(error)
                message = f"{' '.join(str(error).split())[:150]}; "
            shared[1] = 0.0
            longest = max(longest, time.monotonic() - begun)
            shared[0] += 1
            seen = counts.setdefault((verdict, what), [0, f"{message}for {shown(value)[:300]!r}"])
            seen[0] += 1
            if seen[0] == 1 or shared[0] % 50 == 0:
                _write(scratch, counts, longest)

        options = hypothesis.settings(
            max_examples=number, database=None, deadline=None, phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )  # fmt: skip
        try:
            hypothesis.seed(seed)(options(hypothesis.given(strategy)(attempt)))()
        except BaseException as error:  # of the harness itself: the inputs could not be made
            (scratch / "broken").write_text("".join(traceback.format_exception(error)))
            raise
        _write(scratch, counts, longest)


def _target(name: str, scratch: Path, campaign: Path, stack: ExitStack) -> tuple[Any, Any, Callable[[Any], bytes]]:
    """The inputs, the call that takes one, and how to show one."""
    if name == PAGE:
        from faults.routes import Page, as_bytes

        page = Page(shutil.copytree(campaign, scratch / "loans"), stack)
        return page.requests(), page.call, as_bytes
    from faults.readers import readers

    reader = readers(scratch, campaign)[name]
    return reader.inputs, reader.read, bytes


def _write(scratch: Path, counts: dict[tuple[str, str], list[Any]], longest: float) -> None:
    lines = [
        json.dumps({"verdict": verdict, "what": what, "times": times, "example": example})
        for (verdict, what), (times, example) in counts.items()
    ]
    (scratch / "found.new").write_text("\n".join(lines))
    (scratch / "found.new").replace(scratch / "found")
    (scratch / "longest").write_text(str(longest))


def _unfit(message: str) -> str:
    """What is wrong with a message, if anything: it is to be one line that any terminal can show, with no password."""
    from faults.readers import SECRET

    try:
        message.encode()
    except UnicodeEncodeError:
        return "a message that cannot be printed"
    if SECRET in message:
        return "a message with a password in it"
    return "" if message and "\n" not in message else "a message of several lines"


def _where(error: BaseException) -> str:
    """The kind of an error, and the last place in our own source."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/unskew/" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "outside"
    return f"{type(error).__name__} at {place}"
