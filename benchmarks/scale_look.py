"""The choice of 20 rows from all rows of a pool in files, next to scikit-learn and Polars on the same files.

All look at every row of the pool once:

- Unskew: `pick(20)` over a `FilePool`: one scan, after which 10 rows are chosen and 10 drawn. Three models: that of 200
  labels alone; that of a log with 4,400 labels and 200 more; and the logistic regression alone, with the same labels.
- scikit-learn: for each block of rows, `StandardScaler`, `RBFSampler`, the decision function of `LogisticRegression`
  and `argpartition` of |margin|, of which the best 20 are kept. Everything is in single precision. The files are
  cut, read by Polars and given to threads exactly as for Unskew; linear algebra has one thread in each.
- Polars: a streaming scan that sums up each column.
- Ids: how long it takes to read and hash the ids alone.

scikit-learn runs twice: with a random feature for each of our frequencies, which are a cosine without a sine, and with
one for each of our cosines and sines. Unskew does more: it reads and hashes the ids, makes doubt and score of a sketch
of the posterior covariance, asks 50 trees if they have a weight, and keeps the rows that are drawn.

They take turns, and the table shows medians.
"""

import statistics
import time

import joblib
import numpy as np
import polars as pl
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.scale_pools import COLUMNS, IDS, labels_of, pool_of
from unskew import LoggedData, Unskew
from unskew.models.bayes import BayesianLogistic
from unskew.models.team import Team
from unskew.pools.files import FilePool, find_files
from unskew.pools.scanning import BLOCK, spread

K, BOUGHT, TURNS = 20, 200, 3
BY_HAND, POLARS = "scikit-learn", "Polars: sums of the columns"


def as_read(frame):
    return frame


def encode(frame):
    return frame.select(COLUMNS).to_numpy()


def log_of(folder, labelled):
    """The log, with or without its labels."""
    log = pl.read_parquet(folder / "log.parquet")
    y = log["y"] if labelled else pl.repeat(None, log.height, eager=True)
    return LoggedData(log.select(COLUMNS).to_numpy(), y.to_list(), q0=log["q0"].to_numpy(), classes=(0, 1))


def started(folder, log, model=None):
    """`Unskew` over the files, with the labels of 200 rows."""
    pool = FilePool(find_files(folder / "pool"), as_read, encode, columns=COLUMNS, id="id")
    method = Unskew(model=model, random_state=0)
    method.start_checked(log, pool)
    batch = method.ask_checked(BOUGHT)
    method.tell_checked(2.0 * np.array(labels_of(folder, batch.positions.tolist())) - 1.0)
    return method


def parts(model):
    """What a look has to compute with this model."""
    logistic = model.members_[0] if isinstance(model, Team) else model
    fourier = logistic.prior_.width is not None
    trees = isinstance(model, Team) and bool(model.weights_[1:].any())
    return "linear" + fourier * ", cosines and sines" + trees * ", trees"


class ByHand:
    """Margin sampling with scikit-learn over a pool in files."""

    def __init__(self, method, components):
        known, logistic = method.state_, method.state_.model.members_[0]
        width = logistic.features_.median * (logistic.prior_.width or 1.0)
        X = np.asarray(known.X, dtype=np.float32)
        self.scaler = StandardScaler().fit(np.asarray(method.log_.X, dtype=np.float32))
        self.sampler = RBFSampler(gamma=0.5 / width**2, n_components=components, random_state=0)
        F = self.sampler.fit_transform(self.scaler.transform(X))
        self.model = LogisticRegression(max_iter=1000).fit(F, known.y)
        self.pool = method.pool_

    def __call__(self):
        stretches = self.pool.stretches
        with threadpool_limits(1):
            return spread(self._visit, ((stretch.rows, stretch) for stretch in stretches), _best)

    def _visit(self, stretch):
        X = stretch.raw(COLUMNS).to_numpy()
        found = np.empty((2, 0))
        for first in range(0, len(X), BLOCK):
            F = self.sampler.transform(self.scaler.transform(X[first : first + BLOCK]))
            margin = np.abs(self.model.decision_function(F))
            near = np.argpartition(margin, K)[:K]
            found = _best(found, np.array([margin[near], stretch.place + first + near]))
        return found


def _best(one, other):
    both = np.concatenate((one, other), axis=1)
    return both[:, np.argpartition(both[0], K)[:K]] if both.shape[1] > K else both


def polars_scan(folder):
    lazy = pl.scan_parquet(folder / "pool" / "*.parquet").select(pl.col(COLUMNS).sum())
    return lambda: lazy.collect(engine="streaming")


def picked(method):
    return lambda: method.pick(np.concatenate([batch.positions for batch in method.rounds_]), K)


def contenders(folder):
    """The runs, each with a name; the first one by scikit-learn is what the others are compared with."""
    log = log_of(folder, True)
    methods = [started(folder, log_of(folder, False)), started(folder, log), started(folder, log, BayesianLogistic())]
    team = methods[1]
    frequencies = team.state_.model.members_[0].features_.sizes[1] // 2
    named = {
        f"Unskew, {len(method.state_.y):,} labels: {parts(method.state_.model)}": picked(method) for method in methods
    }
    return named | {
        f"{BY_HAND}: {frequencies} random features": ByHand(team, frequencies),
        f"{BY_HAND}: {2 * frequencies} random features": ByHand(team, 2 * frequencies),
        POLARS: polars_scan(folder),
        IDS: lambda: team.pool_.sample(K),
    }


def look(n, known, keep):
    """The seconds of each contender, and a table of them."""
    if str(n) not in known:
        with pool_of(n) as folder:
            runs = contenders(folder)
            seconds = {name: [] for name in runs}
            for turn in range(TURNS + 1):
                for name, run in runs.items():
                    begin = time.perf_counter()
                    run()
                    if turn:  # the first one includes compiling
                        seconds[name].append(time.perf_counter() - begin)
        keep(str(n), {name: statistics.median(taken) for name, taken in seconds.items()})
    return {"scale_look": table(n, known[str(n)])}


def table(n, seconds):
    """Markdown lines, one for each contender."""
    theirs = [taken for name, taken in seconds.items() if name.startswith(BY_HAND)]
    lines = ["| | seconds | million rows a second | over scikit-learn | over Polars |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {name} | {taken:.1f} | {n / taken / 1e6:.2f} | {' and '.join(f'{taken / other:.2f}' for other in theirs)} "
        f"| {taken / seconds[POLARS]:.1f} |"
        for name, taken in seconds.items()
    ]
    told = (
        f"{n:,} rows of {len(COLUMNS)} columns in single precision, on {joblib.cpu_count()} threads; medians of "
        f"{TURNS}, taking turns. *Over scikit-learn* is the time over that of scikit-learn with fewer and with more "
        "random features. Unskew alone reads and hashes ids, keeps rows that are drawn, and computes a sketch of the "
        "posterior covariance; and trees, where they are named."
    )
    return [*lines, "", told]
