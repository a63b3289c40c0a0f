"""A class of one row in 10,000 in a pool of 10,000,000: the labels it takes to find some of it.

The pool has 10 columns of noise. Positives form three clusters at a distance of about 5 from the middle of all rows.
A policy that avoided such rows made the log: it reveals the labels of about a thousand rows. One of them is made to be
a positive, since without any, there is nothing to look for.
The campaign asks for 20 rows a round. One looks at all rows, one at 50,000 drawn anew each round (`look=50_000`), and
they start from the same log, model and seed. Labels are counted in the order in which they are asked for.
"""

import numpy as np

from unskew import LoggedData, Unskew
from unskew.pools import MemoryPool

D, CLUSTERS, AWAY, TIGHT = 10, 3, 5.0, 0.5
SHARE, LOG, LOOK, AT_ONCE, BUDGET = 1e-4, 20_000, 50_000, 20, 400
FOUND = (1, 5, 20)
WAYS = {"all rows": 0, f"{LOOK:,} rows": LOOK}


def rows(n, centres, rng, positives):
    """n rows, of which this number are positive, and their labels -1.0 and 1.0."""
    X = rng.standard_normal((n, D), dtype=np.float32)
    at = rng.choice(n, positives, replace=False)
    X[at] = centres[rng.integers(CLUSTERS, size=positives)] + TIGHT * X[at]
    y = np.full(n, -1.0, dtype=np.float32)
    y[at] = 1.0
    return X, y


def population(n, seed):
    """A log that hardly shows the class, and a pool."""
    rng = np.random.default_rng([17, seed])
    centres = rng.standard_normal((CLUSTERS, D))
    centres = (AWAY * centres / np.linalg.norm(centres, axis=1, keepdims=True)).astype(np.float32)
    X, y = rows(LOG, centres, rng, round(LOG * SHARE))
    q0 = np.where(np.linalg.norm(X, axis=1) > 4.5, 0.005, 0.05)
    z = rng.random(LOG) < q0
    z[np.flatnonzero(y > 0.0)] = False
    z[np.flatnonzero(y > 0.0)[0]] = True
    log = LoggedData(X, np.where(z, y, np.nan), z, q0, classes=(-1.0, 1.0))
    return log, rows(n, centres, rng, round(n * SHARE))


def campaign(log, X, y, look, seed):
    """The number of labels after which the first, the fifth and the twentieth positive were found; None if not."""
    method = Unskew(look=look, random_state=seed)
    method.start_checked(log, MemoryPool(X))
    labels = []
    while len(labels) < BUDGET and sum(labels) < max(FOUND):
        told = y[method.ask_checked(AT_ONCE).positions]
        method.tell_checked(told.astype(np.float64))
        labels += (told > 0.0).tolist()
    after = np.flatnonzero(labels) + 1
    return [int(after[k - 1]) if len(after) >= k else None for k in FOUND]


def rare(n, seeds, known, keep):
    """The labels needed by each way of looking, and a table of them."""
    for seed in range(seeds):
        left = {way: look for way, look in WAYS.items() if f"{n} {seed} {way}" not in known}
        if left:
            log, (X, y) = population(n, seed)
            for way, look in left.items():
                keep(f"{n} {seed} {way}", campaign(log, X, y, look, seed))
    return {"scale_rare": table(n, known)}


def table(n, known):
    lines = ["| looks at | " + " | ".join(f"{k} found" for k in FOUND) + " | campaigns |"]
    lines.append("|---|" + "---:|" * (len(FOUND) + 1))
    for way in WAYS:
        found = [needed for key, needed in known.items() if key.split(" ", 2)[::2] == [str(n), way]]
        lines.append(f"| {way} | {' | '.join(map(told, zip(*found, strict=True)))} | {len(found)} |")
    said = (
        f"Labels until this number of rows of a class with one row in {1 / SHARE:,.0f} were found, in a pool of "
        f"{n:,} rows: the median of the campaigns, and the least and the most. A campaign ended after {BUDGET} labels."
    )
    return [*lines, "", said]


def told(needed):
    """The median, least and most; labels that were not enough count as more than any."""
    order = sorted(BUDGET + 1 if labels is None else labels for labels in needed)
    shown = [f"over {BUDGET}" if labels > BUDGET else str(labels) for labels in order]
    return f"{shown[len(order) // 2]} ({shown[0]} to {shown[-1]})"
