"""Intervals of `method.error()` for the paper's methods: how often they contain the error, on two kinds of log.

    OMP_NUM_THREADS=1 python -m benchmarks.held_out [--logs N]

*One line*: one noisy linear rule for all rows, with q0 growing along it. *Two groups*: for most people a feature speaks
for one class, for the others it speaks against it, and the log mostly shows the others. Methods are measured after
`start`, where `DBALw` and `DBALwm` equal `Passive`; `Passive` is also measured after a stream of 100 rows, all of which
it asks for. Prints a Markdown table, in which *truth* is the error on unseen rows.
"""

import argparse

import numpy as np

from unskew import LoggedData
from unskew.methods import IDBAL, VCDBAL, Passive, run

ROWS, OTHERS = 1_000, 5_000
RUNS = {
    "Passive": (Passive, "released", 0),
    "Passive, paper": (Passive, "paper", 0),
    "IDBAL": (IDBAL, "released", 0),
    "VCDBAL": (VCDBAL, "released", 0),
    "Passive, 100 more": (Passive, "released", 100),
    "Passive, paper, 100 more": (Passive, "paper", 100),
}


def one_line(rng):
    X = rng.uniform(-1.0, 1.0, (ROWS + OTHERS, 4))
    y = (X @ np.array([1.0, -0.5, 0.3, 0.0]) > 0.0) ^ (rng.random(len(X)) < 0.1)
    return X, y, np.clip(0.3 + 0.4 * X[:, 0], 0.05, 0.9)


def two_groups(rng):
    few = rng.random(ROWS + OTHERS) < 0.2
    X = np.column_stack([rng.uniform(-1.0, 1.0, (len(few), 3)), np.where(few, 1.0, -1.0)])
    y = (np.where(few, -1.0, 1.0) * X[:, 0] > 0.0) ^ (rng.random(len(X)) < 0.05)
    return X, y, np.where(few, 0.8, 0.05)


def one(world, kind, variant, streamed, seed):
    """The true error and its estimate for one log."""
    rng = np.random.default_rng([seed, 5])
    X, y, q0 = world(rng)
    log = LoggedData(X[:ROWS], y[:ROWS], rng.random(ROWS) < q0[:ROWS], q0[:ROWS])
    X, y, q0 = X[ROWS:], y[ROWS:], q0[ROWS:]
    method = kind(variant=variant, random_state=seed)
    method = run(method, log, (X[:streamed], q0[:streamed]), y[:streamed]) if streamed else method.start(log)
    found = method.error()
    return np.mean(method.model_.predict(X[streamed:]) != y[streamed:]), found.value, found.low, found.high


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=200, help="number of logs")
    logs = parser.parse_args().logs
    print("| log | method | truth, mean | its deviation | estimate, mean | held, % | width |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for world in (one_line, two_groups):
        for name, setting in RUNS.items():
            found = np.array([one(world, *setting, seed) for seed in range(logs)])
            truth, value, low, high = found.T
            held = 100.0 * np.mean((low <= truth) & (truth <= high))
            print(
                f"| {world.__name__.replace('_', ' ')} | {name} | {truth.mean():.3f} | {truth.std():.3f} "
                f"| {value.mean():.3f} | {held:.1f} | {np.mean(high - low):.3f} |"
            )


if __name__ == "__main__":
    main()
