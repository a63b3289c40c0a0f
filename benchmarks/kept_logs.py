"""Does the interval hold if only some rows of a long log are kept? Simulated logs, each whole and with some rows kept.

    python -m benchmarks.kept_logs [--repeats N] [--jobs N] [--out FILE]

A log has 20,000 rows with six columns. Half of them were labelled with a chance of 0.10, the others with 0.01, so about
1,100 have a label. Of these, 400 are kept, and of the rows without a label 3,000. A Bayesian logistic regression learns
from the log, and 100,000 further rows show how wrong it is. Prints a Markdown table.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from unskew.data import LoggedData
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone, trust
from unskew.kept import Kept
from unskew.models.bayes import BayesianLogistic
from unskew.sampling import weights

ROWS, LABELLED, OTHERS, TEST = 20_000, 400, 3_000, 100_000
MEASURES = {
    "error": lambda flagged, y: np.mean(flagged != y),
    "recall": lambda flagged, y: np.mean(flagged[y]),
    "precision": lambda flagged, y: np.mean(y[flagged]),
}


def population(rng, rows):
    X = rng.normal(size=(rows, 6))
    y = rng.random(rows) < expit(3.0 * X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + X[:, 3] - 2.0)
    return X, y, np.where(X[:, 0] + 0.5 * X[:, 4] > 0, 0.10, 0.01)


def judged(log, seed):
    """The model of a log, and everyone as it judges them."""
    model = BayesianLogistic(random_state=seed).prepare(log.X, log.classes)
    v = weights.thinness(log.q0, log.revealed_q0, [], counts=log.counts, rate=log.rate)
    model.update(log.revealed_X, log.revealed_y, v, choose=True)
    held_out = model.held_out(log.revealed_X, log.revealed_y, v)
    known = np.flatnonzero(log.z)
    everyone = Everyone.judged(Design.of(log), model.log_odds(log.X), known, log.revealed_y, held_out)
    return model, replace(everyone, log=trust(log, everyone.margin))


def repeat(seed):
    """(rows, measure, value, truth, low, high) of one log, whole and with some rows kept."""
    with threadpool_limits(1):
        return _both(np.random.default_rng([77, seed]), seed)


def _both(rng, seed):
    X, y, q0 = population(rng, ROWS)
    z = rng.random(ROWS) < q0
    others, theirs, _ = population(rng, TEST)
    kinds = np.flatnonzero(z), np.flatnonzero(~z)
    few = np.concatenate([rng.choice(kind, k, False) for kind, k in zip(kinds, (LABELLED, OTHERS), strict=True)])
    found = []
    for name, rows, kept in (("all", np.arange(ROWS), None), ("some", few, Kept(*map(len, kinds)))):
        log = LoggedData(X[rows], np.where(z, y, np.nan)[rows], q0=q0[rows], classes=(0.0, 1.0), kept=kept)
        model, everyone = judged(log, seed)
        flagged = model.log_odds(others) >= 0.0
        for measure, true in MEASURES.items():
            e = everyone.estimate(measure)
            found.append((name, measure, e.value, true(flagged, theirs), e.low, e.high))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=640)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    with ProcessPoolExecutor(words.jobs) as pool:
        rows = [row for found in pool.map(repeat, range(words.repeats), chunksize=4) for row in found]
    lines = ["| rows of the log | measure | held in | mean width | value minus truth |", "|---|---|---:|---:|---:|"]
    for name, told in (("all 20,000", "all"), ("400 with a label, 3,000 without", "some")):
        for measure in MEASURES:
            value, truth, low, high = np.array([row[2:] for row in rows if row[:2] == (told, measure)]).T
            held = np.mean((low <= truth) & (truth <= high))
            figures = f"{100 * held:.1f} % | {100 * np.mean(high - low):.1f} | {100 * np.mean(value - truth):+.2f}"
            lines.append(f"| {name} | {measure} | {figures} |")
    text = "\n".join([*lines, "", f"{words.repeats} logs. Widths and differences are in points.", ""])
    print(text)
    if words.out is not None:
        words.out.write_text(text)


if __name__ == "__main__":
    main()
