"""What makes the difference between the text's protocol and the released one: one change at a time.

    python -m benchmarks.protocols [--jobs N] [--out docs] [--work protocols]

This writes docs/tables/protocols.md and docs/tables/claims.md. Each line of the first is the paper's whole grid, 12
data sets x 4 policies, run as the released program ran it but for one thing; its last line is the text's whole
protocol. The second judges each claim of the paper by its printed tables and by three of these runs. Finished results
are kept in the folder `--work`, so the same command goes on where it was stopped. In all it takes about as long as
twenty runs of `unskew reproduce`.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

from unskew.experiments.claims import UNEQUAL, verdicts
from unskew.experiments.paper import paper_auc
from unskew.experiments.protocols import RELEASED, TEXT
from unskew.experiments.reproduce import Grid, reproduce
from unskew.experiments.summary import summarise
from unskew.methods import IDBAL, DBALw, DBALwm, Passive, StreamMethod
from unskew.methods.registry import PAPER_METHODS
from unskew.methods.streams.linear_method import Fit
from unskew.methods.streams.passive import WholeLog
from unskew.sampling.policies import POLICIES


class Undebiased(IDBAL):
    """IDBAL's slices and weights, but with Q_k = 1: `DBALwm` that trains as IDBAL does."""

    debiases = False


class ByRows:
    """The clock of the step size counts rows, as in the text."""

    def from_zero(self) -> Fit:
        fit = super().from_zero()
        fit.descent.by_weight = False
        return fit

    def at_zero_labels(self) -> StreamMethod:
        return WholeLogByRows(eta=self.eta, xi0=self.xi0, random_state=self.random_state)


class WholeLogByRows(ByRows, WholeLog):
    pass


class PassiveByRows(ByRows, Passive):
    pass


class DBALwByRows(ByRows, DBALw):
    pass


class DBALwmByRows(ByRows, DBALwm):
    pass


class IDBALByRows(ByRows, IDBAL):
    pass


HERE = "benchmarks.protocols:"
BY_ROWS = tuple(f"{HERE}{name}ByRows" for name in PAPER_METHODS)
SLICED = ("Passive", "DBALw", f"{HERE}Undebiased", "IDBAL")

STEPS = {  # what is changed, as a short name; the line of the table; the protocol; the methods
    "released": ("nothing: the released program", RELEASED, PAPER_METHODS),
    "fraction": ("half of the training rows are the log", replace(RELEASED, logged_fraction=0.5), PAPER_METHODS),
    "grid": ("the text's grid of C and eta", replace(RELEASED, grid="text"), PAPER_METHODS),
    "wide": ("C down to 0.00001", replace(RELEASED, grid="wide"), PAPER_METHODS),
    "same": ("reported on the 16 tuning repeats", replace(RELEASED, repeats=16, fresh=False), PAPER_METHODS),
    "ten": ("10 repeats to tune, 10 fresh ones", replace(RELEASED, tune_repeats=10, repeats=10), PAPER_METHODS),
    "clock": ("the clock counts rows", RELEASED, BY_ROWS),
    "budget": ("AUC up to the end of the stream", replace(RELEASED, budget="stream"), PAPER_METHODS),
    "data": ("data sets and policies as in the text", replace(RELEASED, data="paper"), PAPER_METHODS),
    "slices": ("DBALwm trains on slices, as IDBAL does", RELEASED, SLICED),
    "methods": ('all methods with `variant="paper"`', replace(RELEASED, variant="paper"), PAPER_METHODS),
    "text": ("everything: the text", TEXT, PAPER_METHODS),
}

JUDGED = {"released": "Here, released", "text": "Here, text", "wide": "Released, C from 0.00001"}
"""The runs by which claims are judged."""

PAIRS = (("IDBAL", "Passive"), ("IDBAL", "DBALw"), ("DBALwm", "DBALw"), ("IDBAL", "DBALwm"))


def grid_of(step):
    _, protocol, methods = STEPS[step]
    return Grid(methods=methods, protocol=replace(protocol, name=step))


def known_as(name):
    """The paper's name for a method that stands for one of its."""
    return {"Undebiased": "DBALwm"}.get(name, name.removesuffix("ByRows"))


SCOPES = (*((pair, POLICIES) for pair in PAIRS), (PAIRS[-1], UNEQUAL))
"""The columns: every pair over all cells, and the last one without Identical too."""


def line(records):
    """Cells won, the geometric mean ratio and its interval, for each column."""
    entries = []
    for (a, b), policies in SCOPES:
        rows = summarise([one for one in records if one["task"]["policy"] in policies]).pairs.iter_rows(named=True)
        found = {(known_as(row["method"]), known_as(row["against"])): row for row in rows}
        if (a, b) in found:
            row = found[a, b]
            won, mean, low, high = (row[name] for name in ("won", "mean_ratio", "low", "high"))
        else:  # in tables, methods from outside come last
            row = found[b, a]
            won, mean, low, high = row["lost"], 1.0 / row["mean_ratio"], 1.0 / row["high"], 1.0 / row["low"]
        entries.append(f"{won} of {row['cells']}, {mean:.3f} <br>({low:.3f} to {high:.3f})")
    return entries


def printed():
    """The same of the paper's tables, which have no intervals."""
    auc = paper_auc()
    cells = list(dict.fromkeys(key[:2] for key in auc))
    entries = []
    for (a, b), policies in SCOPES:
        ratios = [auc[(*cell, a)] / auc[(*cell, b)] for cell in cells if cell[1] in policies]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        entries.append(f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}, {mean:.3f}")
    return entries


def table(entries):
    headings = ["Changed", *(f"{a} / {b}" for a, b in PAIRS), "the last without Identical"]
    rows = [headings, ["---", *("---:" for _ in headings[1:])]]
    rows += [[STEPS[step][0], *found] for step, found in entries.items()]
    rows.append(["*printed in the paper*", *printed()])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def claims(summaries):
    """Every claim of the paper, with its verdicts."""
    words = {True: "holds", False: "**does not hold**"}
    headings = ["Claim", "Printed", *JUDGED.values()]
    rows = [headings, ["---"] * len(headings)]
    for found in zip(*map(verdicts, summaries), strict=True):
        first = found[0]
        ours = [f"{one.found}: {words[one.holds]}" for one in found]
        rows.append([first.said, f"{first.printed}: {words[first.printed_holds]}", *ours])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.protocols", description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--work", type=Path, default=Path("protocols"))
    options = parser.parse_args(arguments)
    entries, summaries = {}, {}
    for step in STEPS:
        records = reproduce(grid_of(step), options.work / step, jobs=options.jobs)
        failed = [record["failed"] for record in records if "failed" in record]
        assert not failed, failed
        summaries[step] = summarise(records)
        entries[step] = line(records)
        print(f"{step}: {', '.join(entries[step])}", flush=True)
    for name, text in (("protocols", table(entries)), ("claims", claims([summaries[step] for step in JUDGED]))):
        (options.out / "tables" / f"{name}.md").write_text(text)
        print(text)


if __name__ == "__main__":
    main()
