"""A log that misleads: most labels come from rows for which a feature means the opposite of what it means elsewhere.

    python -m benchmarks.misled

There are twelve normal features. Where the first is positive, 8 of 10 labels are revealed, and the second feature
speaks for class +1. Elsewhere, 1 of 100 is revealed, and the second feature speaks against it, twice as strongly.
Prints the error on the whole population as a Markdown table: the mean over ten worlds and its standard error. Only the
scene itself was chosen with these figures in view.
"""

import numpy as np

from unskew import LoggedData, Unskew
from unskew.methods import MarginSampling, RandomLabels, WeightedMarginSampling

LOG, POOL, WORLDS, BATCH = 1000, 4000, 10, 20
MARKS = (0, 60, 120, 240)


class Unweighted(Unskew):
    """`Unskew` with the same weight for every label."""

    def weights(self, known):
        return np.ones(len(known.y))


def world(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(LOG + POOL, 12))
    seen = X[:, 0] > 0
    y = np.where(X[:, 1] * np.where(seen, 1.0, -2.0) + rng.normal(size=len(X)) > 0, 1.0, -1.0)
    q0 = np.where(seen, 0.8, 0.01)
    return LoggedData(X[:LOG], y[:LOG], rng.random(LOG) < q0[:LOG], q0[:LOG]), X[LOG:], y[LOG:], q0[LOG:]


def errors(kind, seed):
    """The error on the pool after each number of labels."""
    log, X, y, q0 = world(seed)
    method, found = kind(random_state=seed).start(log, X, q0), []
    while True:
        if method.labels_ in MARKS:
            found.append(np.mean(method.model_.predict(X) != y))
        if method.labels_ >= MARKS[-1]:
            return found
        method.tell(y[np.asarray(method.ask(BATCH))])


def main():
    print("| error after | " + " | ".join(f"{mark} labels" for mark in MARKS) + " |")
    print("|---|" + "---:|" * len(MARKS))
    for kind in (Unskew, Unweighted, MarginSampling, WeightedMarginSampling, RandomLabels):
        found = np.array([errors(kind, seed) for seed in range(100, 100 + WORLDS)])
        mean, se = found.mean(axis=0), found.std(axis=0, ddof=1) / WORLDS**0.5
        print(f"| {kind.__name__} | " + " | ".join(f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, se, strict=True)) + " |")


if __name__ == "__main__":
    main()
