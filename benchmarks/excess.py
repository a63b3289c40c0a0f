"""Excess error of pool methods: how far their curves lie above the same model with every training row labelled.

    python -m benchmarks.excess FOLDER          # of `unskew reproduce --methods Unskew,MarginSampling,...`
    python -m benchmarks.excess FOLDER --cells  # every cell

For each cell it is (AUC / 2(B + 1) - error with all labels), in percentage points of error. Prints a Markdown table of
means and ratios.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np

from unskew.experiments.datasets import Drawn, Source
from unskew.experiments.metrics import auc
from unskew.experiments.protocols import FRESH
from unskew.experiments.reproduce import source_of
from unskew.experiments.simulation import REPEATS_A_POPULATION
from unskew.models.team import Team

PAPER = ("Passive", "DBALw", "DBALwm", "IDBAL")
POOLED = ("Unskew", "StreamedUnskew", "MarginSampling", "WeightedMarginSampling", "RandomLabels")


class Curve(NamedTuple):
    """A method's mean curve in a cell: its AUC, the cell's budget, and the curve itself."""

    area: float
    budget: int
    labels: np.ndarray
    errors: np.ndarray


Cells = dict[tuple[str, str], dict[str, Curve]]
"""Curves of every method, by data set and policy."""


def all_labels(source: Source, seed: int, repeats: int) -> float:
    """Mean test error of `Unskew`'s model when fitted to all training rows, over the first fresh repeats."""
    errors = []
    for r in range(FRESH, FRESH + repeats):
        X, y = source.population(seed, r // REPEATS_A_POPULATION)
        order = np.random.default_rng([seed, r, 1]).permutation(len(y))  # the same shuffle as in `simulate`
        X, y = X[order], y[order]
        train = int(0.8 * len(y))
        model = Team(random_state=r).prepare(X[:train], np.array([-1.0, 1.0]))
        model.update(X[:train], y[:train], np.ones(train), choose=True)  # as `Unskew` fits it
        errors.append(1.0 - model.score(X[train:], y[train:]))
    return float(np.mean(errors))


def read(folder: Path) -> Cells:
    """Read the results that a run of `unskew reproduce` stored."""
    cells: Cells = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "labels" in record:
            task = record["task"]
            labels, errors = (np.mean(record[name], axis=0) for name in ("labels", "errors"))
            found = Curve(auc(labels, errors, task["label_budget"]), task["label_budget"], labels, errors)
            cells.setdefault((task["dataset"], task["policy"]), {})[task["method"]] = found
    return cells


def excess(cells: Cells, name: str, floor: dict[str, float]) -> float:
    """Mean over cells of the curve's mean height above the floor, in percentage points of error."""
    heights = [c[name].area / (2 * (c[name].budget + 1)) - floor[dataset] for (dataset, _), c in cells.items()]
    return 100.0 * float(np.mean(heights)) if heights else float("nan")


def geometric(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def labels_to_match(cell: dict[str, Curve], name: str) -> float:
    """The labels a method needs to reach Passive's last error, as a share of Passive's; infinite if it never does."""
    passive, curve = cell["Passive"], cell[name]
    there = curve.errors <= passive.errors[-1]
    return float(curve.labels[np.argmax(there)] / passive.labels[-1]) if there.any() else float("inf")


def means(cells: Cells, methods: list[str], floor: dict[str, float]) -> list[str]:
    """Means over the cells of the paper's policies, and over the blind-spot cells."""
    lines = [
        "| cells | method | AUC to tuned Passive | to the best of the four | ahead "
        "| labels to Passive's end | excess, points | to margin sampling | worst cell to margin |",
        "|---|---|---:|---:|---:|---:|---:|---:|---|",
    ]
    for title, blind in (("paper's policies", False), ("blind spot", True)):
        chosen = {k: c for k, c in cells.items() if (k[1] == "blind-spot") == blind}
        above = {name: excess(chosen, name, floor) for name in methods}
        for name in methods if chosen else ():
            passive = geometric([c[name].area / c["Passive"].area for c in chosen.values()])
            best = [c[name].area / min(c[four].area for four in PAPER) for c in chosen.values()]
            ratio, dataset, policy = max((c[name].area / c["MarginSampling"].area, *k) for k, c in chosen.items())
            ahead = f"{sum(r < 1.0 for r in best)} of {len(best)}"
            share = float(np.median([labels_to_match(c, name) for c in chosen.values()]))
            lines.append(
                f"| {title} | {shown(name)} | {passive:.3f} | {geometric(best):.3f} | {ahead} "
                f"| {share:.3f} | {above[name]:.2f} "
                f"| {above[name] / above['MarginSampling']:.3f} | {ratio:.2f} ({dataset}, {policy}) |"
            )
        if chosen:
            least = best_afterwards(chosen, methods, floor)
            lines.append(
                f"| {title} | the best in each cell, known afterwards | | | | | {least:.2f} "
                f"| {least / above['MarginSampling']:.3f} | |"
            )
    return lines


def best_afterwards(cells: Cells, methods: list[str], floor: dict[str, float]) -> float:
    """Mean excess if, in every cell, one had used the pool method that turned out best there."""
    pool = [name for name in methods if name != "StreamedUnskew"]
    return float(np.mean([min(excess({key: cell}, name, floor) for name in pool) for key, cell in cells.items()]))


def each(cells: Cells, methods: list[str], floor: dict[str, float]) -> list[str]:
    """The excess of every method in every cell."""
    head = " | ".join(shown(name) for name in methods)
    lines = [f"| data set | policy | all labels | {head} |", "|---|---|" + "---:|" * (1 + len(methods))]
    for (dataset, policy), cell in sorted(cells.items()):
        above = " | ".join(f"{excess({(dataset, policy): cell}, name, floor):.2f}" for name in methods)
        lines.append(f"| {dataset} | {policy} | {100 * floor[dataset]:.2f} | {above} |")
    return lines


def shown(name: str) -> str:
    """A method's name without the module it came from."""
    return name.rpartition(":")[2]


def main(args: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data-dir")
    parser.add_argument("--repeats", type=int, default=4, help="number of repeats for the error with all labels")
    parser.add_argument("--cells", action="store_true", help="show every cell instead of means")
    given = parser.parse_args(args)
    cells = read(given.folder)
    names = sorted({dataset for dataset, _ in cells})
    blocks = sorted({r // REPEATS_A_POPULATION for r in range(FRESH, FRESH + given.repeats)})
    jobs = (
        joblib.delayed(all_labels)(Drawn.of(source_of(name, given.data_dir), 0, blocks), 0, given.repeats)
        for name in names
    )
    floor = dict(zip(names, joblib.Parallel(n_jobs=-1)(jobs), strict=True))
    found = {name for name in next(iter(cells.values())) if all(name in c for c in cells.values())}
    methods = [name for name in POOLED if name in found]
    methods += sorted(found - {*POOLED, *PAPER, "VCDBAL"})
    print("\n".join((each if given.cells else means)(cells, methods, floor)))


if __name__ == "__main__":
    main()
