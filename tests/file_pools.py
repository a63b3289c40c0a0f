"""Pools in files, cut in several ways, and what is made of their rows. Worker processes import this."""

import os
import signal
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unskew.pools.files import FilePool, find_files
from unskew.pools.text_files import numbers

COLUMNS = ("a", "b", "kind")
ROWS = 5000


def table(rows=ROWS):
    """Rows with ids, some of them with blanks around."""
    rng = np.random.default_rng(0)
    ids = [f" row-{i}" if i % 7 == 0 else f"row-{i}" for i in range(rows)]
    a, b = rng.standard_normal((2, rows))
    return pl.DataFrame({"a": a, "b": b, "kind": rng.choice(["x", "y"], rows), "id": ids})


def write(folder, frame, files=3, group=700, name="part-{}.parquet"):
    """The rows of a frame in some files, cut evenly."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, frame.height, files + 1).astype(int)
    for i, (start, end) in enumerate(pairwise(cuts)):
        frame[start:end].write_parquet(folder / name.format(i), row_group_size=group)
    return folder


def read(raw):
    return raw.with_columns(pl.col("a") * 2.0)


def encode(frame):
    return np.column_stack([frame["a"], frame["b"], frame["kind"] == "x"]).astype(np.float64)


def pool(source, id="id", read=read):
    return FilePool(find_files(source), read, encode, columns=COLUMNS, id=id)


def read_text(raw):
    return read(numbers(["a", "b"], raw))


def text_pool(folder):
    """The rows of `table` in CSV files, cut otherwise."""
    folder.mkdir()
    for k, part in enumerate((table()[:10], table()[10:3000], table()[3000:])):
        part.write_csv(folder / f"part-{k}.csv")
    return FilePool(find_files(folder), read_text, encode, columns=COLUMNS, id="id")


def summary(block):
    """Whole-number sums, and the five rows with the largest first feature."""
    first = sorted(zip(-block.X[:, 0], block.keys, strict=True))[:5]
    return int(np.rint(block.X * 2.0**30).sum()), len(block.places), first


def merged(one, other):
    return one[0] + other[0], one[1] + other[1], sorted(one[2] + other[2])[:5]


def answer(of):
    """All that a round would ask of a pool."""
    drawn = of.sample(50, seed=3)
    return of.scan(summary, merged), of.frame(drawn).rows(), of.keys(drawn).tolist(), of.features(drawn).tolist()


def killing(marker, block):
    """A summary that ends its process the first time that it is asked for."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return summary(block)


def killed_once(of, marker):
    return of.scan(partial(killing, str(marker)), merged)


def refused(kind, use, *told):
    """The message of the error that `use` raises: one line, with all that is told."""
    with pytest.raises(kind) as error:
        use()
    message = str(error.value)
    assert "\n" not in message and all(str(part) in message for part in told), message
    return message
