"""Try to break campaigns for about twenty minutes, print the figures, and fail if anything broke.

    python -m faults [--seed N] [--scale SHARE] [--only PART] [--json FILE] [--write FILE.md]

Kills, damaged files and odd inputs follow from the seed. What a kill hits does not: that is a matter of time.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from faults.bombs import bombs, throw
from faults.database import Database, NoDatabase
from faults.figures import Figures
from faults.flips import damage_files
from faults.floods import flood
from faults.fuzz import fuzz
from faults.kills import kill_planners, kill_servers, kill_workers
from faults.reach import ALL, reach
from faults.replaced import replace
from faults.search import WAYS, search
from faults.soak import CROWDS, soak

PARTS = {"workers": 75.0, "database": 75.0, "server": 50.0, "planner": 50.0, "replaced": 70.0, "files": 150.0,
         "inputs": 130.0, "bombs": 60.0, "soak": 150.0, "reach": 120.0, "search": 25.0, "floods": 70.0}  # fmt: skip
"""Every part, and about how many seconds it takes."""


class Progress:
    """One line on the standard error: what is being done, and about how long it all still takes."""

    def __init__(self, parts: dict[str, float]) -> None:
        self._parts, self._begun, self._said = parts, time.monotonic(), 0.0

    def of(self, part: str, whole: float) -> Callable[[float], None]:
        """A function that is told how much of the part is done."""

        def tick(done: float) -> None:
            now = time.monotonic()
            every = 1.0 if sys.stderr.isatty() else 20.0
            if now < self._said + every:
                return
            self._said = now
            share = min(1.0, done / whole) if whole else 1.0
            names = list(self._parts)
            at = names.index(part)
            past = sum(self._parts[name] for name in names[:at]) + share * self._parts[part]
            slower = max(1.0, (now - self._begun) / past) if past > 10 else 1.0
            left = slower * (sum(self._parts.values()) - past)
            end = "\r" if sys.stderr.isatty() else "\n"
            text = f"{part}: {100 * share:.0f} %, about {left / 60:.1f} minutes left"
            print(f"{text:<60}", end=end, file=sys.stderr, flush=True)

        return tick


def run(parts: list[str], seed: int, scale: float, scratch: Path, command: str) -> Figures:
    """Run the parts, one after the other."""
    found, begun = Figures(command), time.monotonic()
    said = Progress({part: scale * PARTS[part] for part in parts})
    for part in parts:
        where, chance, seconds = scratch / part, random.Random(f"{seed} {part}"), scale * PARTS[part]
        where.mkdir()
        if part == "workers":
            _heats(found, where, chance, said.of(part, seconds), kills=540 * scale, seconds=seconds)
        elif part == "database":
            with Database() as database:
                _heats(found, where, chance, said.of(part, seconds), kills=450 * scale, seconds=seconds,
                       database=database)  # fmt: skip
        elif part == "server":
            kills = _some(50 * scale)
            killed = kill_servers(where, kills=kills, seconds=seconds, chance=chance, tick=said.of(part, seconds))
            found.kills.add(killed)
        elif part == "planner":
            found.kills.add(kill_planners(where, seconds=seconds, chance=chance, tick=said.of(part, seconds)))
        elif part == "replaced":
            incidents = _some(48 * scale)
            found.replaced = replace(
                where, incidents=incidents, seconds=seconds, chance=chance, tick=said.of(part, seconds)
            )
        elif part == "files":
            flips = _some(1050 * scale)
            found.flips = damage_files(where, flips=flips, chance=chance, tick=said.of(part, flips))
        elif part == "inputs":
            inputs = _some(11_000 * scale)
            found.fuzz = fuzz(where, inputs=inputs, chance=chance, tick=said.of(part, inputs))
        elif part == "reach":
            names = ALL[: _some(len(ALL) * scale)]
            found.reach = reach(where, tick=said.of(part, len(names)), names=names)
        elif part == "floods":
            found.flood = flood(where, seconds=max(5.0, 65 * scale), chance=chance, tick=said.of(part, seconds))
        elif part == "bombs":
            found.bombs = throw(where, kinds=list(bombs()), every_command=scale >= 1, tick=said.of(part, len(bombs())))
        elif part == "search":
            found.search = search(where, chance=chance, tick=said.of(part, 6 * len(WAYS)))
        else:
            _soaks(found, where, chance, said.of(part, seconds), scale=scale, seconds=seconds)
        shutil.rmtree(where, ignore_errors=True)
    found.minutes = (time.monotonic() - begun) / 60
    return found


def _heats(
    found: Figures, where: Path, chance: random.Random, tick: Callable[[float], None], *, kills: float, seconds: float,
    database: Database | None = None,
) -> None:  # fmt: skip
    """Kill workers in one small campaign after the other: each time there is a last row to race for."""
    number = max(1, round(kills / 180))
    for heat in range(number):
        past = heat * seconds / number
        killed = kill_workers(
            where / str(heat), kills=_some(kills / number), seconds=seconds / number, chance=chance,
            tick=lambda done, past=past: tick(past + done), database=database, crashes=_some(kills / number / 20),
        )  # fmt: skip
        found.kills.add(killed)


def _soaks(
    found: Figures, where: Path, chance: random.Random, tick: Callable[[float], None], *,
    scale: float, seconds: float,
) -> None:  # fmt: skip
    """Annotators at work in one way after the other."""
    for number, (crowd, how) in enumerate(CROWDS.items()):
        past = number * seconds / len(CROWDS)
        found.soaks[crowd] = soak(
            where / str(number), seconds=max(5.0, 40 * scale), chance=chance,
            tick=lambda done, past=past: tick(past + done), **how,
        )  # fmt: skip


def _some(number: float) -> int:
    return max(2, round(number))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m faults", description="Try to break campaigns.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full run, such as 0.1")
    parser.add_argument("--only", choices=list(PARTS), action="append", help="only this part; may be repeated")
    parser.add_argument("--json", type=Path, help="also write all figures and faults to this file")
    parser.add_argument("--write", type=Path, help="also write the tables to this file")
    options = parser.parse_args(arguments)
    words = [f"--seed {options.seed}", *([f"--scale {options.scale:g}"] if options.scale != 1 else [])]
    parts = [part for part in PARTS if not options.only or part in options.only]
    with tempfile.TemporaryDirectory(prefix="unskew-faults-") as scratch:
        os.environ["XDG_CONFIG_HOME"] = scratch  # what is agreed to here is not the user's
        try:
            found = run(parts, options.seed, options.scale, Path(scratch), f"python -m faults {' '.join(words)}")
        except NoDatabase as error:
            print(error, file=sys.stderr)
            return 2
    print(found.markdown())
    if options.write:
        options.write.write_text(found.markdown())
    if options.json:
        options.json.write_text(json.dumps(found, default=vars, indent=1) + "\n")
    for fault in found.faults:
        print(f"fault: {fault}")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
