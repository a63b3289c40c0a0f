"""The figures of a run, as tables in Markdown."""

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from faults.bombs import Bombed
from faults.flips import Damaged
from faults.floods import Flooded
from faults.fuzz import Fuzzed
from faults.kills import Killed
from faults.reach import Reached
from faults.replaced import Replaced
from faults.search import Searched
from faults.soak import Soaked


@dataclass
class Figures:
    """What came of every part, as far as it was run."""

    command: str
    kills: Killed = field(default_factory=Killed)
    replaced: Replaced = field(default_factory=Replaced)
    flips: Damaged = field(default_factory=Damaged)
    fuzz: Fuzzed = field(default_factory=Fuzzed)
    bombs: Bombed = field(default_factory=Bombed)
    soaks: dict[str, Soaked] = field(default_factory=dict)
    """By how the annotators worked."""
    reach: Reached = field(default_factory=Reached)
    search: Searched = field(default_factory=Searched)
    flood: Flooded = field(default_factory=Flooded)
    minutes: float = 0.0

    @property
    def faults(self) -> list[str]:
        parts = {
            "kills": self.kills,
            "replaced": self.replaced,
            "files": self.flips,
            "inputs": self.fuzz,
            "bombs": self.bombs,
            **self.soaks,
            "reach": self.reach,
            "search": self.search,
            "floods": self.flood,
        }
        return [f"{name}: {fault}" for name, part in parts.items() for fault in part.faults]

    def markdown(self) -> str:
        """All tables, in the order in which the parts were run."""
        ran = [(self._kills, self.kills.kills), (self._replaced, self.replaced.incidents),
               (self._flips, self.flips.verdicts), (self._fuzz, self.fuzz.verdicts),
               (self._bombs, self.bombs.verdicts), (self._soaks, self.soaks),
               (self._reach, self.reach.verdicts), (self._search, self.search.attacks),
               (self._flood, self.flood.requests)]  # fmt: skip
        tables = [f"`{self.command}`", self._summary(), *(table() for table, figures in ran if figures)]
        cores = len(os.sched_getaffinity(0))
        machine = f"{self.minutes:.0f} minutes on {cores} cores, Python {platform.python_version()}."
        return "\n\n".join([*tables, machine]) + "\n"

    def _summary(self) -> str:
        kills, flips, fuzz, soaks = self.kills, self.flips, self.fuzz, self.soaks.values()
        command = max(flips.longest, fuzz.longest, *(soak.longest for soak in soaks))
        return _table(
            ("of all", "number"),
            [
                ("processes and databases killed", kills.kills.total()),
                ("files damaged", flips.flips),
                ("inputs tried", fuzz.inputs),
                ("small files that become gigabytes", sum(self.bombs.verdicts.values(), Counter()).total()),
                ("ledgers deleted or replaced", self.replaced.incidents.total()),
                ("answers acknowledged", kills.acknowledged + self.replaced.acknowledged
                 + sum(soak.answers for soak in soaks)),
                ("answers lost", kills.lost + self.replaced.lost + sum(soak.lost for soak in soaks)),
                ("rows planned or answered twice", kills.twice),
                ("times that a budget was exceeded", kills.over_budget),
                ("longest command, input or request alone, seconds", f"{command:.1f}"),
                ("longest call of 20 workers who wait for each other, seconds", f"{kills.longest:.1f}"),
                ("commands or inputs without an end in 10 seconds", flips.hangs + fuzz.hangs),
                ("tracebacks and crashes",
                 kills.tracebacks + flips.tracebacks + fuzz.tracebacks + fuzz.crashes
                 + sum(soak.tracebacks for soak in soaks)),
                ("faults", len(self.faults)),
            ],
        )  # fmt: skip

    def _kills(self) -> str:
        return _table(("killed with kill -9, under 20 workers", "times"), _summed(self.kills.kills))

    def _replaced(self) -> str:
        return _table(("the ledger, under 8 workers, was", "times"), _summed(self.replaced.incidents))

    def _flips(self) -> str:
        return _verdicts("file with flipped bits, or cut off", self.flips.verdicts, "harmless")

    def _fuzz(self) -> str:
        return _verdicts("odd inputs for", self.fuzz.verdicts, "accepted")

    def _reach(self) -> str:
        return _verdicts("folders that name something elsewhere", self.reach.verdicts, "harmless")

    def _search(self) -> str:
        tried = self.search
        return _table(
            ("an annotator who reads letter by letter", "number"),
            [
                ("ways, each on every hidden part", tried.attacks),
                ("requests", tried.requests),
                ("letters read in what is shown", tried.read),
                ("hidden parts of which a letter was read", len(tried.faults)),
            ],
        )

    def _bombs(self) -> str:
        rows = [(kind, counts.total(), counts["refused"], counts["faults"])
                for kind, counts in self.bombs.verdicts.items()]  # fmt: skip
        most = ("most memory of a process, MB", f"{self.bombs.memory / 1e6:.0f}", "", "")
        return _table(("small file of", "commands", "refused in one line", "faults"), [*rows, most])

    def _soaks(self) -> str:
        """A column for each way in which they work."""
        rows: list[tuple[str, Callable[[Soaked], str]]] = [
            ("seconds", lambda soak: f"{soak.seconds:.0f}"),
            ("answers", lambda soak: f"{soak.answers:,}"),
            ("answers a second", lambda soak: f"{soak.rate:.1f}"),
            ("milliseconds of a request with one answer, median", lambda soak: f"{soak.p50:.0f}"),
            ("95 % within", lambda soak: f"{soak.p95:.0f}"),
            ("99 % within", lambda soak: f"{soak.p99:.0f}"),
            ("milliseconds that somebody waits for the next row, median", lambda soak: f"{1000 * soak.wait_p50:.0f}"),
            ("99 % at most", lambda soak: f"{1000 * soak.wait_p99:.0f}"),
            ("rounds", lambda soak: f"{soak.rounds:,}"),
            ("rows of a round, median", lambda soak: f"{soak.round:g}"),
            ("memory of the server at the start, MB", lambda soak: f"{soak.memory_start:.0f}"),
            ("memory of the server at the end, MB", lambda soak: f"{soak.memory_end:.0f}"),
        ]
        return _table(
            ("20 annotators", *self.soaks),
            [(name, *(figure(soak) for soak in self.soaks.values())) for name, figure in rows],
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
