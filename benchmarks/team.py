"""What the model of `Unskew` is worth: its error, the labels that it saves, and its excess, in simulated campaigns.

    python -m benchmarks.coverage --json campaigns.json
    python -m benchmarks.team --from campaigns.json [--out docs/tables]

The campaigns are those of `benchmarks.coverage`. Each was run on the same log, pool and test rows with the team, with
the model before 0.5.0, and with margin sampling with that model. A cell is a data set and a policy.

- *Error*: test error after the last label, in percent, and its ratio to that of the model before 0.5.0.
- *Labels*: the number of labels after which the team's mean curve of a cell first reaches the error at which the model
  before 0.5.0 ends.
- *Excess*: the height of the mean curve above the error of the better of the two models with all labels of the pool, in
  points, and its ratio to that of margin sampling. A mean over cells.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.simulated import write

WAYS = ("default", "before", "margin")


def curve(campaigns, way):
    """The labels and the mean test errors of campaigns of one cell."""
    labels, errors = zip(*(np.array(c["runs"][way]["curve"]).T for c in campaigns), strict=True)
    return labels[0], 100.0 * np.mean(errors, axis=0)


def height(campaigns, way, floor):
    labels, errors = curve(campaigns, way)
    return np.trapezoid(errors, labels) / labels[-1] - floor


def reached(campaigns):
    """The labels at which the team is as good as the model before 0.5.0 at its end; infinite if it never is."""
    (labels, errors), goal = curve(campaigns, "default"), curve(campaigns, "before")[1][-1]
    there = np.flatnonzero(errors <= goal)
    return float(labels[there[0]]) if len(there) else np.inf


def row(name, cells, floors):
    """One line: the cells of a data set, or all."""
    end = {way: np.mean([curve(these, way)[1][-1] for these in cells.values()]) for way in WAYS}
    excess = {way: np.mean([height(these, way, floors[key[0]]) for key, these in cells.items()]) for way in WAYS}
    labels = np.median([reached(these) for these in cells.values()])
    ends = " | ".join(f"{end[way]:.2f}" for way in WAYS)
    heights = f"{excess['default']:.2f} | {excess['margin']:.2f} | {excess['default'] / excess['margin']:.2f}"
    reach = f"{labels:.0f}" if np.isfinite(labels) else "never"
    return f"| {name} | {ends} | {end['default'] / end['before']:.2f} | {reach} | {heights} |"


def table(campaigns):
    cells, floors = {}, {}
    for c in campaigns:
        cells.setdefault((c["dataset"], c["policy"]), []).append(c)
        if c["floor"]:
            floors.setdefault(c["dataset"], []).append(c["floor"])
    best = {
        name: 100.0 * min(np.mean([one[way] for one in found]) for way in ("default", "before"))
        for name, found in floors.items()
    }
    lines = [
        f"| {campaigns[0]['budget']} labels | error | model before 0.5.0 | margin sampling with it | ratio to before "
        "| labels to its end | excess, points | of margin sampling | ratio |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in floors:
        lines += [row(name, {key: these for key, these in cells.items() if key[0] == name}, best)]
    return [*lines, row("all", cells, best)]


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.team", description="What the model is worth.")
    parser.add_argument("--from", type=Path, dest="file", required=True, help="a file of benchmarks.coverage --json")
    parser.add_argument("--out", type=Path, help="also write the table to this folder, such as docs/tables")
    options = parser.parse_args(arguments)
    write({"team": table(json.loads(options.file.read_text()))}, options.out)


if __name__ == "__main__":
    main()
