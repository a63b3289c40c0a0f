"""How often the 95 % interval of `method.error()` contains the true error, over whole simulated campaigns.

    python -m benchmarks.coverage [--estimated MODEL ...] [--campaigns N] [--measure M] [--jobs J] [--json FILE]

In each campaign, a data set is split into log, pool and test rows. A policy reveals some of the log's labels with known
propensities. `Unskew` spends a budget on the pool, part of it on rows drawn at random. The error of its last model is
then estimated from the labels it has. Data sets, policies, budgets and drawn shares take turns.

The truth is the measure on all test and pool rows, with every label known. Pool rows that the model was trained on use
their margin without their own label. `on test` uses the test rows alone, which no estimate has seen. They are only a
fifth of the data and vary themselves, so somewhat less than 95 % of the intervals contain that value.

With `--estimated`, the same campaign is run again with propensities that `propensity.estimate` finds from the
log's (X, z), by its default models or by a model passed as `model=`. The policies are then those whose propensities
depend on the row. `benchmarks.estimated` prints these results as Markdown tables.
"""

import argparse
import json
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np

from benchmarks.estimated import MODELS, found_out, tables
from unskew.errors import InputError
from unskew.estimation.measures import MEASURES
from unskew.experiments.datasets import load
from unskew.experiments.simulation import simulations
from unskew.methods import Unskew, pool_rounds

DATASETS = ("synthetic", "letter", "magic", "covtype", "a5a", "german")
POLICIES = ("identical", "uniform", "uncertainty", "certainty")
DEPENDING = ("uniform", "uncertainty", "certainty", "blind-spot")
"""Policies whose propensities differ between rows, so that there is something to estimate."""
SEED, SEED_ESTIMATED = 11, 23
"""Not the seeds with which the intervals and the estimates were developed."""
SPENDING = ((100, 0.2), (200, 0.1), (200, 0.2))
BLOCK = 12
"""The number of campaigns on one data set before the next data set has its turn."""
ESTIMATORS = (("dr", "wald"), ("mis", "wald"), ("sn", "wald"), ("is", "wald"), ("dr", "bernstein"))


def measured(margin, y, measure):
    """The measure when every label is known."""
    top, bottom = MEASURES[measure](margin)
    return float(np.where(y > 0, *top).mean() / np.where(y > 0, *bottom).mean())


def intervals(method, measure):
    """(value, low, high) by every estimator for which there are labels."""
    found = {}
    for how in ESTIMATORS:
        with suppress(InputError):  # no usable labels: the log alone may show none, or none of a class
            e = method.error(measure, estimator=how[0], interval=how[1])
            found[" ".join(how)] = (e.value, e.low, e.high)
    return found


def one(dataset, number, measure, models=(), seed=SEED):
    """Run campaign `number` on a data set: the truth, and (value, low, high) by every estimator."""
    policy, (budget, drawn) = (DEPENDING if models else POLICIES)[number % 4], SPENDING[number // 4 % 3]
    ((s, random),) = simulations(load(dataset), policy, 0.5, seed, [number])

    def run(log, q0):
        method = Unskew(drawn=drawn, random_state=random)
        for _ in pool_rounds(method, log, s.X, q0, s.y.__getitem__, budget):
            pass
        everyone = method.everyone()
        pool, test = everyone.margin[everyone.design.m :], method.model_.margin(s.test_X)
        return {
            "truth": measured(np.append(pool, test), np.append(s.y, s.test_y), measure),
            "test": measured(test, s.test_y, measure),
            "found": intervals(method, measure),
        }

    estimated = {}
    for name in models:
        guess = found_out(s, name, number)
        estimated[name] = {"found": {}} if guess is None else {**run(*guess[:2]), **guess[2]}
    what = {"dataset": dataset, "policy": policy, "budget": budget, "drawn": drawn}
    return {**what, **run(s.log, s.q0), "estimated": estimated}


def summary(runs, how):
    """Coverage of the truth and of the value on the test rows; bias, root mean squared error and mean width."""
    runs = [r for r in runs if how in r["found"]]
    truth, test = (np.array([r[key] for r in runs]) for key in ("truth", "test"))
    value, low, high = np.array([r["found"][how] for r in runs]).T
    return {
        "runs": len(runs),
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "on_test": float(np.mean((low <= test) & (test <= high))),
        "bias": float(np.mean(value - truth)),
        "rmse": float(np.sqrt(np.mean((value - truth) ** 2))),
        "width": float(np.mean(high - low)),
    }


def show(runs, names):
    """Print a Markdown table: the default estimator on every data set, then every estimator on all data sets."""
    default, *others = map(" ".join, ESTIMATORS)
    print("| estimator | data set | intervals | held, pool and test | held, test alone | bias, points | width |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for how, name in [(default, name) for name in (*names, "all")] + [(how, "all") for how in others]:
        s = summary([r for r in runs if name in (r["dataset"], "all")], how)
        print(
            f"| {how} | {name} | {s['runs']} | {100 * s['coverage']:.1f} % | {100 * s['on_test']:.1f} % "
            f"| {100 * s['bias']:+.2f} | {s['width']:.3f} |"
        )


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description="Coverage of the intervals.")
    parser.add_argument("--campaigns", type=int, default=1000, help="total number, shared by the data sets")
    parser.add_argument("--estimated", nargs="+", choices=tuple(MODELS), default=[], help="estimate q0 by these models")
    parser.add_argument("--measure", choices=tuple(MEASURES), default="error")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write every campaign to this file")
    options = parser.parse_args(arguments)
    names = []
    for name in DATASETS:
        try:
            load(name)
            names.append(name)
        except InputError as error:
            print(f"  {name} is left out: {error}")
    each = -(-options.campaigns // len(names))
    seed = SEED_ESTIMATED if options.estimated else SEED
    runs = []
    for first in range(0, each, BLOCK):  # all data sets in turn, so that the file is balanced at any time
        runs += joblib.Parallel(options.jobs)(
            joblib.delayed(one)(name, number, options.measure, options.estimated, seed)
            for name in names
            for number in range(first, min(first + BLOCK, each))
        )
        if options.json:
            options.json.write_text(json.dumps(runs, indent=1) + "\n")
    if options.estimated:
        print(tables(runs, names, DEPENDING, options.estimated, summary))
    else:
        show(runs, names)
    return runs


if __name__ == "__main__":
    main()
