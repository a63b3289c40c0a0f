"""Flipped bits and cut-off ends in every file of a campaign: each is harmless, or refused in one line."""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.forks import HANG, Ran, run_commands, start
from faults.replay import replay
from faults.scene import ID, LABEL, begin, truth

OLD_CACHE = ("model-0.joblib", "features-0.npy", "log.parquet.json", "pool.parquet.json", "planning.lock")
"""What older versions kept in the folder. It may still lie there, and must be of no effect."""
BUDGET, ASKED, TOLD = 80, 30, 24


@dataclass
class Damaged:
    """Flips by file and verdict, the longest command, and the faults: what was done to which file, what came of it."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    longest: float = 0.0
    hangs: int = 0
    tracebacks: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def flips(self) -> int:
        return sum(verdicts.total() for verdicts in self.verdicts.values())


def damage_files(
    scratch: Path, *, flips: int, chance: random.Random, tick: Callable[[int], None], slots: int = 2
) -> Damaged:
    """Damage each file in turn, each time in a campaign that was whole before, and see what the commands make of it."""
    found, lock = Damaged(), threading.Lock()
    victims = [Victim(scratch / f"slot-{k}") for k in range(slots)]
    numbers = iter(range(flips))
    seeds = [chance.randrange(2**32) for _ in range(flips)]
    broken: list[BaseException] = []

    def work(victim: Victim) -> None:
        try:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                file = victim.files[number % len(victim.files)]
                what, verdict, ran = victim.flip(file, random.Random(seeds[number]))
                with lock:
                    _count(found, victim, file, what, verdict, ran)
                    tick(found.flips)
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=work, args=(victim,)) for victim in victims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    return found


def _count(found: Damaged, victim: "Victim", file: Path, what: str, verdict: str, ran: list[Ran]) -> None:
    name = victim.name(file)
    kind = verdict if verdict in ("harmless", "refused") else "faults"
    found.verdicts.setdefault(name, Counter())[kind] += 1
    found.longest = max([found.longest, *(one.seconds for one in ran)])
    found.hangs += "no end within" in verdict
    found.tracebacks += any("Traceback" in one.err for one in ran)
    if kind == "faults":
        found.faults.append(f"{name}, {what}: {verdict}")


class Victim:
    """A campaign of 48 labels whose last process was killed, so that some are only in the write-ahead log.

    It is put back as it was, at the same place, before every flip.
    """

    def __init__(self, slot: Path) -> None:
        self.slot, self.work, self.whole = slot, slot / "work", slot / "whole"
        self.folder, self.home = self.work / "loans", self.work / "home"
        self.home.mkdir(parents=True)
        child = start(_prepare, self.work, self.home)
        child.join()
        assert child.exitcode == -signal.SIGKILL, "the campaign was not prepared"
        child.close()
        if not (self.folder / "cache").exists():
            (self.folder / "cache").mkdir()
            for name in OLD_CACHE:
                (self.folder / "cache" / name).write_bytes(random.Random(name).randbytes(200))
        known, new = (self.work / "said").read_text().split()
        (self.work / "told.csv").write_text(f"{ID},{LABEL}\n{known},{truth(known)}\n{new},{truth(new)}\n")
        shutil.copytree(self.work, self.whole)
        folder = str(self.folder)
        self._commands = [
            ["status", folder, "--json"],
            ["ask", folder, "-n", "16", "--by", "ann", "--json"],
            ["tell", folder, str(self.work / "told.csv"), "--by", "ann", "--json"],
            ["verify", folder, "--json"],  # the others open from a snapshot, and need not see old events
        ]
        self.reference = self._reference()
        assert self.reference == self._reference(), "what the commands say without a flip differs from run to run"

    @property
    def files(self) -> list[Path]:
        """All files of the campaign, and those in the user's cache."""
        found = [*self.whole.joinpath("loans").rglob("*"), *self.whole.joinpath("home", "unskew").rglob("*")]
        return sorted(self.work / file.relative_to(self.whole) for file in found if file.is_file())

    def name(self, file: Path) -> str:
        """The file's name without what differs from campaign to campaign."""
        inside = file.is_relative_to(self.folder)
        shown = file.relative_to(self.folder) if inside else Path("user's cache", file.name)
        return re.sub(r"[0-9a-f]{8,}(-[0-9a-f]{4,})*", "*", str(shown))

    def flip(self, file: Path, chance: random.Random) -> tuple[str, str, list[Ran]]:
        """Damage one file: what was done, the verdict, and the commands that were run."""
        self._restore()
        what = damage(file, chance)
        ran, why = self._run()
        return what, self._verdict(ran, why), ran

    def _restore(self) -> None:
        shutil.rmtree(self.work)
        shutil.copytree(self.whole, self.work)

    def _run(self) -> tuple[list[Ran], str]:
        return run_commands(self.slot / "ran", self._commands, environment={"XDG_CACHE_HOME": str(self.home)})

    def _reference(self) -> list[Any]:
        self._restore()
        ran, why = self._run()
        assert not why and all(one.status == 0 for one in ran), f"without a flip: {why} {ran}"
        return [*map(said, ran), ledger(self.folder)]

    def _verdict(self, ran: list[Ran], why: str) -> str:
        refused = False
        for words, one, expected in zip(self._commands, ran, self.reference, strict=False):
            if one.seconds > HANG:
                return f"{words[0]}: no end within {HANG:g} s"
            if one.status == 0 and (said(one) != expected or one.err):
                return f"{words[0]} is wrong and does not say so: {difference(said(one), expected)} {one.err[-200:]}"
            if one.status != 0 and not one.refused:
                return f"{words[0]} ended with status {one.status}: {' '.join(one.err.split())[-300:]}"
            refused = refused or one.status != 0
        if why:
            return f"{self._commands[len(ran)][0]}: {why}"
        if refused:
            return "refused"
        try:
            kept = ledger(self.folder)
        except (sqlite3.Error, ValueError) as error:
            return f"all commands went on, and the ledger cannot be read: {error}"
        return "harmless" if kept == self.reference[-1] else "all commands went on, and the ledger differs"


