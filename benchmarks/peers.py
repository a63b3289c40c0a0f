"""`Unskew` compared with what else one would use: error and time on the same splits, logs, pools and batches.

    OMP_NUM_THREADS=1 python -m benchmarks.peers [--datasets D ...] [--policies P ...] [--repeats R] [--jobs J]
        [--quick] [--json FILE] [--out FOLDER]
    python -m benchmarks.peers --from FILE [--out FOLDER]

Log, pool, test rows, label budget and batch sizes are those of `unskew reproduce` (its `plan`, its fresh repeats). All
others pick the rows with the smallest margin between the two classes, and spend every label on learning:

- scikit-activeml: used as its users would use it. One array of rows has the log's revealed labels filled in and the
  others missing; in each round `fit`, then `UncertaintySampling(method="margin_sampling").query`. The model, inside
  `SklearnClassifier`, is `LogisticRegression` on standardised columns, `RandomForestClassifier` with its defaults, or
  `LGBMClassifier` with its defaults but for `min_child_samples=5`: with 20, it hardly splits so few labels.
- by hand: the same rule in a few lines around `CatBoostClassifier` with its defaults, but 200 iterations to save time.

They take the log's labels as they come, since they have no use for propensities. Nothing of theirs or ours is tuned.

Ours are `Unskew` as it comes, which draws half of its labels at random to measure its error; `Unskew(drawn=0.1)`, which
spends nearly as many labels on learning as the others do; and `MarginSampling`, the others' rule with our model.
`Unskew` and `MarginSampling` are also run with the model that was the default before 0.5.0.

The first table has geometric means of the AUC (area under the error curve) as ratios to Unskew's, over all cells and
over those in which even the best has a mean error *above 1 %* (in the others a few test rows decide); the number of
cells in which ours have the smaller AUC; the error, on average along the curve (AUC over 2(B + 1)) and at its end; and
the processor time of a round (fit and query, one thread). The second has the mean error of every cell.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.simulated import logistic, there, write
from unskew.experiments.budget import plan
from unskew.experiments.datasets import load
from unskew.experiments.metrics import auc
from unskew.experiments.protocols import FRESH
from unskew.experiments.simulation import simulations
from unskew.methods import MarginSampling, Unskew, pool_rounds
from unskew.methods.driving import pool_batches

try:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
except ImportError:
    SklearnClassifier = None
try:
    from lightgbm import LGBMClassifier
except ImportError:
    LGBMClassifier = None
try:
    from catboost import CatBoostClassifier
except ImportError:
    CatBoostClassifier = None

POLICIES = ("uniform", "certainty", "blind-spot")
OURS = ("Unskew", "Unskew(drawn=0.1)", "MarginSampling")


def ours(kind, **settings):
    """Yield the prediction function of one of our methods after the warm start and after every round."""

    def rounds(s, budget, random):
        method = kind(random_state=random, **settings)
        for _ in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, budget):
            yield method.infer

    return rounds


def scikit_activeml(model):
    """The same for scikit-activeml's margin sampling with a model that `model` makes from a seed."""

    def rounds(s, budget, random):
        seed, known = int(random % 2**31), s.log.m
        X = np.concatenate((s.log.X, s.X))
        y = np.concatenate((np.where(s.log.z, s.log.y, np.nan), np.full(s.n, np.nan)))
        clf = SklearnClassifier(model(seed), classes=[-1.0, 1.0], random_state=seed)
        chooser = UncertaintySampling(method="margin_sampling", random_state=seed)
        yield clf.fit(X, y).predict
        for k in pool_batches(min(budget, s.n)):
            left = known + np.flatnonzero(np.isnan(y[known:]))  # rows of the log cannot be asked for
            asked = np.asarray(chooser.query(X, y, clf, False, candidates=left, batch_size=k))
            y[asked] = s.y[asked - known]
            yield clf.fit(X, y).predict

    return rounds


def by_hand(model):
    """The same for margin sampling in a few lines."""

    def rounds(s, budget, random):
        X, y, left = s.log.X[s.log.z], s.log.y[s.log.z], np.arange(s.n)
        clf = model(int(random % 2**31)).fit(X, y)
        yield clf.predict
        for k in pool_batches(min(budget, s.n)):
            asked = left[np.argsort(np.abs(clf.predict_proba(s.X[left])[:, 1] - 0.5), kind="stable")[:k]]
            left = np.setdiff1d(left, asked, assume_unique=True)
            X, y = np.concatenate((X, s.X[asked])), np.append(y, s.y[asked])
            yield clf.fit(X, y).predict

    return rounds


def contenders():
    found = {
        "Unskew": ours(Unskew),
        "Unskew(drawn=0.1)": ours(Unskew, drawn=0.1),
        "MarginSampling": ours(MarginSampling),
        "Unskew, model before 0.5.0": ours(Unskew, model=logistic()),
        "MarginSampling, model before 0.5.0": ours(MarginSampling, model=logistic()),
    }
    if SklearnClassifier:
        found |= {
            "scikit-activeml, logistic": scikit_activeml(
                lambda seed: make_pipeline(StandardScaler(), LogisticRegression())
            ),
            "scikit-activeml, random forest": scikit_activeml(lambda seed: RandomForestClassifier(random_state=seed)),
        }
    if SklearnClassifier and LGBMClassifier:
        found["scikit-activeml, LightGBM"] = scikit_activeml(
            lambda seed: LGBMClassifier(min_child_samples=5, n_jobs=1, verbose=-1, random_state=seed)
        )
    if CatBoostClassifier:
        found["by hand, CatBoost"] = by_hand(
            lambda seed: CatBoostClassifier(
                iterations=200, thread_count=1, verbose=False, allow_writing_files=False, random_seed=seed
            )
        )
    return found


