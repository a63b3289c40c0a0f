"""`Unskew` compared with scikit-activeml's own classes: error and time on the same splits, logs, pools and budgets.

    python -m benchmarks.peers [--datasets D ...] [--policies P ...] [--repeats R] [--quick] [--json FILE]

Log, pool, test rows, label budget and batch sizes are those of `unskew reproduce` (its `plan`, its fresh repeats).
scikit-activeml is used as its users would use it: one array of rows with the log's revealed labels filled in and the
others missing; in each round `fit`, then `query(batch_size=)`, then the new labels are filled in. Its strategies:

- margin: `UncertaintySampling(method="margin_sampling")`.
- committee: `QueryByCommittee` (its default, KL divergence) of ten bagged copies of the model.
- badge: `Badge`, which combines uncertainty and diversity of a batch.

The model is `LogisticRegression` on standardised columns. To separate the effect of the query rule from that of the
model, margin is also run with the model of `Unskew`, `BayesianLogistic`, inside `SklearnClassifier`. There it
standardises by labelled rows only, and chooses its prior from scratch in every fit. `MarginSampling` is the same rule
in our loop, which does neither.

Prints a Markdown table: geometric means over cells of the AUC (area under the error curve), as ratios to Unskew's; the
number of cells in which Unskew has the smaller AUC; the error, on average along the curve (AUC over 2(B + 1)) and at
its end; and the processor time of a round (fit and query, one thread), also as a ratio.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from unskew.errors import InputError
from unskew.experiments.budget import plan
from unskew.experiments.datasets import load
from unskew.experiments.metrics import auc
from unskew.experiments.simulation import simulations
from unskew.experiments.tasks import FRESH
from unskew.methods import MarginSampling, RandomLabels, Unskew, pool_rounds
from unskew.methods.driving import pool_batches
from unskew.models.bayes import BayesianLogistic

try:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import Badge, QueryByCommittee, UncertaintySampling
except ImportError:
    SklearnClassifier = None

DATASETS = ("letter", "magic", "german", "splice", "svmguide1", "cod-rna")
POLICIES = ("uniform", "certainty", "blind-spot")
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def of_ours(kind):
    """Yield the prediction function of one of our methods after the warm start and after every round."""

    def rounds(s, budget, random):
        method = kind(random_state=random)
        for _ in pool_rounds(method, s.log, s.X, s.q0, s.y.__getitem__, budget):
            yield method.infer

    return rounds


def of_theirs(strategy, estimator):
    """The same for a strategy and a model of scikit-activeml."""

    def rounds(s, budget, random):
        seed, known = int(random % 2**31), s.log.m

        def model(inner):
            if "random_state" in inner.get_params():
                inner = clone(inner).set_params(random_state=seed)
            return SklearnClassifier(inner, classes=[-1.0, 1.0], random_state=seed)

        X = np.concatenate((s.log.X, s.X))
        y = np.concatenate((np.where(s.log.z, s.log.y, np.nan), np.full(s.n, np.nan)))
        clf, chooser = model(estimator), strategy(seed)
        committee = [model(BaggingClassifier(estimator, 10))] if isinstance(chooser, QueryByCommittee) else []
        yield clf.fit(X, y).predict
        for k in pool_batches(min(budget, s.n)):
            judge = committee[0].fit(X, y) if committee else clf
            left = known + np.flatnonzero(np.isnan(y[known:]))  # rows of the log cannot be asked for
            asked = np.asarray(chooser.query(X, y, judge, False, candidates=left, batch_size=k))
            y[asked] = s.y[asked - known]
            yield clf.fit(X, y).predict

    return rounds


def contenders():
    ours = {kind.__name__: of_ours(kind) for kind in (Unskew, MarginSampling, RandomLabels)}
    if SklearnClassifier is None:
        print("scikit-activeml is left out: it is not installed. Add it with: pip install 'unskew[bench]'")
        return ours

    def margin(seed):
        return UncertaintySampling(method="margin_sampling", random_state=seed)

    return ours | {
        "scikit-activeml: margin, logistic": of_theirs(margin, LOGISTIC),
        "scikit-activeml: committee, logistic": of_theirs(lambda r: QueryByCommittee(random_state=r), LOGISTIC),
        "scikit-activeml: badge, logistic": of_theirs(lambda r: Badge(random_state=r), LOGISTIC),
        "scikit-activeml: margin, our model": of_theirs(margin, BayesianLogistic()),
    }


def follow(rounds, s, budget, random):
    """The test error after the warm start and after every round, and the mean processor time of a round."""
    errors, taken, going = [], [], rounds(s, budget, random)
    while True:
        begin = time.process_time()
        predict = next(going, None)
        if predict is None:
            return errors, float(np.mean(taken[1:]))  # the first is the warm start
        taken.append(time.process_time() - begin)
        errors.append(float(np.mean(predict(s.test_X) != s.test_y)))


def cell(dataset, policy, repeats, seed=0):
    """The AUC of every contender's mean curve, its last error and its time."""
    source = load(dataset, variant="released")
    chosen = plan(*source.population(seed, 0), policy, np.random.default_rng([seed, 2]))
    runs = {name: [] for name in contenders()}
    fresh = range(FRESH, FRESH + repeats)
    for s, random in simulations(source, policy, chosen.logged_fraction, seed, fresh):
        for name, rounds in contenders().items():
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # each library warns in its own way about a log with one class
                runs[name].append(follow(rounds, s, chosen.label_budget, random))
    labels = np.cumsum([0, *pool_batches(min(chosen.label_budget, s.n))]).astype(float)
    results = []
    for name, these in runs.items():
        errors = np.mean([e for e, _ in these], axis=0)
        results.append({"dataset": dataset, "policy": policy, "who": name, "budget": chosen.label_budget})
        results[-1] |= {"auc": auc(labels, errors, chosen.label_budget), "end": float(errors[-1])}
        results[-1] |= {"seconds": float(np.mean([t for _, t in these]))}
    return results


