"""The figures of a run, as tables in Markdown."""

import os
import platform
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from faults.flips import Damaged
from faults.floods import Flooded
from faults.fuzz import Fuzzed
from faults.kills import Killed
from faults.reach import Reached
from faults.soak import Soaked


@dataclass
class Figures:
    """What came of every part, as far as it was run."""

    command: str
    kills: Killed = field(default_factory=Killed)
    flips: Damaged = field(default_factory=Damaged)
    fuzz: Fuzzed = field(default_factory=Fuzzed)
    soak: Soaked = field(default_factory=Soaked)
    reach: Reached = field(default_factory=Reached)
    flood: Flooded = field(default_factory=Flooded)
    minutes: float = 0.0

    @property
    def faults(self) -> list[str]:
        parts = {
            "kills": self.kills,
            "files": self.flips,
            "inputs": self.fuzz,
            "soak": self.soak,
            "reach": self.reach,
            "floods": self.flood,
        }
        return [f"{name}: {fault}" for name, part in parts.items() for fault in part.faults]

    def markdown(self) -> str:
        """All tables, in the order in which the parts were run."""
        ran = [(self._kills, self.kills.kills), (self._flips, self.flips.verdicts), (self._fuzz, self.fuzz.verdicts),
               (self._soak, self.soak.answers), (self._reach, self.reach.verdicts),
               (self._flood, self.flood.requests)]  # fmt: skip
        tables = [f"`{self.command}`", self._summary(), *(table() for table, figures in ran if figures)]
        cores = len(os.sched_getaffinity(0))
        machine = f"{self.minutes:.0f} minutes on {cores} cores, Python {platform.python_version()}."
        return "\n\n".join([*tables, machine]) + "\n"

    def _summary(self) -> str:
        kills, flips, fuzz, soak = self.kills, self.flips, self.fuzz, self.soak
        command = max(flips.longest, fuzz.longest, soak.longest)
        return _table(
            ("of all", "number"),
            [
                ("processes and databases killed", kills.kills.total()),
                ("files damaged", flips.flips),
                ("inputs tried", fuzz.inputs),
                ("answers acknowledged", kills.acknowledged + soak.answers),
                ("answers lost", kills.lost + soak.lost),
                ("rows planned or answered twice", kills.twice),
                ("times that a budget was exceeded", kills.over_budget),
                ("longest command, input or request alone, seconds", f"{command:.1f}"),
                ("longest call of 20 workers who wait for each other, seconds", f"{kills.longest:.1f}"),
                ("commands or inputs without an end in 10 seconds", flips.hangs + fuzz.hangs),
                ("tracebacks and crashes",
                 kills.tracebacks + flips.tracebacks + fuzz.tracebacks + fuzz.crashes + soak.tracebacks),
                ("faults", len(self.faults)),
            ],
        )  # fmt: skip

    def _kills(self) -> str:
        return _table(("killed with kill -9, under 20 workers", "times"), _summed(self.kills.kills))

    def _flips(self) -> str:
        return _verdicts("file with flipped bits, or cut off", self.flips.verdicts, "harmless")

    def _fuzz(self) -> str:
        return _verdicts("odd inputs for", self.fuzz.verdicts, "accepted")

    def _reach(self) -> str:
        return _verdicts("folders that name something elsewhere", self.reach.verdicts, "harmless")

    def _soak(self) -> str:
        soak = self.soak
        return _table(
            ("20 annotators without pause", "figure"),
            [
                ("seconds", f"{soak.seconds:.0f}"),
                ("answers", soak.answers),
                ("answers a second", f"{soak.rate:.1f}"),
                ("milliseconds of a request with one answer, median", f"{soak.p50:.0f}"),
                ("95 % within", f"{soak.p95:.0f}"),
                ("99 % within", f"{soak.p99:.0f}"),
                ("memory of the server at the start, MB", f"{soak.memory_start:.0f}"),
                ("memory of the server at the end, MB", f"{soak.memory_end:.0f}"),
            ],
        )

    def _flood(self) -> str:
        flood = self.flood
        return _table(
            ("one annotator who writes without pause", "figure"),
            [
                ("seconds", f"{flood.seconds:.0f}"),
                ("comments, corrections, undos and answers sent", flood.requests),
                ("of these refused because they were too many", flood.statuses[429]),
                ("kilobytes that they added to the ledger", f"{flood.kilobytes:.0f}"),
                ("answers of another annotator meanwhile", flood.others),
            ],
        )


def _summed(counts: Counter[str]) -> list[tuple[object, ...]]:
    return [*sorted(counts.items()), ("all", counts.total())]


def _verdicts(heading: str, verdicts: dict[str, Counter[str]], fine: str) -> str:
    total = sum(verdicts.values(), Counter())
    return _table(
        (heading, "tried", fine, "refused in one line", "faults"),
        [
            (name, counts.total(), counts[fine], counts["refused"], counts["faults"])
            for name, counts in [*verdicts.items(), ("all", total)]
        ],
    )


def _table(headings: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [headings, ("---", *["---:"] * (len(headings) - 1)), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
