"""Do the intervals hold if there are more than two classes? Simulated campaigns with 3, 5 and 10 classes.

    python -m benchmarks.many_classes [--repeats N] [--jobs N] [--out FILE]

A row has six numbers and belongs to the class with the highest of K random functions of them, plus noise. A log of
600 rows, of which about a third has a label by a skewed policy with known propensities, is followed by 120 labels from
a pool of 2,000 rows, asked for in rounds of 20. Then 20,000 further rows show how wrong the model is. Estimated are its
error, its log loss, recall and precision of each class, and the cells of the confusion matrix. Prints a Markdown table.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from unskew import LoggedData, Unskew

LOG, POOL, TEST = 600, 2_000, 20_000
BUDGET, ROUND = 120, 20
CLASSES = (3, 5, 10)
SEEN = 100
"""A class, prediction or cell with fewer test rows has no truth to compare with."""


def population(rng, rows, functions):
    A, B = functions
    X = rng.normal(size=(rows, 6))
    scores = 1.5 * X @ A + np.sin(2.0 * X @ B) + rng.gumbel(size=(rows, A.shape[1])) / 2.0
    return X, scores.argmax(axis=1), 0.6 * expit(1.5 * X[:, 0] + X[:, 1] - 0.5) + 0.05


def campaign(job):
    """(classes, measure, value, truth, low, high) of one campaign."""
    K, seed = job
    rng = np.random.default_rng([78, K, seed])
    functions = rng.normal(size=(2, 6, K))
    (X, y, q0), (pool, answer, _) = (population(rng, rows, functions) for rows in (LOG, POOL))
    test, truth, _ = population(rng, TEST, functions)
    z = rng.random(LOG) < q0
    with threadpool_limits(1):
        method = Unskew(random_state=seed).start(LoggedData(X, y, z, q0, classes=np.arange(K)), pool)
        for _ in range(BUDGET // ROUND):
            asked = method.ask(ROUND)
            method.tell(answer[asked])
        return [(K, *found) for found in _estimates(method, test, truth)]


def _estimates(method, test, truth):
    everyone, K = method.everyone(), method.log_.K
    p = method.model_.predict_proba(test)
    said, rows = p.argmax(axis=1), np.arange(len(truth))
    for measure, true in (("error", np.mean(said != truth)), ("log loss", -np.log(p[rows, truth]).mean())):
        yield _line(measure, everyone.estimate(measure.replace(" ", "_")), true)
    cells = everyone.confusion()
    for k in range(K):
        found = everyone.of_class(k)
        for measure, one, of, right in (
            ("recall of a class", found.recall, truth == k, said == k),
            ("precision of a class", found.precision, said == k, truth == k),
        ):
            if one is not None and of.sum() >= SEEN:
                yield _line(measure, one, np.mean(right[of]))
        for j in range(K):
            both = (truth == k) & (said == j)
            if both.sum() >= SEEN:
                yield _line("cell of the matrix", cells[k][j], np.mean(both))


def _line(measure, found, true):
    return measure, found.value, float(true), found.low, found.high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    jobs = [(K, seed) for seed in range(words.repeats) for K in CLASSES]
    with ProcessPoolExecutor(words.jobs) as workers:
        rows = [row for found in workers.map(campaign, jobs, chunksize=2) for row in found]
    lines = ["| classes | measure | held in | mean width | value minus truth |", "|---:|---|---:|---:|---:|"]
    for K in CLASSES:
        for measure in dict.fromkeys(row[1] for row in rows):
            value, truth, low, high = np.array([row[2:] for row in rows if row[:2] == (K, measure)]).T
            held = np.mean((low <= truth) & (truth <= high))
            unit = 1.0 if measure == "log loss" else 100.0
            figures = f"{100 * held:.1f} % | {unit * np.mean(high - low):.2f} | {unit * np.mean(value - truth):+.2f}"
            lines.append(f"| {K} | {measure} | {figures} |")
    text = "\n".join(
        [
            *lines,
            "",
            f"{words.repeats} campaigns each. Widths and differences are in points, of log loss as they are.",
            "",
        ]
    )
    print(text)
    if words.out is not None:
        words.out.write_text(text)


if __name__ == "__main__":
    main()
