"""Logs of 1, 10 and 100 million rows, 1 % of them labelled: time and memory of `start`, `audit` and `partial_fit`.

A log is a folder of Parquet files with 30 columns in single precision, an id, a label that is mostly empty, and the
propensity. Where x00 is large, a label was recorded ten times as often as elsewhere, and what decides the label is not
the same. So a model that takes the labelled rows for everyone goes wrong. The pool has 20,000 rows.

Each command is a process of its own. Once the propensities are given, once the column is not in the files, and they are
estimated. `LinearClassifier.partial_fit` sees all labelled rows once, from record batches, with weights 1/q0:

    python -m benchmarks.scale_logs FOLDER weighted|plain

is that process. It prints the coefficients.
"""

import json
import os
import platform
import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.campaigns import run
from benchmarks.scale_pools import COLUMNS, FILE, GROUP, aside, made
from benchmarks.scale_tables import steps_table

SIZES = (1_000_000, 10_000_000)
POOL, TEST = 20_000, 200_000
EDGE, OFTEN, SELDOM = 0.125, 0.0265, 0.00265
"""How likely a label was to be recorded, where x00 is above the edge (three rows in ten) and elsewhere: 1 % in all."""

ETA = 0.0256
"""The learning rate of the linear model; the paper's methods have the same by default."""

SPACE = 100
"""Bytes of disk for a row: values of three decimals compress."""

TRAIN = [sys.executable, "-m", "benchmarks.scale_logs"]
WAYS = {"given": ("--propensity", "q0"), "estimated": ()}
AUDITED = ("naive_on_labelled_rows", "naive_on_everyone", "weighted_on_everyone")
LINEAR = ("linear, no weights", "linear, weights 1/q0")


def rows(n, seed):
    """n rows of 30 columns in single precision, about in [-1, 1], their labels, and how likely these were recorded."""
    rng = np.random.default_rng([23, *seed])
    X = np.round(rng.standard_normal((n, len(COLUMNS)), dtype=np.float32) / 4, 3)
    often = X[:, 0] > EDGE
    y = np.where(often, X[:, 1] + 0.5 * X[:, 2] > 0.0, X[:, 3] + 0.5 * X[:, 4] > 0.0) ^ (rng.random(n) < 0.05)
    return X, y.astype(np.uint8), np.where(often, OFTEN, SELDOM)


def write_file(folder, number, n, given):
    """One file of the log, with the propensities or without."""
    X, y, q0 = rows(n, [0, number])
    seen = np.random.default_rng([29, number]).random(n) < q0
    columns = {"y": pl.when(pl.Series(seen)).then(pl.Series(y)), "id": _ids(n, "r", number * FILE)}
    frame = pl.DataFrame(X, schema=COLUMNS).with_columns(**columns, **({"q0": pl.Series(q0)} if given else {}))
    (folder / "log").mkdir(exist_ok=True)
    frame.write_parquet(folder / "log" / f"part-{number:03d}.parquet", row_group_size=GROUP, compression="zstd")


def write_pool(folder):
    """The pool, and beside it the true labels."""
    X, y, _ = rows(POOL, [1])
    pl.DataFrame(X, schema=COLUMNS).with_columns(id=_ids(POOL, "p", 0)).write_parquet(folder / "pool.parquet")
    np.save(folder / "truth.npy", y)


def _ids(n, letter, first):
    return letter + (pl.int_range(n) + first).cast(pl.String)


