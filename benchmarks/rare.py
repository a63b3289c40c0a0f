"""A rare class: how often the intervals of recall, precision and error hold where one row in a hundred is positive.

    python -m benchmarks.rare [--campaigns N] [--budget B] [--jobs J] [--json FILE] [--out FOLDER]
    python -m benchmarks.rare --from FILE [--out FOLDER]

Positive rows of a data set are dropped at random until they are 1 % of it. Otherwise campaigns are those of
`benchmarks.coverage`. Rows are flagged from a probability of 0.5 on, and from 0.1 on. A model that flags nobody has
recall 0 and no precision. That needs no estimate, so its intervals for these are not counted. *Unknown* is the share of
the others for which the measure cannot be estimated, since labels and model speak for no positive at all.
"""

import argparse
import json
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import logit

from benchmarks.simulated import add_options, drawn, in_words, map_campaigns, run, there, told, truth, write
from unskew.errors import EmptyMeasure
from unskew.methods import Unskew

DATASETS = ("letter", "magic", "covtype", "skin", "mushrooms", "cod-rna")
SHARE = 0.01
MEASURES = {
    "error": ("error", 0.5),
    "recall": ("recall", 0.5),
    "precision": ("precision", 0.5),
    "recall from 0.1 on": ("recall", 0.1),
    "precision from 0.1 on": ("precision", 0.1),
}
"""The measures, and the probability from which on a row is flagged."""


class Thinned:
    """Populations of a data set in which positive rows are rare."""

    def __init__(self, source):
        self.source, self.name = source, source.name

    def population(self, seed, block):
        source, rng = self.source, np.random.default_rng([seed, block, 3])
        if hasattr(source, "X"):  # thin the whole data set, so that as many rows as possible are left
            X, y = thinned(source.X, source.y, rng)
            return replace(source, X=X, y=y).population(seed, block)
        return thinned(*source.population(seed, block), rng)


def thinned(X, y, rng):
    negative, positive = np.flatnonzero(y < 0), np.flatnonzero(y > 0)
    keep = rng.choice(positive, round(SHARE / (1.0 - SHARE) * len(negative)), replace=False)
    rows = np.sort(np.concatenate((negative, keep)))
    return X[rows], y[rows]


def one(s, random, budget):
    """(truth, estimate) of every measure at the end of a campaign; None where it cannot be estimated.

    Recall and precision are left out if the model flags nobody.
    """
    *_, method = run(s, random, Unskew, budget)
    everyone, found = method.everyone(), {}
    for name, (measure, threshold) in MEASURES.items():
        if measure == "error" or np.any(everyone.margin >= logit(threshold)):
            try:
                estimate = everyone.estimate(measure, threshold=threshold)
                found[name] = (truth(method, everyone, s, measure, threshold), told(estimate))
            except EmptyMeasure:
                found[name] = None
    return found


def campaign(facts, s, random, budget):
    return {**facts, "found": one(s, random, budget)}


def table(campaigns):
    lines = [
        "| measure | data set | flags nobody, % | unknown, % | true value, mean | campaigns | held, % | bias, points "
        "| rmse, points | width |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for measure in MEASURES:
        for name in (*dict.fromkeys(c["dataset"] for c in campaigns), "all"):
            these = [c["found"] for c in campaigns if name in (c["dataset"], "all")]
            some = [found[measure] for found in these if measure in found]
            known = [found for found in some if found is not None]
            shares = f"{100 * (1 - len(some) / len(these)):.0f} | " + (
                f"{100 * (1 - len(known) / len(some)):.0f}" if some else ""
            )
            told = f"{np.mean([true for true, _ in known]):.3f} | {in_words(known)}" if known else "| 0 | | | |"
            lines.append(f"| {measure} | {name} | {shares} | {told} |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rare", description="Intervals for a rare class.")
    add_options(parser, 600)
    parser.add_argument("--budget", type=int, default=200)
    options = parser.parse_args(arguments)
    if options.file:
        campaigns = json.loads(options.file.read_text())
    else:
        names = there(DATASETS)
        work = partial(campaign, budget=options.budget)
        simulations = drawn(options.campaigns, options.seed, names, changed=Thinned)
        campaigns = map_campaigns(work, simulations, options.jobs, options.json, names)
    write({"rare": table(campaigns)}, options.out)


if __name__ == "__main__":
    main()
