"""Speed of `mean_curve`, compared with the same protocol in plain Python and NumPy (`benchmarks.twin`).

    python -m benchmarks.mean_curve [--json FILE] [--repeats R]

Both run the same cells (data set, policy, method, parameters, number of repeats) on the same
populations, one process each, after a first call that loads and compiles. The whole call is timed:
drawing the populations, splitting, logging, learning, measuring. The package is timed
five times, and the median is reported; the twin runs once.

`gap` is the largest difference between the two mean curves, in test error and in labels, as a multiple of
what sampling allows: 0.012 plus 3 standard errors for error, 3 % plus 0.5 plus 3 standard errors for labels.
"""

import argparse
import json
import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import twin
from unskew.errors import InputError
from unskew.experiments.curves import mean_curve
from unskew.experiments.datasets import load
from unskew.methods.registry import PAPER_METHODS

CELLS = (("synthetic", "uniform"), ("magic", "uncertainty"))
PARAMETERS = {"C": 0.64, "eta": 0.0256, "logged_fraction": 0.5, "label_budget": 200}


def gap(points, means, standard_errors):
    """The largest difference, as a multiple of what is allowed; 1 or less means that the curves agree."""
    worst = 0.0
    for point, (horizon, labels, error), (labels_se, error_se) in zip(points, means, standard_errors, strict=False):
        if point.horizon != horizon:
            return float("inf")
        error_room = 0.012 + 3 * np.hypot(point.error_se, error_se)
        label_room = 0.5 + 0.03 * labels + 3 * np.hypot(point.labels_se, labels_se)
        worst = max(worst, abs(point.error - error) / error_room, abs(point.labels - labels) / label_room)
    return float(worst)


def measure(dataset, policy, method, repeats, seed=0):
    ours = partial(
        mean_curve,
        dataset=dataset,
        policy=policy,
        method=method,
        repeats=repeats,
        seed=seed,
        variant="released",
        **PARAMETERS,
    )
    points = ours()
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        ours()
        taken.append(time.perf_counter() - begin)
    source = load(dataset, variant="released")
    begin = time.perf_counter()
    means, standard_errors = twin.mean_curve(
        lambda block: source.population(seed, block), policy, method, repeats=repeats, seed=seed, **PARAMETERS
    )
    return {
        "dataset": dataset,
        "policy": policy,
        "method": method,
        "ours_s": statistics.median(taken),
        "twin_s": time.perf_counter() - begin,
        "gap": gap(points, means, standard_errors),
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mean_curve", description="Time the mean curves.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--repeats", type=int, default=24)
    options = parser.parse_args(arguments)
    print(f"\nmean_curve, {options.repeats} repeats")
    print(f"  {'cell':<22}{'method':<9}{'ours, ms':>10}{'twin, ms':>10}{'times ours':>12}{'gap':>7}")
    results = []
    for dataset, policy in CELLS:
        try:
            load(dataset)
        except InputError as error:
            print(f"  {dataset} is left out: {error}")
            continue
        for method in PAPER_METHODS:
            r = measure(dataset, policy, method, options.repeats)
            results.append(r)
            print(
                f"  {dataset + ' ' + policy:<22}{method:<9}{1e3 * r['ours_s']:>10.1f}{1e3 * r['twin_s']:>10.0f}"
                f"{r['twin_s'] / r['ours_s']:>12.1f}{r['gap']:>7.2f}"
            )
    ours, theirs = sum(r["ours_s"] for r in results), sum(r["twin_s"] for r in results)
    print(f"  {'in all':<31}{1e3 * ours:>10.1f}{1e3 * theirs:>10.0f}{theirs / ours:>12.1f}")
    for r in results:
        if r["gap"] > 1.0:
            print(f"  {r['dataset']} {r['policy']} {r['method']}: the curves differ by more than sampling allows")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
