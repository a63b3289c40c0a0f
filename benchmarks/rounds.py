"""The time of one round on a pool: pick 20 rows to label, take in their labels, fit the model again.

    python -m benchmarks.rounds [--rows N ...] [--turns T] [--one-thread] [--quick] [--json FILE]

All contenders start from the same log, 6,000 rows of 30 features with the labels of 2,000, and have a pool of N rows. A
round is what a user writes: unlabelled rows go in, 20 positions come out, their labels go in, and a model
fitted to them comes out. Checks and copies are included; the warm start is not.

- Unskew: `ask(20)` and `tell`. The model is a `Team` of a logistic regression, over 231 features, linear and Fourier,
  and trees.
- Unskew, ask: `ask(20)` alone, each time with the model of the first round.
- scikit-learn: margin sampling by hand, with `LogisticRegression` on standardised columns.
- scikit-activeml: `UncertaintySampling(method="margin_sampling").query` with the same pipeline in its
  `SklearnClassifier`, which also fits the model, on one array of all rows, as in its documentation.

They take turns. The table shows medians, with one thread and with one thread per core. On a busy machine, wall time
includes other work; look at the processor time with one thread. The ratios for one thread are computed from it.
`Unskew` grows its trees again each time the labels have grown by a tenth, and chooses its prior again each time they
have grown by about a third. The pool of 6,000 rows gets enough rounds for both to happen, and every pool for the first
with the default number of turns; see *longest*. *Exponent* is the slope of log time on log N.
"""

import argparse
import json
import os
import statistics
import time
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from unskew import LoggedData, Unskew

try:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
except ImportError:
    SklearnClassifier = None

M, REVEALED, FEATURES, K = 6_000, 2_000, 30, 20
CHOSEN_ANEW = 31
"""The number of rounds after which 2,000 labels have grown by 30 %."""
SIZES = (6_000, 30_000, 100_000, 300_000, 1_000_000)


def population(n, seed):
    """Rows of 30 features, with a curved boundary in three of them; one label in ten is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0.0) ^ (rng.random(n) < 0.1)


def unskew(X, y, pool, pool_y):
    z = np.arange(M) % 3 == 0
    method = Unskew(random_state=0).start(LoggedData(X, y, z, REVEALED / M), pool, REVEALED / M)
    while True:
        method.tell(pool_y[np.asarray(method.ask(K))])
        yield method


def unskew_ask(X, y, pool, pool_y):
    method = next(unskew(X, y, pool, pool_y))
    while True:
        yield copy(method).ask(K)  # a method of its own, so that no round stays open


def scikit_learn(X, y, pool, pool_y):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    X, y, left = X[::3], y[::3], np.arange(len(pool))
    model.fit(X, y)
    while True:
        asked = left[np.argpartition(np.abs(model.decision_function(pool[left])), K)[:K]]
        X, y = np.concatenate((X, pool[asked])), np.append(y, pool_y[asked])
        left = np.setdiff1d(left, asked, assume_unique=True)
        yield model.fit(X, y)


def scikit_activeml(X, y, pool, pool_y):
    rows = np.concatenate((X[::3], pool))
    labels = np.concatenate((y[::3].astype(float), np.full(len(pool), np.nan)))
    model = SklearnClassifier(make_pipeline(StandardScaler(), LogisticRegression()), classes=[0.0, 1.0], random_state=0)
    strategy = UncertaintySampling(method="margin_sampling", random_state=0)
    while True:
        asked = strategy.query(rows, labels, model, batch_size=K)  # fits the model to all labels so far
        labels[asked] = pool_y[asked - REVEALED]
        yield model.fit(rows, labels)


CONTENDERS = {
    "Unskew": unskew,
    "Unskew, ask": unskew_ask,
    "scikit-learn": scikit_learn,
    "scikit-activeml": scikit_activeml,
}


def measure(n, turns, threads):
    """Median wall time, and median and longest processor time of each contender's round, in seconds."""
    contenders = {name: run for name, run in CONTENDERS.items() if SklearnClassifier or name != "scikit-activeml"}
    turns = max(turns, CHOSEN_ANEW) if n <= M else turns
    with threadpool_limits(threads):
        going = {name: run(*population(M, 1), *population(n, 2)) for name, run in contenders.items()}
        wall, processor = ({name: [] for name in going} for _ in range(2))
        for turn in range(turns + 1):
            for name, rounds in going.items():
                begin = time.perf_counter(), time.process_time()
                next(rounds)
                if turn:  # the first one includes the warm start
                    wall[name].append(time.perf_counter() - begin[0])
                    processor[name].append(time.process_time() - begin[1])
    threads = threads or os.cpu_count()
    return [
        {"rows": n, "threads": threads, "who": name, "wall": statistics.median(wall[name])}
        | {"processor": statistics.median(processor[name]), "most": max(processor[name])}
        for name in going
    ]


def exponent(results, who, threads, key):
    mine = [(r["rows"], r[key]) for r in results if (r["who"], r["threads"]) == (who, threads)]
    return float(np.polyfit(*np.log(mine).T, 1)[0]) if len(mine) > 1 else float("nan")


def table(results):
    """A Markdown table with a line for each number of threads, size and contender."""
    lines = ["| threads | rows | | wall | processor | longest | times Unskew |", "|---|---:|---|---:|---:|---:|---:|"]
    for r in results:
        ours = next(o for o in results if (o["rows"], o["threads"]) == (r["rows"], r["threads"]))
        # the processor time of one thread does not depend on other work of the machine
        key = "processor" if r["threads"] == 1 else "wall"
        times = [f"{1e3 * r[name]:,.0f} ms" for name in ("wall", "processor", "most")]
        lines.append(
            f"| {r['threads']} | {r['rows']:,} | {r['who']} | " + " | ".join(times) + f" | {r[key] / ours[key]:.2f} |"
        )
    return "\n".join(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description="Time one round on a pool.")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--one-thread", action="store_true", help="leave out the runs with one thread per core")
    parser.add_argument("--quick", action="store_true", help="only 6,000 and 100,000 rows, with one thread")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    results = []
    for threads in (1,) if options.quick or options.one_thread else (1, None):
        for n in (6_000, 100_000) if options.quick else options.rows:
            results += measure(n, options.turns, threads)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    slope = partial(exponent, results, threads=1, key="processor")
    print(
        "\nExponent, one thread: "
        + ", ".join(f"{who} {slope(who):.2f}" for who in dict.fromkeys(r["who"] for r in results))
        + "."
    )
    return results


if __name__ == "__main__":
    main()
