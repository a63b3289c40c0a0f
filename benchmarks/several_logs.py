"""Which propensities suit several logs? Two simulated logs with policies of their own, taken together in three ways.

    python -m benchmarks.several_logs [--repeats N] [--jobs N] [--out FILE]

Each log has 1,000 rows with four columns. One policy labelled rows with a large first column; the other labelled fewer,
those with a large second column. Nobody recorded propensities. They are estimated

- own: within each log, Q_k(x) of the log that a row is in;
- pooled: from both logs as if they were one;
- mixture: sum_k m_k Q_k(x) / sum_k m_k, from the estimates within each (the balance heuristic).

In the first scene both logs are samples of the same people. In the second, the people of the second log are more often
positive, and no column says so. Everyone is then the people of both logs. A Bayesian logistic regression learns from
the labels, and 50,000 further rows show how wrong it is. Prints a Markdown table.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

from unskew.data import LoggedData
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.models.bayes import BayesianLogistic
from unskew.sampling import weights
from unskew.sampling.policies import FLOOR

ROWS, TEST = 1_000, 50_000
SCENES = {"the same people": 0.0, "other people": 2.0}
WAYS = ("own", "pooled", "mixture")


def people(rng, rows, shift):
    X = rng.normal(size=(rows, 4))
    return X, rng.random(rows) < expit(2.0 * X[:, 0] + 1.5 * X[:, 1] * X[:, 2] - 1.0 + shift)


def chances(X, z, fit, rest):
    """Propensities of some rows by a model of others, with squares: a mixture of two logistic rules is not one."""
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression()).fit(X[fit], z[fit])
    return np.maximum(model.predict_proba(X[rest])[:, 1], FLOOR)


def propensities(X, z, which, seed):
    """For each way, the propensities of all rows."""
    pooled, Q = np.empty(len(z)), np.empty((len(z), 2))
    for fit, rest in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, 2 * which + z):
        pooled[rest] = chances(X, z, fit, rest)
        for k in (0, 1):
            Q[rest, k] = chances(X, z, fit[which[fit] == k], rest)
    return {
        "own": Q[np.arange(len(z)), which],
        "pooled": pooled,
        "mixture": Q @ (np.bincount(which) / len(which)),
    }


def judged(X, y, z, q0, seed):
    """The model of a log, and its error on everyone."""
    log = LoggedData(X, np.where(z, y, np.nan), q0=q0, classes=(0.0, 1.0), q0_estimated=True)
    model = BayesianLogistic(random_state=seed).prepare(log.X, log.classes)
    v = weights.thinness(log.q0, log.revealed_q0, [])
    model.update(log.revealed_X, log.revealed_y, v, choose=True)
    held_out = model.held_out(log.revealed_X, log.revealed_y, v)
    known = np.flatnonzero(log.z)
    everyone = Everyone.judged(Design.of(log), model.log_odds(log.X), known, log.revealed_y, held_out, log="estimated")
    return model, everyone.estimate()


def repeat(seed):
    """(scene, way, value, truth, low, high) for one pair of logs in each scene."""
    found = []
    with threadpool_limits(1):
        for scene, shift in SCENES.items():
            rng = np.random.default_rng([78, seed])
            parts = [people(rng, ROWS, 0.0), people(rng, ROWS, shift)]
            X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
            which = np.repeat([0, 1], ROWS)
            Q = np.where(which == 0, expit(1.5 * X[:, 0]), expit(1.5 * X[:, 1] - 2.0))
            z = rng.random(len(y)) < Q
            tests = [people(rng, TEST // 2, 0.0), people(rng, TEST // 2, shift)]
            others, theirs = (np.concatenate(part) for part in zip(*tests, strict=True))
            for way, q0 in propensities(X, z, which, seed).items():
                model, e = judged(X, y, z, q0, seed)
                truth = np.mean((model.log_odds(others) >= 0.0) != theirs)
                found.append((scene, way, e.value, truth, e.low, e.high))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    with ProcessPoolExecutor(words.jobs) as pool:
        rows = [row for found in pool.map(repeat, range(words.repeats), chunksize=2) for row in found]
    lines = ["| the two logs | propensities | held in | mean width | value minus truth |", "|---|---|---:|---:|---:|"]
    for scene in SCENES:
        for way in WAYS:
            value, truth, low, high = np.array([row[2:] for row in rows if row[:2] == (scene, way)]).T
            held = np.mean((low <= truth) & (truth <= high))
            figures = f"{100 * held:.1f} % | {100 * np.mean(high - low):.1f} | {100 * np.mean(value - truth):+.2f}"
            lines.append(f"| {scene} | {way} | {figures} |")
    text = "\n".join([*lines, "", f"{words.repeats} pairs of logs. Widths and differences are in points.", ""])
    print(text)
    if words.out is not None:
        words.out.write_text(text)


if __name__ == "__main__":
    main()
