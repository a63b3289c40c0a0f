"""How small gamma_0, the constant in Delta_k, can be before Algorithm 1 loses the best classifier.

    python -m benchmarks.gamma_0 [--runs R] [--out docs]

This writes docs/tables/gamma_0.md, in about half a minute of one core. `ExactIDBAL` runs on six random domains, with a
fresh log and stream each time. A domain has 8 points with random probabilities and a random logging policy, labels that
are wrong with probability 0.1 or 0.3, and a class of 32 random classifiers, less those that are drawn twice. For each
gamma_0 there are the share of the runs in which h* is in the last candidate set V_K, the mean share of the classifiers
that are no longer in it, and the mean number of labels bought. Each of them is shown for the domain with the least and
the domain with the largest value.
"""

import argparse
from pathlib import Path

import numpy as np

from unskew import ExactIDBAL, LoggedData, run
from unskew.theory import GAMMA_0, Domain

POINTS, CLASSIFIERS = 8, 32
M, N, DELTA = 200, 63, 0.1
DOMAINS, RUNS = 6, 400
VALUES = (GAMMA_0, 1.0, 0.3, 0.1, 0.03)


def domain(seed):
    rng = np.random.default_rng(seed)
    H = np.unique(rng.integers(2, size=(CLASSIFIERS, POINTS)), axis=0)
    eta = rng.choice([0.1, 0.3, 0.7, 0.9], POINTS)
    return Domain(rng.dirichlet(np.ones(POINTS)), eta, rng.uniform(0.1, 1.0, POINTS), H)


def one(X, gamma_0, seed):
    """A run: whether h* is in V_K, the share of H that is not, and the labels bought."""
    rng = np.random.default_rng(seed)
    x = rng.choice(POINTS, M + N, p=X.p)
    y, z, q0 = rng.random(M + N) < X.eta[x], rng.random(M) < X.Q0[x[:M]], X.Q0[x]
    log = LoggedData(x[:M, None], y[:M], z, q0[:M], classes=(False, True))
    method = ExactIDBAL(X.H, delta=DELTA, gamma_0=gamma_0, domain=(np.arange(POINTS)[:, None], X.Q0))
    run(method, log, (x[M:, None], q0[M:]), y[M:])
    V = method.history_[-1].V
    return X.h_star in V, 1.0 - len(V) / len(X.H), method.labels_


def measure(runs):
    """For each gamma_0 and domain, the means over the runs: h* kept, classifiers removed, labels."""
    domains = [domain(seed) for seed in range(DOMAINS)]
    found = [
        [np.mean([one(X, gamma_0, [k, r]) for r in range(runs)], axis=0) for k, X in enumerate(domains)]
        for gamma_0 in VALUES
    ]
    return np.array(found), [len(X.H) for X in domains]


def table(found, sizes, runs):
    lines = ["| gamma_0 | h\\* is kept | classifiers removed | labels bought |", "|---|---:|---:|---:|"]
    for gamma_0, means in zip(VALUES, found, strict=True):
        low, high = means.min(axis=0), means.max(axis=0)
        shares = [f"{100 * a:.0f} to {100 * b:.0f} %" for a, b in zip(low[:2], high[:2], strict=True)]
        name = f"{gamma_0:.2f}, as derived" if gamma_0 == GAMMA_0 else f"{gamma_0:g}"
        lines.append(f"| {name} | {shares[0]} | {shares[1]} | {low[2]:.0f} to {high[2]:.0f} of {N} |")
    worst = 100 * np.sqrt((found[..., 0] * (1 - found[..., 0]) / runs).max())
    lines += [
        "",
        f"The least and the largest mean over {runs} runs among {len(sizes)} random domains with {POINTS} points and "
        f"{min(sizes)} to {max(sizes)} classifiers, m = {M}, n = {N}, delta = {DELTA}. The standard error of a share "
        f"in the second column is at most {worst:.1f} points.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gamma_0", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    options = parser.parse_args(arguments)
    text = table(*measure(options.runs), options.runs)
    (options.out / "tables" / "gamma_0.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