def _prepare(work: Path, home: Path) -> None:
    """Make the campaign and give 48 of 60 labels, half of them in a process that ends as it should. Then be killed."""
    os.environ["XDG_CACHE_HOME"] = str(home)
    from unskew.campaigns import Campaign
    from unskew.campaigns.ledger import live

    live.SNAPSHOT_AFTER = 10
    begin(work, budget=BUDGET, pool=300)
    for last in (False, True):
        campaign = Campaign.open(work / "loans")
        rows = campaign.ask(ASKED + (ASKED - TOLD) * last, by="ann")
        campaign.tell({row.id: truth(row.id) for row in rows[:TOLD]}, by="ann")
        campaign.close_due()
        for _ in range(10):  # so that there are more events than rows, and a snapshot is kept
            campaign.comment(rows[0].id, "as the table says", by="ann")
        if last:
            (work / "said").write_text(f"{rows[0].id} {rows[-1].id}")
            os.kill(os.getpid(), signal.SIGKILL)
        campaign.close()


def damage(file: Path, chance: random.Random) -> str:
    """Flip bits of a file or cut off its end, as a disk would: size and time stay as they are, if they can."""
    raw, found = bytearray(file.read_bytes()), file.stat()
    if not raw:
        raw += chance.randbytes(chance.randint(1, 40))
        what = "bytes added"
    elif chance.random() < 0.15:
        kept = chance.choice([0, chance.randrange(len(raw))])
        what = f"cut after {kept} of {len(raw)} bytes"
        del raw[kept:]
    else:
        bits = [chance.randrange(8 * len(raw)) for _ in range(chance.choice([1, 1, 1, 1, 1, 8]))]
        for bit in bits:
            raw[bit // 8] ^= 1 << bit % 8
        what = f"bits {', '.join(f'{bit // 8}.{bit % 8}' for bit in bits)} of {len(raw)} bytes flipped"
    file.write_bytes(raw)
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    return what


def said(ran: Ran) -> Any:
    """What a command printed, without what may differ: numbers to 9 digits; of rows, only their ids; no snapshot."""
    try:
        record = json.loads(ran.out, parse_float=lambda text: float(f"{float(text):.9g}"))
    except ValueError:
        return ran.out
    return {key: [row["id"] for row in value] if key == "rows" and isinstance(value, list) else value
            for key, value in record.items() if not key.startswith("snapshot")}  # fmt: skip


def difference(found: Any, expected: Any) -> str:
    if isinstance(found, dict) and isinstance(expected, dict):
        return "; ".join(
            f"{key} {found.get(key)!r:.80}, not {expected.get(key)!r:.80}"
            for key in {**expected, **found}
            if found.get(key) != expected.get(key)
        )
    return f"{found!r:.200}"


def ledger(folder: Path) -> tuple[Any, ...]:
    """What the ledger amounts to."""
    state = replay(folder)
    return state.labels, state.planned, state.rounds, state.faults
