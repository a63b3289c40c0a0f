"""Simulated campaigns, for the benchmarks of the estimates: which there are, how one is run, how many are summed up.

A data set is split into log, pool and test rows, and a policy reveals some of the log's labels with known propensities
(`unskew.experiments.simulation`). Drawing these needs the data files. Running a campaign on one of them does not: it
needs only NumPy, SciPy and scikit-learn, so the simulations can be drawn on one machine and run on another.
"""

import json
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
from scipy.special import logit
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.measures import MEASURES, Masses, measured
from unskew.methods import Unskew, pool_rounds
from unskew.models.bayes import BayesianLogistic
from unskew.sampling.policies import ALL_POLICIES
from unskew.sampling.propensity import estimate

SEED = 2033
"""Not a seed with which the draws, the estimates or their intervals were developed."""

APART = 100_000
"""Between the numbers of two data sets' first repeats."""

SIX = ("synthetic", "letter", "magic", "covtype", "a5a", "german")

NET = make_pipeline(
    StandardScaler(), MLPClassifier((8,), activation="tanh", solver="lbfgs", alpha=20.0, random_state=0)
)
"""One of the five models by which propensities are estimated by default. It costs a fifth of all five."""


def logistic():
    """The model of `Unskew` before 0.5.0."""
    return BayesianLogistic(few=0)


class Evenly(Unskew):
    """`Unskew` as it was before 0.4.0: one label in ten is drawn, and every row has the same chance."""

    def __init__(self, *, drawn=0.1, model=None, random_state=None):
        super().__init__(drawn=drawn, model=model or logistic(), random_state=random_state)

    def wrong(self, X):
        return np.full(X.shape[0], 0.5)


def drawn(campaigns, seed, datasets, policies):
    """Draw simulations: (data set and policy, simulation, seed of the method), one data set after the other.

    Each data set and policy gets the same number of them, and no two share their random numbers.
    """
    from unskew.experiments.datasets import load
    from unskew.experiments.simulation import simulations

    each = -(-campaigns // (len(datasets) * len(policies)))
    for k, dataset in enumerate(datasets):
        source = load(dataset)
        for number in range(k * APART, k * APART + each * len(policies)):
            policy = policies[number % len(policies)]
            ((s, random),) = simulations(source, policy, 0.5, seed, [number])
            yield {"dataset": dataset, "policy": policy, "number": number}, s, random


def there(datasets=None):
    """Those of the data sets, or of all, whose files are there; says which are not."""
    from unskew.experiments.datasets import DATASETS, load

    found = []
    for name in datasets or DATASETS:
        try:
            load(name)
            found.append(name)
        except InputError as error:
            print(f"  {name} is left out: {error}")
    return found


def run(s, random, kind, budget):
    """Spend a budget on the simulation's pool; yield the method at the warm start and after every round."""
    method = kind(random_state=random)
    for _ in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, budget):
        yield method


def truth(method, everyone, s, measure="error", threshold=0.5):
    """A measure on all pool and test rows. Labelled pool rows are judged by their margin without their own label."""
    margin = np.append(everyone.margin[everyone.design.m :], method.log_odds(s.test_X)) - logit(threshold)
    positive = np.append(s.y, s.test_y) > 0.0
    masses = Masses(positive / len(positive), ~positive / len(positive))
    return measured(MEASURES[measure](margin), masses, measure)[0]


def told(estimate):
    """What an estimate says, as plain numbers."""
    return {
        **{name: getattr(estimate, name) for name in ("value", "low", "high", "log_share", "agreement")},
        **{name: side and list(side) for name, side in (("log", estimate.log), ("draw", estimate.draw))},
        "effective": estimate.effective_sample_size,
    }


def guessed(s, random):
    """The simulation with propensities estimated from the log's (X, z) by `NET`; None if there are too few labels."""
    log = s.log
    try:
        found = estimate(log.X, log.z, model=NET, random_state=random % 2**31)
    except InputError:
        return None
    return relogged(s, log.z, found.q0, found.Q0(s.X), q0_estimated=True)


def relogged(s, z, q0, pool_q0, *, q0_estimated=False):
    """The simulation with other reveal bits and propensities."""
    y = np.where(z, s.log.y, np.nan)
    log = LoggedData(s.log.X, y, z, q0, classes=s.log.classes, q0_estimated=q0_estimated)
    return replace(s, log=log, q0=pool_q0)


def campaigns_of(options, one, datasets=None, policies=ALL_POLICIES, drawn=drawn):
    """The campaigns of a file (`--from`), or `one(facts, simulation, random)` for every simulation, in parallel.

    All data sets are used if none are named. Campaigns that were run are also written to a file (`--json`).
    """
    if options.file:
        return json.loads(options.file.read_text())
    names, runs = there(datasets), []
    work = (joblib.delayed(one)(*given) for given in drawn(options.campaigns, options.seed, names, policies))
    for found in joblib.Parallel(options.jobs, return_as="generator")(work):
        runs.append(found)
        if found["number"] % APART == 0:
            print(f"  {found['dataset']}, {1 + names.index(found['dataset'])} of {len(names)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(runs) + "\n")
    return runs


def summary(found):
    """How often intervals hold the truth; bias, root mean squared error and width. `found` holds (truth, told)."""
    true = np.array([t for t, _ in found])
    value, low, high = np.array([[e["value"], e["low"], e["high"]] for _, e in found]).T
    n, inside = len(found), int(np.sum((low <= true) & (true <= high)))
    near = (inside + 1) / (n + 2)  # so that the standard error is not 0 where all of a few intervals hold
    return {
        "campaigns": n,
        "held": inside / n,
        "held_error": float(np.sqrt(near * (1.0 - near) / n)),
        "bias": float(np.mean(value - true)),
        "rmse": float(np.sqrt(np.mean((value - true) ** 2))),
        "width": float(np.mean(high - low)),
    }


def in_words(found):
    """The cells of a Markdown line: campaigns, held, bias, rmse, width."""
    s = summary(found)
    return (
        f"{s['campaigns']:,} | {100 * s['held']:.1f} ± {100 * s['held_error']:.1f} | {100 * s['bias']:+.2f} "
        f"| {100 * s['rmse']:.2f} | {s['width']:.3f}"
    )


def write(tables, folder):
    """Print tables, and write each to a file of its own name if there is a folder."""
    for name, lines in tables.items():
        print("\n".join(lines), end="\n\n")
        if folder:
            Path(folder, f"{name}.md").write_text("\n".join(lines) + "\n")


def add_options(parser, campaigns, seed=SEED):
    """The options that these benchmarks share."""
    parser.add_argument("--campaigns", type=int, default=campaigns, help="total number, shared by data sets, policies")
    parser.add_argument("--budget", type=int, default=200, help="the number of labels of a campaign")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write every campaign to this file")
    parser.add_argument("--from", type=Path, dest="file", help="show the campaigns of such a file, and run none")
    parser.add_argument("--out", type=Path, help="also write the tables to this folder, such as docs/tables")
