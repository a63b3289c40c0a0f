"""The interval of `Unskew` beside those that others would compute from as many labels, on the same simulated pools.

    python -m benchmarks.peers_interval [--campaigns N] [--budget B] [--jobs J] [--json FILE] [--out FOLDER]
    python -m benchmarks.peers_interval --from FILE [--out FOLDER]

Twelve data sets and five policies take turns, as in `benchmarks.coverage`. `Unskew` picks rows as it does by default,
or draws all of them (`drawn=1`). The others need labels that are drawn evenly, so for them all labels are. The model is
the same, fitted to the labels of log and draw. Whether it is wrong on a drawn row is judged without that row's label.

- binomial: Wilson's interval for the share of drawn rows that are wrong.
- ppi-python: `ppi_mean_ci`, with the model's own chance of being wrong as the prediction, and with power tuning.
- ppi-python, cross: `crossppi_mean_ci`, where that chance comes from five models that leave out a fifth of the draw.

Predictions for unlabelled rows are those for all rows of log and pool that were not drawn.
"""

import argparse
from functools import partial
from importlib.util import find_spec

import numpy as np
from scipy.special import expit
from scipy.stats import binomtest

from benchmarks.simulated import Evenly, add_options, campaigns_of, run, summary, told, truth, write
from unskew.methods import Unskew
from unskew.models.team import Team

FOLDS = 5
OURS, ALL_DRAWN = "Unskew", "Unskew, all drawn"
PPI, CROSS = "ppi-python", "ppi-python, cross"
WHO = (OURS, ALL_DRAWN, "binomial", PPI, CROSS)


def one(s, random, budget):
    """Our estimates with the truth of each, and what the others need: needs no further library."""
    found = {}
    for name, kind in ((OURS, Unskew), (ALL_DRAWN, partial(Unskew, drawn=1.0))):
        method = last(s, random, kind, budget)
        everyone = method.everyone()
        found[name] = (truth(method, everyone, s), told(everyone.estimate()))
    method = last(s, random, partial(Evenly, drawn=1.0, model=Team()), budget)
    return found, truth(method, method.everyone(), s), drawn_evenly(method)


def last(s, random, kind, budget):
    *_, method = run(s, random, kind, budget)
    return method


def drawn_evenly(method):
    """For a method that draws all rows evenly: losses of the drawn rows, and the chances of being wrong.

    The chances are those of the drawn rows and of all other rows, by the model itself; then the same by models that
    leave out a fifth of the draw, with a column for each of them.
    """
    everyone, known, logged = method.everyone(), method.state_, int(method.log_.z.sum())
    rows = method.observed().labelled[logged:]
    others = np.setdiff1d(np.arange(len(everyone.margin)), rows)
    says, labels = everyone.margin >= 0.0, everyone.y[rows] > 0.0
    fold = np.arange(len(rows)) % FOLDS
    kept, v, X = np.ones(len(known.y), dtype=bool), method.weights(known), np.concatenate(method.observed().parts)
    cross, apart = np.empty(len(rows)), np.empty((len(others), FOLDS))
    for k in range(FOLDS):
        kept[logged:] = fold != k
        model = Team(random_state=0).prepare(method.log_.X, method.log_.classes)
        model.update(known.X[kept], known.y[kept], v[kept], choose=True)
        positive = expit(model.log_odds(X))
        wrong = np.where(says, 1.0 - positive, positive)
        cross[fold == k], apart[:, k] = wrong[rows[fold == k]], wrong[others]
    wrong = expit(-np.abs(everyone.margin))
    return {
        "losses": (says[rows] != labels).astype(float),
        "wrong": wrong[rows],
        "others": wrong[others],
        "cross": cross,
        "cross_others": apart,
    }


def theirs(data):
    """The intervals that others compute from evenly drawn labels."""
    from ppi_py import crossppi_mean_ci, ppi_mean_ci

    losses = data["losses"]
    wilson = binomtest(int(losses.sum()), len(losses)).proportion_ci(method="wilson")
    ppi = ppi_mean_ci(losses, data["wrong"], data["others"], alpha=0.05)
    cross = crossppi_mean_ci(losses, data["cross"], data["cross_others"], alpha=0.05)
    return {
        "binomial": interval(losses.mean(), *wilson),
        PPI: interval(np.mean(ppi), *ppi),
        CROSS: interval(np.mean(cross), *cross),
    }


def interval(value, low, high):
    """A value and its interval, cut off at 0 and 1 as ours are."""
    return dict(zip(("value", "low", "high"), np.clip([np.mean(x) for x in (value, low, high)], 0, 1), strict=True))


def campaign(facts, s, random, budget):
    found, true, data = one(s, random, budget)
    return {**facts, "found": found | {name: (true, e) for name, e in theirs(data).items()}}


def table(campaigns):
    """Held and width for each data set and contender, and in how many data sets ours is narrower."""
    names = list(dict.fromkeys(c["dataset"] for c in campaigns))
    lines = ["| held, % (width) | campaigns | " + " | ".join(WHO) + " |", "|---|---:|" + "---:|" * len(WHO)]
    widths = []
    for name in (*names, "all"):
        these = [c for c in campaigns if name in (c["dataset"], "all")]
        found = [summary([c["found"][who] for c in these]) for who in WHO]
        cells = " | ".join(f"{100 * s['held']:.1f} ({s['width']:.3f})" for s in found)
        lines.append(f"| {name} | {len(these):,} | {cells} |")
        widths.append([s["width"] for s in found])
    for k in range(2):
        wins = [f"{sum(row[k] < row[j] for row in widths[:-1])} of {len(names)}" for j in range(2, len(WHO))]
        lines.append(f"| {WHO[k]} is narrower in | | | | " + " | ".join(wins) + " |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_interval", description="Intervals of others.")
    add_options(parser, 600)
    options = parser.parse_args(arguments)
    if not (options.file or find_spec("ppi_py")):
        raise SystemExit("ppi-python is not installed. Add it with: pip install 'unskew[bench]'")
    campaigns = campaigns_of(options, partial(campaign, budget=options.budget))
    write({"peers_interval": table(campaigns)}, options.out)


if __name__ == "__main__":
    main()
