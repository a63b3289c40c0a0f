"""Logs that are not what they claim to be: how often the default 95 % interval contains the true error all the same.

    python -m benchmarks.broken_logs [--campaigns N] [--budget B] [--jobs J] [--json FILE] [--out FOLDER]
    python -m benchmarks.broken_logs --from FILE [--out FOLDER]

Six data sets and the four policies whose propensities differ between rows take turns, as in `benchmarks.coverage`. The
log of each simulation is then broken in several ways, and a campaign is run on each:

- labelled rows only: the rows without a label are missing from the file, and nobody knows any propensity.
- confounded: a hidden cause of both label and reveal. A label -1 is revealed four times less often than a label +1 of
  the same row would be. Propensities are estimated from the log, or given without the hidden cause.
- wrong propensities: they are given as their square roots, in the order of other rows, or as one number for all rows.

Beside the default stands what the same labels say if the log always counts, whatever it claims. *Seen* is the share of
campaigns in which log and draw were seen to disagree; labelled rows only are never compared.
"""

import argparse
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np

from benchmarks.simulated import (
    SIX,
    add_options,
    campaigns_of,
    guessed,
    in_words,
    relogged,
    run,
    summary,
    told,
    truth,
    write,
)
from unskew.data import LoggedData
from unskew.estimation import population
from unskew.methods import Unskew
from unskew.sampling.density_ratio import against_pool
from unskew.sampling.policies import ALL_POLICIES

POLICIES = ALL_POLICIES[1:]
"""With propensities that differ between rows; and `identical` reveals a dozen labels of a log, too few to mislead."""

HIDDEN = 0.25
"""How often a label -1 that the policy reveals passes the hidden cause; a label +1 always does."""


def only_labelled(s, rng):
    log = s.log
    alone = LoggedData(log.revealed_X, log.revealed_y, classes=log.classes, q0_estimated=True)
    found, Q0 = against_pool(alone, s.X, random_state=0)  # as `start` does
    return replace(s, log=found, q0=Q0(s.X))


def confounded(s, rng):
    z = s.log.z & ((s.log.y > 0.0) | (rng.random(s.log.m) < HIDDEN))
    return relogged(s, z, s.log.q0, s.q0)


def confounded_guessed(s, rng):
    return guessed(confounded(s, rng), int(rng.integers(2**31)))


def rooted(s, rng):
    return relogged(s, s.log.z, np.sqrt(s.log.q0), np.sqrt(s.q0))


def shuffled(s, rng):
    return relogged(s, s.log.z, rng.permutation(s.log.q0), rng.permutation(s.q0))


def constant(s, rng):
    share = s.log.z.mean()
    return relogged(s, s.log.z, np.full(s.log.m, share), np.full(s.n, share))


LOGS = {
    "as it claims": lambda s, rng: s,
    "labelled rows only": only_labelled,
    "confounded, propensities estimated": confounded_guessed,
    "confounded, propensities given": confounded,
    "given propensities: their roots": rooted,
    "given propensities: of other rows": shuffled,
    "given propensities: all the same": constant,
}


def one(s, random, budget):
    """The truth at the end of a campaign, the default estimate, and the estimate in which the log always counts."""
    for last in run(s, random, Unskew, budget):
        method = last
    everyone = method.everyone()
    claimed = replace(everyone, log="given")
    if s.log.only_labelled:  # to versions before 0.4.0, a log in which all rows have labels was a census
        claimed = replace(claimed, design=replace(everyone.design, q0=np.ones(s.log.m)))
    with mock.patch.object(population, "DISAGREE", 0.0):
        forced = claimed.estimate()
    true = truth(method, everyone, s)
    return {"truth": true, "default": told(everyone.estimate()), "forced": told(forced)}


def campaign(facts, s, random, budget):
    """One simulation, with every kind of log."""
    found = {}
    for k, (name, broken) in enumerate(LOGS.items()):
        log = broken(s, np.random.default_rng([random, k]))
        if log is not None:  # propensities cannot be estimated from too few labels
            found[name] = one(log, random, budget)
    return {**facts, "logs": found}


def of(campaigns, log, how, **facts):
    """(truth, estimate) of the campaigns with this kind of log and these facts."""
    these = [c for c in campaigns if log in c["logs"] and all(c[key] == value for key, value in facts.items())]
    return [(c["logs"][log]["truth"], c["logs"][log][how]) for c in these]


def overall(campaigns):
    lines = [
        "| log | campaigns | held, % | bias, points | rmse, points | width | seen, % "
        "| log always counts: held, % | bias | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for log in LOGS:
        found, forced = of(campaigns, log, "default"), summary(of(campaigns, log, "forced"))
        tested = [e["agreement"] < population.DISAGREE for _, e in found if e["agreement"] is not None]
        seen = f"{100 * np.mean(tested):.0f}" if tested else ""
        lines.append(
            f"| {log} | {in_words(found)} | {seen} | {100 * forced['held']:.1f} "
            f"| {100 * forced['bias']:+.2f} | {forced['width']:.3f} |"
        )
    return lines


def groups(campaigns):
    """How often the default interval holds, and its bias, for each kind of log in each data set and policy."""
    columns = [("dataset", name) for name in dict.fromkeys(c["dataset"] for c in campaigns)]
    columns += [("policy", name) for name in POLICIES]
    lines = ["| held, % (bias, points) | " + " | ".join(name for _, name in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for log in LOGS:
        cells = []
        for key, name in columns:
            found = of(campaigns, log, "default", **{key: name})
            s = summary(found) if found else None
            cells.append(f"{100 * s['held']:.1f} ({100 * s['bias']:+.1f})" if s else "")
        lines.append(f"| {log} | " + " | ".join(cells) + " |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broken_logs", description="Logs that mislead.")
    add_options(parser, 1200)
    options = parser.parse_args(arguments)
    campaigns = campaigns_of(options, partial(campaign, budget=options.budget), SIX, POLICIES)
    write({"broken_logs": overall(campaigns), "broken_logs_groups": groups(campaigns)}, options.out)


if __name__ == "__main__":
    main()
