"""How often the 95 % interval of `method.error()` contains the true error, over whole simulated campaigns.

    python -m benchmarks.coverage [--campaigns N] [--drawn SHARE] [--budget B] [--jobs J] [--json FILE] [--out FOLDER]
    python -m benchmarks.coverage --from FILE [--out FOLDER]

Twelve data sets and five logging policies take turns. In each campaign, `Unskew` spends a budget on the pool, and the
error of its model is then estimated, once at half the budget and once at its end. The truth is the error on all pool
and test rows, with every label known. The same simulation is run again with `drawn=1` and with propensities that are
estimated from the log; and, with the model from before 0.5.0, as the default does, with one label in ten drawn evenly
(as before 0.4.0), and with margin sampling, which draws nothing. *The drawn labels alone* is the default's estimate if
the log does not count, as with estimated propensities. `python -m benchmarks.team` shows what the model is worth, from
the same campaigns.

`mean over the curve` is the mean of the test error over the labels bought, with straight lines between rounds.
Differences are paired: the two runs of a difference have the same log, pool and test rows.
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.simulated import (
    APART,
    Evenly,
    add_options,
    campaigns_of,
    guessed,
    in_words,
    logistic,
    run,
    summary,
    told,
    truth,
    write,
)
from unskew.methods import MarginSampling, Unskew
from unskew.methods.rounds import SHARE
from unskew.models.team import Team
from unskew.sampling.policies import ALL_POLICIES

LEARNING = {
    "default": "the default",
    "before": "the same with the model before 0.5.0",
    "old": "that model, 10 % drawn evenly",
    "margin": "that model, margin sampling, nothing drawn",
}

FLOORS = 5
"""In the first campaigns of every data set, the models are also fitted to all rows of the pool."""


def one(s, random, kind, budget):
    """The test error after every round, and what is estimated at half the budget and at its end."""
    end = min(budget, s.n)
    curve, found, wanted = [], [], [end // 2, end]
    for method in run(s, random, kind, budget):
        curve.append([method.labels_, s.error(method)])
        if wanted and method.labels_ >= wanted[0]:
            wanted.pop(0)
            found += estimates(method, s)
    return {"curve": curve, "found": found}


def estimates(method, s):
    """The truth and what is estimated of it, with the log and by the drawn labels alone; nothing if none are drawn."""
    everyone = method.everyone()
    if not everyone.design.measures_pool:
        return []
    alone = replace(everyone, log="estimated").estimate()
    true = truth(method, everyone, s)
    return [{"labels": method.labels_, "truth": true, "all": told(everyone.estimate()), "alone": told(alone)}]


def campaign(facts, s, random, budget, share):
    """One simulation, run in every way."""
    ways = {"default": partial(Unskew, drawn=share), "drawn=1": partial(Unskew, drawn=1.0)}
    ways |= {"before": partial(Unskew, drawn=share, model=logistic()), "old": Evenly}
    ways |= {"margin": partial(MarginSampling, model=logistic())}
    runs = {name: one(s, random, kind, budget) for name, kind in ways.items()}
    guess = guessed(s, random)
    if guess is not None:
        runs["estimated"] = one(guess, random, ways["default"], budget)
    floor = with_all_labels(s) if facts["number"] % APART < FLOORS else None
    return {**facts, "drawn": share, "budget": budget, "runs": runs, "floor": floor}


def with_all_labels(s):
    """The test errors of the team and of the model before 0.5.0, fitted to the log and to all rows of the pool."""
    X, y = np.concatenate([s.log.revealed_X, s.X]), np.concatenate([s.log.revealed_y, s.y])
    models = {"default": Team(random_state=0), "before": logistic().set_params(random_state=0)}
    found = {}
    for name, model in models.items():
        model.prepare(X, s.log.classes).update(X, y, np.ones(len(y)), choose=True)
        found[name] = float(np.mean(model.predict(s.test_X) != s.test_y))
    return found


def found(campaigns, way, which=-1, how="all"):
    """(truth, estimate) of every campaign that was run in this way."""
    points = [c["runs"][way]["found"] for c in campaigns if way in c["runs"]]
    return [(at[which]["truth"], at[which][how]) for at in points]


def coverage(campaigns):
    """A line for each way to draw and to estimate, over all data sets and policies."""
    end = campaigns[0]["budget"]
    half = end // 2
    share = f"{100 * campaigns[0]['drawn']:g} % drawn"
    lines = {
        f"{share}, {end} labels": found(campaigns, "default"),
        f"{share}, {half} labels": found(campaigns, "default", 0),
        f"all drawn, {end} labels": found(campaigns, "drawn=1"),
        f"{share}, the drawn labels alone, {end} labels": found(campaigns, "default", how="alone"),
        f"{share}, the drawn labels alone, {half} labels": found(campaigns, "default", 0, "alone"),
        f"{share}, propensities estimated, {end} labels": found(campaigns, "estimated"),
        f"{share}, the model before 0.5.0, {end} labels": found(campaigns, "before"),
        f"10 % drawn evenly, that model, {end} labels": found(campaigns, "old"),
    }
    head = ["| | campaigns | held, % | bias, points | rmse, points | width |", "|---|---:|---:|---:|---:|---:|"]
    return head + [f"| {name} | {in_words(these)} |" for name, these in lines.items() if these]


def groups(campaigns):
    """The default's figures for each data set and each policy, and (held, width) of the other ways."""
    end = campaigns[0]["budget"]
    half = end // 2
    lines = [
        f"| {end} labels | campaigns | held, % | bias, points | rmse, points | width | held (width) at {half} labels "
        "| all drawn | the drawn labels alone |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for key, names in (("dataset", dict.fromkeys(c["dataset"] for c in campaigns)), ("policy", ALL_POLICIES)):
        for name in names:
            these = [c for c in campaigns if c[key] == name]
            others = (("default", 0, "all"), ("drawn=1", -1, "all"), ("default", -1, "alone"))
            cells = [summary(found(these, *other)) for other in others if these]
            if these:
                short = " | ".join(f"{100 * c['held']:.1f} ({c['width']:.3f})" for c in cells)
                lines.append(f"| {name} | {in_words(found(these, 'default'))} | {short} |")
    return lines


def learning(campaigns):
    """The error at the end and along the curve, and by how much the default's is smaller or larger."""
    lines = [
        "| | error at the end, % | the default's less this | mean over the curve, % | the default's less this |",
        "|---|---:|---:|---:|---:|",
    ]

    def figures(way):
        curves = [np.array(c["runs"][way]["curve"]).T for c in campaigns]
        along = [np.trapezoid(error, labels) / labels[-1] for labels, error in curves]
        return 100.0 * np.array([error[-1] for _, error in curves]), 100.0 * np.array(along)

    ours = figures("default")
    for way, name in LEARNING.items():
        cells = []
        for these, mine in zip(figures(way), ours, strict=True):
            apart = mine - these
            error = apart.std(ddof=1) / len(apart) ** 0.5
            cells += [f"{these.mean():.2f}", "" if way == "default" else f"{apart.mean():+.2f} ± {error:.2f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description="Coverage of the intervals.")
    add_options(parser, 1200)
    parser.add_argument("--drawn", type=float, default=SHARE, help="the share of the labels that is drawn")
    options = parser.parse_args(arguments)
    campaigns = campaigns_of(options, partial(campaign, budget=options.budget, share=options.drawn))
    tables = {"coverage": coverage, "coverage_groups": groups, "coverage_learning": learning}
    write({name: table(campaigns) for name, table in tables.items()}, options.out)


if __name__ == "__main__":
    main()
