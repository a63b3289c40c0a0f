"""How often the 95 % intervals of recall and precision contain the truth where one row in a hundred is positive.

    python -m benchmarks.rare [--campaigns N] [--budget B] [--jobs J] [--json FILE] [--out FOLDER]
    python -m benchmarks.rare --from FILE [--out FOLDER]

Each data set is thinned to 1 % positive rows and split into log, pool and test rows. A policy reveals some of the log's
labels. `Unskew` spends a budget on the pool. The recall and precision of its last model are estimated where a row is
flagged at a probability of 0.5, and of 0.05: at 0.5, most of these models flag nobody, which is easily measured. Data
sets and policies take turns. Where no row is flagged, precision has no value and is left out.

The truth is the measure on all test and pool rows, with every label known. Pool rows that the model was trained on use
their margin without their own label. The intervals were developed with seed 5. The published table is from seed 31.
"""

import argparse
from contextlib import suppress
from functools import partial

import numpy as np

from benchmarks.simulated import add_options, campaigns_of, run, truth, write
from unskew.errors import EmptyMeasure
from unskew.methods import Unskew

DATASETS = ("cod-rna", "covtype", "magic", "skin", "a5a", "phishing")
MEASURED = tuple((measure, threshold) for measure in ("recall", "precision") for threshold in (0.5, 0.05))
SHARE, ROWS, SEED = 0.01, 10_000, 31


def thinned(X, y, rng):
    """At most 10,000 rows, 1 % of them positive."""
    negative, positive = np.flatnonzero(y < 0.0), np.flatnonzero(y > 0.0)
    n = min(ROWS, int(len(negative) / (1.0 - SHARE)))
    few = round(SHARE * n)
    rows = np.append(rng.choice(negative, n - few, replace=False), rng.choice(positive, few, replace=False))
    return X[rows], y[rows]


def drawn(campaigns, seed, datasets, policies):
    """Draw simulations on thinned data sets, as `benchmarks.simulated.drawn` does on whole ones."""
    from unskew.experiments.datasets import load
    from unskew.experiments.simulation import simulate

    for dataset in datasets:
        source = load(dataset)
        for number in range(-(-campaigns // len(datasets))):
            rng, policy = np.random.default_rng([seed, number]), policies[number % len(policies)]
            s = simulate(*thinned(source.X, source.y, rng), policy, 0.5, rng)
            yield {"dataset": dataset, "policy": policy, "number": number}, s, int(rng.integers(2**63))


def one(facts, s, random, budget):
    """Run a campaign: (measure, threshold, truth, value, low, high) for each measure that has a value."""
    *_, method = run(s, random, Unskew, budget)
    everyone, found = method.everyone(), []
    for measure, threshold in MEASURED:
        with suppress(EmptyMeasure):  # no row is flagged
            e = everyone.estimate(measure, threshold=threshold)
            true = truth(method, everyone, s, measure, threshold)
            found.append([measure, threshold, true, e.value, e.low, e.high])
    return {**facts, "found": found}


def table(runs):
    """A Markdown table: for each measure, threshold and data set, how often the interval held and how wide it was."""
    lines = ["| measure | flagged from | data set | intervals | held | mean width | mean truth | mean estimate |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---:|")
    for kind in MEASURED:
        for name in (*DATASETS, "all"):
            some = [f[2:] for r in runs if name in (r["dataset"], "all") for f in r["found"] if tuple(f[:2]) == kind]
            if some:
                true, value, low, high = np.array(some, dtype=float).T
                held = 100 * np.mean((low <= true + 1e-9) & (true <= high + 1e-9))
                lines.append(
                    f"| {kind[0]} | {kind[1]} | {name} | {len(some)} | {held:.1f} % | {np.mean(high - low):.3f} "
                    f"| {true.mean():.3f} | {value.mean():.3f} |"
                )
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rare", description="Intervals for a rare class.")
    add_options(parser, 300, SEED)
    options = parser.parse_args(arguments)
    campaigns = campaigns_of(options, partial(one, budget=options.budget), DATASETS, drawn=drawn)
    write({"rare": table(campaigns)}, options.out)


if __name__ == "__main__":
    main()
