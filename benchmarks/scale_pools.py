"""Large pools for `benchmarks.scale`: a folder of Parquet files, a log like it, and the true label of every row.

Files are made one at a time, so that memory does not grow with the pool. The truth has steps and an interaction, so
that the trees of the model have a weight, and a smooth part, so that the logistic regression has one too.
"""

import shutil
import signal
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

COLUMNS = [f"x{k:02d}" for k in range(30)]
FILE, GROUP, LOG = 1_000_000, 125_000, 20_000
"""Rows of a file, of a row group, and of the log."""

IDS = "Unskew: ids alone, read and hashed"
"""What part `look` calls a figure that part `commands` uses too."""

SPACE = 150
"""Bytes of disk for a row: 120 for the pool, the rest for ids, labels and predictions."""


def rows(n, seed):
    """n rows of 30 columns in single precision, and their labels 0 and 1; one in twenty is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(COLUMNS)), dtype=np.float32)
    steps = np.where(X[:, 0] > 0.5, 1.5, -0.5) + np.where((X[:, 1] > 0.0) == (X[:, 2] > 0.3), 1.0, -1.0)
    y = steps + X[:, 3] + np.sin(2.0 * X[:, 4]) > 0.0
    return X, (y ^ (rng.random(n) < 0.05)).astype(np.uint8)


def write_file(folder, number, n):
    """One file of the pool, with ids by which the rows of all files differ, and beside the pool its labels."""
    X, y = rows(n, [1, number])
    frame = pl.DataFrame(X, schema=COLUMNS).with_columns(id="r" + (pl.int_range(n) + number * FILE).cast(pl.String))
    (folder / "pool").mkdir(exist_ok=True)
    frame.write_parquet(folder / "pool" / f"part-{number:03d}.parquet", row_group_size=GROUP)
    np.save(folder / f"labels-{number:03d}.npy", y)


def write_log(folder):
    """A log of 20,000 rows. A label is known for about a quarter of them, mostly where x00 is large."""
    X, y = rows(LOG, 0)
    q0 = np.where(X[:, 0] > 0.5, 0.6, 0.05)
    seen = np.random.default_rng(2).random(LOG) < q0
    labels = pl.Series(np.where(seen, y, 2)).replace(2, None)
    pl.DataFrame(X, schema=COLUMNS).with_columns(y=labels, q0=pl.Series(q0)).write_parquet(folder / "log.parquet")


def labels_of(folder, numbers):
    """The true labels of rows of the pool."""
    whole = {
        number: np.load(folder / f"labels-{number:03d}.npy", mmap_mode="r") for number in {n // FILE for n in numbers}
    }
    return [int(whole[n // FILE][n % FILE]) for n in numbers]


def aside():
    """Another process, for what needs memory: a command's is at least that of the process it is forked from.

    It starts afresh, because Polars in a fork of a process that has used Polars may wait forever.
    """
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


@contextmanager
def made(n, space, write_once, write_file):
    """A temporary folder with files for n rows; it is deleted in the end, whatever happens.

    `write_once` takes the folder; `write_file` the folder, the number of a file and how many rows it has. A row
    takes up to `space` bytes of disk.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # an exception, as Ctrl-C is
    with tempfile.TemporaryDirectory(prefix="unskew-scale-") as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < space * n:
            sys.exit(f"{n:,} rows need {space * n / 1e9:.0f} GB in {folder.parent}; {free / 1e9:.0f} are free.")
        with aside() as other:
            other.submit(write_once, folder).result()
            for number in range(-(-n // FILE)):
                other.submit(write_file, folder, number, min(FILE, n - number * FILE)).result()
        yield folder


def pool_of(n):
    """A temporary folder that holds the log and a pool of n rows."""
    return made(n, SPACE, write_log, write_file)