def train(log, weighted):
    """A linear model that has seen every labelled row of the log once. Prints its coefficients and the labels."""
    import pyarrow.compute as pc  # here, so that the process that measures the commands stays small
    import pyarrow.parquet as pq

    from unskew.models.linear import LinearClassifier
    from unskew.sampling.weights import importance

    model, labels = LinearClassifier(eta=ETA, fit_intercept=True), 0
    for file in sorted(Path(log).glob("*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(columns=[*COLUMNS, "y", "q0"]):
            seen = batch.filter(pc.field("y").is_valid())
            weights = importance(seen["q0"]) if weighted else None
            model.partial_fit(seen.select(COLUMNS), seen["y"], classes=[0, 1], sample_weight=weights)
            labels += len(seen)
    print(json.dumps({"coef": model.coef_[0].tolist(), "intercept": model.intercept_[0], "labels": labels}))


def linear_error(printed):
    """The share of everyone that a linear model gets wrong, by its coefficients as they were printed."""
    model = json.loads(printed)
    X, y, _ = rows(TEST, [2])
    return float(np.mean((X @ np.array(model["coef"]) + model["intercept"] >= 0.0) != y))


def pool_error(folder):
    """The share of the pool that the campaign's model gets wrong."""
    predicted = pl.read_parquet(folder / "predictions.parquet")["prediction"].cast(pl.Int64).to_numpy()
    return float(np.mean(predicted != np.load(folder / "truth.npy")))


def measured(folder, way):
    """The figures of each command with propensities given or estimated, and how often models are wrong."""
    steps, log, pool, campaign = {}, folder / "log", folder / "pool.parquet", folder / "campaign"

    def step(name, *words, **options):
        found = run(*words, **options)
        steps[name] = {"seconds": found.seconds, "memory": found.memory}
        print(f"    {name}: {found.seconds:.1f} s, {found.memory:,.0f} MB", flush=True)
        return found.output

    named = ("--label", "y", "--id", "id", *WAYS[way])
    step("`start`", "start", campaign, "--log", log, "--pool", pool, *named)
    audit = json.loads(step("`audit`", "audit", log, *named, "--json"))
    run("predict", campaign, pool, "--out", folder / "predictions.parquet")
    models = {}
    if way == "given":
        models[LINEAR[0]] = run(log, "plain", command=TRAIN).output
        models[LINEAR[1]] = step("`partial_fit`", log, "weighted", command=TRAIN)
    with aside() as other:
        errors = {"start": other.submit(pool_error, folder).result()}
        errors |= {name: other.submit(linear_error, printed).result() for name, printed in models.items()}
    return {"steps": steps, "errors": audit["error"] | errors, "labels": audit["labels"]}


def logs(sizes, known, keep):
    """Measure all commands, by number of rows, with propensities given and estimated."""
    for n in sizes:
        for way in WAYS:
            if f"{n} {way}" not in known:
                with made(n, SPACE, write_pool, partial(write_file, given=way == "given")) as folder:
                    keep(f"{n} {way}", measured(folder, way))
    return {"scale_logs": table(known)}


def table(known):
    """Markdown lines: the time and memory of each command, then the errors."""
    lines = steps_table({key: found["steps"] for key, found in known.items()}, "propensities | command")
    lines += [
        "",
        f"Logs of 30 columns, 1 % of the rows labelled; a pool of {POOL:,} rows; {os.cpu_count()} cores, Python "
        f"{platform.python_version()}. Each command ran once, in a process of its own. MB is the most memory of that "
        "process. `partial_fit` is `LinearClassifier` over all labelled rows, from record batches. *Growth* is the "
        "time for the largest log over that for the smallest; in brackets, the same of the number of rows.",
        "",
        "| rows | labels | propensities | naive model, as it seems | naive model, by `audit` | weighted model, by "
        f"`audit` | model of `start`, in truth | {' | '.join(f'{name}, in truth' for name in LINEAR)} |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for key, found in known.items():
        n, way = key.split()
        errors = found["errors"]
        audited = [_interval(errors[name]) for name in AUDITED]
        true = [f"{100 * errors[name]:.1f} %" if name in errors else "" for name in ("start", *LINEAR)]
        cells = [f"{int(n):,}", f"{found['labels']:,}", way, *audited, *true]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "The share of rows that a model gets wrong, with intervals of 95 % where it is estimated. The naive model "
        "takes the labelled rows for everyone, and *as it seems* is its error on rows like these. The last three "
        f"columns are the truth, which only a simulation knows, on the {POOL:,} rows of the pool for `start` and on "
        f"{TEST:,} further rows for linear models. One label in twenty is wrong, so no model is better than 5 %.",
    ]
    return lines


def _interval(estimate):
    if estimate is None:
        return "not known"
    return f"{100 * estimate['value']:.1f} ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f}) %"


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2] == "weighted")