def table(results):
    lines = [
        "| | AUC, times Unskew's | least | greatest | Unskew ahead | mean error | at the end | ms a round "
        "| times Unskew's |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    ours = {(r["dataset"], r["policy"]): r for r in results if r["who"] == "Unskew"}
    for who in dict.fromkeys(r["who"] for r in results):
        mine = [(r, ours[r["dataset"], r["policy"]]) for r in results if r["who"] == who]
        area, cost = (np.array([r[key] / o[key] for r, o in mine]) for key in ("auc", "seconds"))
        ahead = "" if who == "Unskew" else f"{np.sum(area > 1.0)} of {len(mine)}"
        error = np.mean([[r["auc"] / (2 * (r["budget"] + 1)), r["end"]] for r, _ in mine], axis=0)
        lines.append(
            f"| {who} | {np.exp(np.log(area).mean()):.2f} | {area.min():.2f} | {area.max():.2f} | {ahead} "
            f"| {error[0]:.4f} | {error[1]:.4f} | {1e3 * np.mean([r['seconds'] for r, _ in mine]):.0f} "
            f"| {np.exp(np.log(cost).mean()):.2f} |"
        )
    return "\n".join(lines)


def by_cell(results):
    names = list(dict.fromkeys(r["who"] for r in results))
    short = [name.removeprefix("scikit-activeml: ") for name in names]
    lines = ["| AUC | labels | " + " | ".join(short) + " |", "|---|---:|" + "---:|" * len(names)]
    for dataset, policy in dict.fromkeys((r["dataset"], r["policy"]) for r in results):
        mine = {r["who"]: r for r in results if (r["dataset"], r["policy"]) == (dataset, policy)}
        areas = " | ".join(f"{mine[name]['auc']:.2f}" for name in names)
        lines.append(f"| {dataset}, {policy} | {mine[names[0]]['budget']} | {areas} |")
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Unskew beside scikit-activeml.")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="only two cells with two repeats")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    if options.quick:
        options.datasets, options.policies, options.repeats = ("german", "svmguide1"), ("certainty",), 2
    results = []
    for dataset in options.datasets:
        try:
            load(dataset)
        except InputError as error:
            print(f"  {dataset} is left out: {error}")
            continue
        for policy in options.policies:
            results += cell(dataset, policy, options.repeats)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    if results:
        print(table(results), by_cell(results), sep="\n\n")
    return results


if __name__ == "__main__":
    main()
