"""A campaign on a pool of 1,000,000 x 30: how long each command takes when run from the shell.

    python -m benchmarks.campaigns [--pool ROWS] [--log ROWS] [--repeats N] [--out FILE]

Every command runs in its own process, as it does for a person, so the time includes starting Python. The columns are 24
numbers, some of them missing, 3 categories, 2 booleans and a date. Prints a Markdown table.
"""

import argparse
import csv
import os
import platform
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

COMMAND = [sys.executable, "-c", "import sys; from unskew.cli import main; sys.exit(main())"]
NUMBERS, AT_ONCE, MANY = 24, 20, 1000


def frame(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, NUMBERS))
    y = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(0, 0.5, rows) > 0).astype(int)
    X[:, NUMBERS - 4 :][rng.random((rows, 4)) < 0.05] = np.nan
    columns = {f"number_{k}": pl.Series(X[:, k]).fill_nan(None) for k in range(NUMBERS)}
    columns |= {f"category_{k}": rng.choice([f"{k}{c}" for c in "abcdef"], rows) for k in range(3)}
    columns |= {f"flag_{k}": rng.random(rows) < 0.5 for k in range(2)}
    columns["since"] = pl.Series(rng.integers(10_000, 20_000, rows)).cast(pl.Date)
    return pl.DataFrame(columns), y


def write(folder, log_rows, pool_rows):
    log, y = frame(log_rows, 0)
    q0 = np.where(log["number_0"] > 0, 0.6, 0.05)
    seen = np.random.default_rng(2).random(log_rows) < q0
    labels = [int(label) if z else None for label, z in zip(y, seen, strict=True)]
    log.with_columns(y=pl.Series(labels), q0=pl.Series(q0)).write_parquet(folder / "log.parquet")
    pool, y = frame(pool_rows, 1)
    pool.write_parquet(folder / "pool.parquet")
    return y


class Run(NamedTuple):
    """What a command used: seconds to its first line and to its end, processor time, peak memory in MB; its output."""

    first: float
    seconds: float
    processor: float
    memory: float
    output: bytes


def run(*words, command=COMMAND):
    start = time.perf_counter()
    child = subprocess.Popen([*command, *map(str, words)], stdout=subprocess.PIPE)
    try:
        output = child.stdout.readline()
        first = time.perf_counter() - start
        output += child.stdout.read()
        child.stdout.close()
        _, status, used = os.wait4(child.pid, 0)
    except BaseException:  # stopped: the command must not go on in a folder that is deleted
        child.kill()
        child.wait()
        raise
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} ended with status {child.returncode}")
    return Run(first, time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output)


def fill_in(path, truth):
    """Answer every row of a file that `ask` wrote."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label"])
        writer.writerows((row["id"], truth[int(row["id"].removeprefix("row-")) - 1]) for row in rows)


def measure(folder, log_rows, pool_rows, repeats):
    """For each step, its target in seconds and its measurements, one per repeat."""
    with ProcessPoolExecutor(1) as aside:  # a command's memory is at least that of the process it is forked from
        truth = aside.submit(write, folder, log_rows, pool_rows).result()
    dir, rows, many = folder / "campaign", folder / "rows.csv", folder / "many.csv"
    budget = (repeats + 1) * (MANY + AT_ONCE) + AT_ONCE
    files = ("--log", folder / "log.parquet", "--pool", folder / "pool.parquet")
    steps = {
        "`start`": (None, [run("start", dir, *files, "--label", "y", "--propensity", "q0", "--budget", budget)]),
        f"first `ask -n {AT_ONCE}`": (None, [run("ask", dir, "-n", AT_ONCE, "--out", rows, "--overwrite")]),
    }
    repeated = {
        f"`ask -n {AT_ONCE}` again, the same rows": 5.0,
        f"`tell` of {AT_ONCE} labels": 2.0,
        f"`ask -n {AT_ONCE}` after new labels": 5.0,
        f"`ask -n {MANY:,}`": None,
        f"`tell` of {MANY:,} labels": 2.0,
        "`status`": None,
        "`report`": None,
    }
    times = {name: [] for name in repeated}
    for _ in range(repeats):
        taken = [run("ask", dir, "-n", AT_ONCE, "--out", rows, "--overwrite")]
        fill_in(rows, truth)
        taken.append(run("tell", dir, rows))
        taken.append(run("ask", dir, "-n", AT_ONCE, "--out", rows, "--overwrite"))
        taken.append(run("ask", dir, "-n", MANY, "--by", "many", "--out", many, "--overwrite"))
        fill_in(many, truth)
        taken.append(run("tell", dir, many, "--by", "many"))
        taken.append(run("status", dir))
        taken.append(run("report", dir, "--out", folder / "report.html"))
        for name, found in zip(repeated, taken, strict=True):
            times[name].append(found)
    return steps | {name: (target, times[name]) for name, target in repeated.items()}


def table(steps, log_rows, pool_rows, repeats):
    lines = [
        "| command | target | seconds | longest | processor | memory, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]

    def line(name, target, seconds, processor, memory):
        wanted = "" if target is None else f"{target:g}"
        lines.append(f"| {name} | {wanted} | {np.median(seconds):.1f} | {max(seconds):.1f} | {processor} | {memory} |")

    for name, (target, runs) in steps.items():
        processor = f"{np.median([run.processor for run in runs]):.1f}"
        memory = f"{round(max(run.memory for run in runs), -1):,.0f}"
        if "tell" in name:  # it first confirms that the labels are stored, then learns from them
            line(f"{name}, until they are in the ledger", target, [run.first for run in runs], "", "")
            line(f"{name}, until the model has learnt and its error is known", None, [r.seconds for r in runs],
                 processor, memory)  # fmt: skip
        else:
            line(name, target, [run.seconds for run in runs], processor, memory)
    told = (
        f"A pool of {pool_rows:,} rows and a log of {log_rows:,}, 30 columns; {os.cpu_count()} cores, Python "
        f"{platform.python_version()}. Every command is a process of its own, started and ended within the time; "
        f"median and longest of {repeats}, but `start` and the first `ask` happen once."
    )
    return "\n".join([*lines, "", told])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaigns", description="Commands on a large pool.")
    parser.add_argument("--pool", type=int, default=1_000_000, help="number of rows in the pool")
    parser.add_argument("--log", type=int, default=5_000, help="number of rows in the log")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        steps = measure(Path(folder), options.log, options.pool, options.repeats)
    text = table(steps, options.log, options.pool, options.repeats)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
