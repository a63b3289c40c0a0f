"""How often the 95 % intervals of recall and precision contain the truth where one row in a hundred is positive.

    python -m benchmarks.rare [--campaigns N] [--seed S] [--jobs J] [--json FILE] [--out FILE]

Each data set is thinned to 1 % positive rows and split into log, pool and test rows. A policy reveals some of the log's
labels. `Unskew` spends a budget on the pool. The recall and precision of its last model are estimated where a row is
flagged at a probability of 0.5, and of 0.05: at 0.5, most of these models flag nobody, which is easily measured. Data
sets and policies take turns. Where no row is flagged, precision has no value and is left out.

The truth is the measure on all test and pool rows, with every label known. Pool rows that the model was trained on use
their margin without their own label. The intervals were developed with seed 5. The published table is from seed 31.
"""

import argparse
import json
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np

from unskew.errors import InputError
from unskew.estimation.measures import MEASURES
from unskew.experiments.datasets import load
from unskew.experiments.simulation import simulate
from unskew.methods import Unskew, pool_rounds

DATASETS = ("cod-rna", "covtype", "magic", "skin", "a5a", "phishing")
POLICIES = ("identical", "uniform", "uncertainty", "certainty", "blind-spot")
MEASURED = tuple((measure, threshold) for measure in ("recall", "precision") for threshold in (0.5, 0.05))
SHARE, ROWS, BUDGET, SEED = 0.01, 10_000, 200, 31


def thinned(X, y, rng):
    """At most 10,000 rows, 1 % of them positive."""
    negative, positive = np.flatnonzero(y < 0.0), np.flatnonzero(y > 0.0)
    n = min(ROWS, int(len(negative) / (1.0 - SHARE)))
    few = round(SHARE * n)
    rows = np.append(rng.choice(negative, n - few, replace=False), rng.choice(positive, few, replace=False))
    return X[rows], y[rows]


def one(s, random):
    """Run a campaign: (measure, threshold, truth, value, low, high) for each measure that has a value."""
    method = Unskew(random_state=random)
    for _ in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, BUDGET):
        pass
    everyone = method.everyone()
    margin = np.append(everyone.margin[everyone.design.m :], method.log_odds(s.test_X))
    y = np.append(s.y, s.test_y)
    found = []
    for measure, threshold in MEASURED:
        top, bottom = MEASURES[measure](margin - np.log(threshold / (1.0 - threshold)))
        some = float(np.where(y > 0, *bottom).sum())
        with suppress(InputError):  # no row is flagged
            e = everyone.estimate(measure, threshold=threshold)
            if some:
                found.append([measure, threshold, np.where(y > 0, *top).sum() / some, e.value, e.low, e.high])
    return found


def campaign(dataset, number, seed):
    """Campaign `number` on a data set."""
    source, policy = load(dataset), POLICIES[number % len(POLICIES)]
    rng = np.random.default_rng([seed, number])
    s = simulate(*thinned(source.X, source.y, rng), policy, 0.5, rng)
    return {"dataset": dataset, "policy": policy, "number": number, "found": one(s, int(rng.integers(2**63)))}


def table(runs):
    """A Markdown table: for each measure, threshold and data set, how often the interval held and how wide it was."""
    lines = ["| measure | flagged from | data set | intervals | held | mean width | mean truth | mean estimate |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---:|")
    for kind in MEASURED:
        for name in (*DATASETS, "all"):
            some = [f[2:] for r in runs if name in (r["dataset"], "all") for f in r["found"] if tuple(f[:2]) == kind]
            if some:
                truth, value, low, high = np.array(some, dtype=float).T
                held = 100 * np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9))
                lines.append(
                    f"| {kind[0]} | {kind[1]} | {name} | {len(some)} | {held:.1f} % | {np.mean(high - low):.3f} "
                    f"| {truth.mean():.3f} | {value.mean():.3f} |"
                )
    return "\n".join(lines) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rare", description="Intervals for a rare class.")
    parser.add_argument("--campaigns", type=int, default=300, help="total number, shared by the data sets")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write every campaign to this file")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    runs = joblib.Parallel(options.jobs)(
        joblib.delayed(campaign)(name, number, options.seed)
        for number in range(-(-options.campaigns // len(DATASETS)))
        for name in DATASETS
    )
    told = table(runs)
    print(told)
    if options.json:
        options.json.write_text(json.dumps(runs, indent=1) + "\n")
    if options.out:
        options.out.write_text(told)
    return runs


if __name__ == "__main__":
    main()