def follow(rounds, s, budget, random):
    """The test error after the warm start and after every round, and the mean processor time of a round."""
    errors, taken, going = [], [], rounds(s, budget, random)
    while True:
        begin = time.process_time()
        predict = next(going, None)
        if predict is None:
            return {"errors": errors, "seconds": float(np.mean(taken[1:]))}  # the first is the warm start
        taken.append(time.process_time() - begin)
        errors.append(float(np.mean(predict(s.test_X) != s.test_y)))


def one(facts, s, random):
    """One simulation, with every contender."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # each library warns in its own way about a log with one class
        runs = {name: follow(rounds, s, facts["budget"], random) for name, rounds in contenders().items()}
    return facts | {"labels": np.cumsum([0, *pool_batches(min(facts["budget"], s.n))]).tolist(), "runs": runs}


def drawn(datasets, policies, repeats, seed=0):
    """The simulations of all cells: facts, the simulation, and a seed for the methods."""
    for dataset in datasets:
        source = load(dataset, variant="released")
        for policy in policies:
            chosen = plan(*source.population(seed, 0), policy, np.random.default_rng([seed, 2]))
            facts = {"dataset": dataset, "policy": policy, "budget": chosen.label_budget}
            fresh = range(FRESH, FRESH + repeats)
            for s, random in simulations(source, policy, chosen.logged_fraction, seed, fresh):
                yield facts, s, random


def cells(simulated):
    """For every data set and policy: every contender's AUC, mean error and last error (mean curve), and its time."""
    found = {}
    for s in simulated:
        found.setdefault((s["dataset"], s["policy"]), []).append(s)
    for cell, these in found.items():
        budget, labels, found[cell] = these[0]["budget"], np.array(these[0]["labels"], dtype=float), {}
        for who in these[0]["runs"]:
            errors = np.mean([s["runs"][who]["errors"] for s in these], axis=0)
            area, seconds = auc(labels, errors, budget), np.mean([s["runs"][who]["seconds"] for s in these])
            mean = area / (2 * (budget + 1))
            found[cell][who] = {"auc": area, "error": mean, "end": errors[-1], "seconds": seconds}
    return found


def table(found):
    lines = [
        f"| | AUC, times Unskew's | above 1 % | {' | '.join(f'{name} ahead' for name in OURS)} | mean error, % "
        "| at the end, % | ms a round |",
        "|---|---:|---:|" + "---:|" * (len(OURS) + 3),
    ]
    everyone = list(found.values())
    hard = np.array([min(r["error"] for r in c.values()) > 0.01 for c in everyone])
    for who in everyone[0]:
        mine = [c[who] for c in everyone]
        ratio = np.log([c[who]["auc"] / c["Unskew"]["auc"] for c in everyone])
        ahead = [
            "" if who == name else f"{sum(c[name]['auc'] < c[who]['auc'] for c in everyone)} of {len(mine)}"
            for name in OURS
        ]
        error, end, seconds = (np.mean([r[key] for r in mine]) for key in ("error", "end", "seconds"))
        lines.append(
            f"| {who} | {np.exp(ratio.mean()):.2f} | {np.exp(ratio[hard].mean()):.2f} | {' | '.join(ahead)} "
            f"| {100 * error:.2f} | {100 * end:.2f} | {1e3 * seconds:.0f} |"
        )
    return lines


def by_cell(found):
    names = list(next(iter(found.values())))
    lines = ["| mean error, % | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for (dataset, policy), c in found.items():
        lines.append(f"| {dataset}, {policy} | " + " | ".join(f"{100 * c[name]['error']:.2f}" for name in names) + " |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Unskew beside others.")
    parser.add_argument("--datasets", nargs="+", help="all, if none are named")
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="only two cells with two repeats")
    parser.add_argument("--json", type=Path, help="also write every simulation to this file")
    parser.add_argument("--from", type=Path, dest="file", help="show the simulations of such a file, and run none")
    parser.add_argument("--out", type=Path, help="also write the tables to this folder, such as docs/tables")
    options = parser.parse_args(arguments)
    if options.quick:
        options.datasets, options.policies, options.repeats = ("german", "svmguide1"), ("certainty",), 2
    if options.file:
        simulated = json.loads(options.file.read_text())
    else:
        missing = {"scikit-activeml": SklearnClassifier, "LightGBM": LGBMClassifier, "CatBoost": CatBoostClassifier}
        for name in (name for name, there_is in missing.items() if there_is is None):
            print(f"{name} is left out: it is not installed. Add it with: pip install 'unskew[bench]'")
        work, simulated = drawn(there(options.datasets), options.policies, options.repeats), []
        going = joblib.Parallel(options.jobs, return_as="generator")
        for found in going(joblib.delayed(one)(*given) for given in work):
            simulated.append(found)
            if options.json:
                options.json.write_text(json.dumps(simulated) + "\n")
    if simulated:
        found = cells(simulated)
        write({"peers": [*table(found), "", *by_cell(found)]}, options.out)


if __name__ == "__main__":
    main()
