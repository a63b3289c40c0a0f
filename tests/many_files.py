"""A log, and a pool of many Parquet files, for the tests of campaigns whose pool stays where it is."""

import numpy as np
import polars as pl

ROWS = 60_000


def table(rows, rng, first=0):
    x = rng.normal(size=(rows, 3))
    return pl.DataFrame(
        {
            "loan": [f"A{k:06}" for k in range(first, first + rows)],
            "x0": x[:, 0],
            "x1": pl.Series(np.where(rng.random(rows) < 0.1, np.nan, x[:, 1])).fill_nan(None),
            "x2": x[:, 2].astype(np.float32),
            "region": rng.choice(["north", "south", "west"], rows),
        }
    )


def paid(x0):
    return int(x0 > 0.3)


def told(rows):
    """Right answers, by row id."""
    return {row.id: paid(row.values["x0"]) for row in rows}


def write_log(path):
    """A log that saw mostly x0 > 0."""
    rng = np.random.default_rng(1)
    log = table(400, rng).drop("loan")
    q0 = np.where(log["x0"] > 0, 0.9, 0.2)
    labels = [paid(x) if z else None for x, z in zip(log["x0"], rng.random(400) < q0, strict=True)]
    log.with_columns(pl.Series("paid", labels), pl.Series("q0", q0)).write_parquet(path)
    return path


def whole_pool(rows=ROWS):
    return table(rows, np.random.default_rng(0))


def write_pool(folder, pool, files=8, groups=3000):
    """The rows in files of about the same size."""
    folder.mkdir()
    for k in range(files):
        part = pool[k * pool.height // files : (k + 1) * pool.height // files]
        part.write_parquet(folder / f"part-{k}.parquet", row_group_size=groups)
    return folder
