"""Speed of one pass of the update, compared with Vowpal Wabbit and scikit-learn.

    python -m benchmarks.update [--json FILE] [--turns T] [--rows N]

All contenders get the same rows and labels, squared loss, one pass in the given order, no intercept, no
penalty, and a step size that falls with the square root of the row count. These are timed:

- unskew, one pass: `Descent.run` over all rows.
- unskew, blocks: `LinearClassifier.partial_fit` in blocks of 10,000 rows, including its checks.
- bare loop: a compiled loop that, for each row, only computes w.x and adds a multiple of x to w.
- Vowpal Wabbit: its Python binding with `--sgd --invariant` over a cache file written beforehand, minus
  the time of the same command on a cache of one row (start-up). It reads in a separate thread.
- scikit-learn: `SGDClassifier.partial_fit` in blocks of 10,000 rows, including its checks.

Contenders take turns. The table shows the median of all turns, and its ratio to the median of
unskew's one pass. `accuracy`, on the training rows, shows that each contender did learn.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from unskew.descent import Descent
from unskew.models.linear import LinearClassifier

try:
    from vowpalwabbit import Workspace
except ImportError:
    Workspace = None

BLOCK = 10_000
OURS = "unskew, one pass"
START_UP = "Vowpal Wabbit, start-up"


def problem(kind, n, seed=0):
    """n rows of 30 features, or of 30 nonzeros among 100,000; labels from a linear rule, 5 % of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 30))
    if kind == "csr":
        columns = (3333 * np.arange(30) + rng.integers(0, 3333, (n, 30))).astype(np.int32)
        ends = np.arange(0, 30 * n + 1, 30, dtype=np.int32)
        X = sparse.csr_array((X.ravel(), columns.ravel(), ends), (n, 100_000))
    y = np.where(X @ rng.normal(size=X.shape[1]) > 0, 1.0, -1.0)
    y[rng.random(n) < 0.05] *= -1.0
    return X, y


fast = njit(fastmath={"reassoc", "contract", "arcp", "nsz"}, error_model="numpy")


@fast
def bare_dense(w, X, y):
    for i in range(X.shape[0]):
        x = X[i]
        score = 0.0
        for j in range(x.shape[0]):
            score += w[j] * x[j]
        c = 0.01 * (y[i] - score)
        for j in range(x.shape[0]):
            w[j] += c * x[j]


@fast
def bare_csr(w, data, indices, indptr, y):
    for i in range(indptr.shape[0] - 1):
        x, at = data[indptr[i] : indptr[i + 1]], indices[indptr[i] : indptr[i + 1]]
        score = 0.0
        for j in range(x.shape[0]):
            score += w[np.uint64(at[j])] * x[j]
        c = 0.01 * (y[i] - score)
        for j in range(x.shape[0]):
            w[np.uint64(at[j])] += c * x[j]


def bare_loop(X, y):
    def run():
        w = np.zeros(X.shape[1])
        if isinstance(X, np.ndarray):
            bare_dense(w, X, y)
        else:
            bare_csr(w, X.data, X.indices, X.indptr, y)
        return lambda: w

    return run


def one_pass(X, y):
    v, order = np.ones(len(y)), np.arange(len(y))

    def run():
        descent = Descent(X.shape[1], eta=1.0)
        descent.run(X, y, v, order)
        return lambda: descent.w

    return run


def in_blocks(model, X, y):
    blocks = [(X[i : i + BLOCK], y[i : i + BLOCK]) for i in range(0, len(y), BLOCK)]

    def run():
        learner = model()
        for rows, labels in blocks:
            learner.partial_fit(rows, labels, classes=[-1.0, 1.0])
        return lambda: learner.coef_.ravel()

    return run


def sgd_classifier():
    return SGDClassifier(
        loss="squared_error", penalty=None, fit_intercept=False, shuffle=False,
        learning_rate="invscaling", eta0=0.1, power_t=0.5,
    )  # fmt: skip


def write_cache(X, y, stem):
    """Write the rows as a Vowpal Wabbit cache, with feature j named j."""
    text, cache = stem.with_suffix(".txt"), stem.with_suffix(".cache")
    rows = sparse.csr_array(X)
    with text.open("w") as file:
        for label, lo, hi in zip(y, rows.indptr[:-1], rows.indptr[1:], strict=True):
            pairs = zip(rows.indices[lo:hi].tolist(), rows.data[lo:hi].tolist(), strict=True)
            file.write(f"{label:g} | {' '.join(f'{j}:{value:.9g}' for j, value in pairs)}\n")
    Workspace(f"--noconstant --quiet -d {text} --cache_file {cache} -k").finish()
    text.unlink()
    return cache


def vowpal_wabbit(d, cache):
    def run():
        model = Workspace(f"--sgd --invariant --noconstant --quiet --passes 1 --cache_file {cache}")
        model.finish()
        return lambda: np.array([model.get_weight(j) for j in range(d)])

    return run


def contenders(X, y, folder):
    runs = {
        OURS: one_pass(X, y),
        "unskew, blocks": in_blocks(LinearClassifier, X, y),
        "bare loop": bare_loop(X, y),
        "scikit-learn": in_blocks(sgd_classifier, X, y),
    }
    if Workspace is not None:
        runs[START_UP] = vowpal_wabbit(X.shape[1], write_cache(X[:1], y[:1], folder / "one"))
        runs["Vowpal Wabbit"] = vowpal_wabbit(X.shape[1], write_cache(X, y, folder / "all"))
    return runs


def measure(kind, n, turns):
    X, y = problem(kind, n)
    with tempfile.TemporaryDirectory() as folder:
        runs = contenders(X, y, Path(folder))
        accuracy = {name: float(np.mean((X @ run()() > 0) == (y > 0))) for name, run in runs.items()}
        seconds = {name: [] for name in runs}
        for _ in range(turns):
            for name, run in runs.items():
                begin = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - begin)
    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    if START_UP in median:
        median["Vowpal Wabbit"] -= median.pop(START_UP)
    return {
        "rows": f"{n:,} {kind} rows, 30 features each of {X.shape[1]:,}",
        "ms": {name: 1e3 * taken for name, taken in median.items()},
        "times_ours": {name: taken / median[OURS] for name, taken in median.items()},
        "accuracy": {name: accuracy[name] for name in median},
        "bare_loop_share": median["bare loop"] / median[OURS],
    }


def show(result):
    print(f"\n{result['rows']}")
    print(f"  {'':<24}{'ms':>9}{'times ours':>12}{'accuracy':>10}")
    for name, ms in result["ms"].items():
        print(f"  {name:<24}{ms:>9.2f}{result['times_ours'][name]:>12.1f}{result['accuracy'][name]:>10.3f}")
    print(f"  the bare loop is {result['bare_loop_share']:.0%} of our one pass")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.update", description="Time one pass of the update.")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--turns", type=int, default=9, help="number of runs of each contender")
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args(arguments)
    if Workspace is None:
        print("Vowpal Wabbit is left out: it is not installed. Add it with: pip install 'unskew[bench]'")
    results = []
    for kind in ("dense", "csr"):
        results.append(measure(kind, options.rows, options.turns))
        show(results[-1])
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
