"""Pools of 1, 10 and 50 million rows: the time and memory of every command, of a look at all rows, and what it finds.

    python -m benchmarks.scale [--part commands|logs|look|rare ...] [--rows N ...] [--json FILE] [--out FOLDER]

- `commands` runs a campaign over a folder of Parquet files, 30 columns in single precision and an id. Each command is
  a process of its own, as it is for a person. Once it looks at all rows, once with `--look 50000`.
- `logs` measures commands on logs of 1 and 10 million rows, and of 100 million if that is named, and a linear model
  fed from record batches (`benchmarks.scale_logs`).
- `look` compares the choice of 20 rows from all with scikit-learn doing such arithmetic over the same record batches,
  and with Polars merely reading them (`benchmarks.scale_look`).
- `rare` counts the labels until a class of one row in 10,000 is found (`benchmarks.scale_rare`).

Files are made in a temporary folder (TMPDIR) and deleted afterwards: a pool of 50 million rows takes 7 GB. With
`--json`, figures are written to that file as they come, and those that it holds already are not measured again. So a
run that was stopped goes on where it was. With `--out`, tables are written to that folder.
"""

import argparse
import csv
import json
import os
import platform
import shutil
import statistics
import sys
import time
from pathlib import Path

from benchmarks.campaigns import run
from benchmarks.scale_pools import IDS, LOG, labels_of, pool_of
from benchmarks.scale_tables import steps_table
from unskew.pools.ids import PASS

PARTS = ("commands", "logs", "look", "rare")
SIZES = (1_000_000, 10_000_000, 50_000_000)
AT_ONCE, TURNS, LOOK = 20, 3, 50_000
GUESSED, MANY = (10**8, 10**9), 64
WAYS = {"all rows": (), "`--look 50000`": ("--look", LOOK)}
"""How a campaign looks at its pool, and the option that says so."""


def answer(asked, answers, folder):
    """Write a file with an answer for every row of a file that `ask` wrote."""
    with open(asked, newline="") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    with open(answers, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "label"])
        writer.writerows(zip(ids, labels_of(folder, [int(id[1:]) for id in ids]), strict=True))


def campaign(folder, option):
    """Run a campaign; the figures of each command, those of `tell` and the later `ask` several times."""
    work = folder / "work"
    work.mkdir()
    dir, asked, answers = work / "campaign", work / "asked.csv", work / "answers.csv"
    steps = {}

    def step(name, *words):
        found = run(*words)
        steps.setdefault(name, []).append(found)
        print(f"    {name}: {found.seconds:.1f} s, {found.memory:,.0f} MB", flush=True)

    files = ("--log", folder / "log.parquet", "--pool", folder / "pool", "--id", "id", "--label", "y")
    step("`start`", "start", dir, *files, "--propensity", "q0", "--budget", 1000, *option)
    step("first `ask`", "ask", dir, "-n", AT_ONCE, "--out", asked)
    for _ in range(TURNS):
        answer(asked, answers, folder)
        step(f"`tell` of {AT_ONCE} labels", "tell", dir, answers)
        step("`ask` after new labels", "ask", dir, "-n", AT_ONCE, "--out", asked)
    step("`report`", "report", dir, "--out", work / "report.html")
    if not option:  # it is the same work either way
        step("`predict` of all rows", "predict", dir, folder / "pool", "--out", work / "predictions.parquet")
    shutil.rmtree(work)
    return {
        name: {"seconds": statistics.median(r.seconds for r in runs), "memory": max(r.memory for r in runs)}
        for name, runs in steps.items()
    }


def commands(sizes, known, keep):
    """Measure all commands, by number of rows and way of looking."""
    for n in sizes:
        left = {way: option for way, option in WAYS.items() if f"{n} {way}" not in known}
        if left:
            with pool_of(n) as folder:
                for way, option in left.items():
                    keep(f"{n} {way}", campaign(folder, option))
    return {"scale_commands": commands_table(known)}


def commands_table(known):
    """Markdown lines, one for each way of looking and command."""
    lines = steps_table(known, "looks at | command")
    lines += [
        "",
        f"A log of {LOG:,} rows and 30 columns; {os.cpu_count()} cores, Python {platform.python_version()}. MB is the "
        f"most memory of the process. `tell` and the later `ask` are medians of {TURNS}, the others ran once. *Growth* "
        "is the time for the largest pool over that for the smallest; in brackets, the same of the number of rows. "
        "Files had just been written, so as far as they fit into memory, the disk was not waited for.",
    ]
    return lines


def extrapolated(known):
    """What the commands would take on pools that nobody measured: a straight line through the figures there are.

    `start` reads the ids once more for each 33 million rows (`unskew.pools.ids.PASS`), which a line does not show. So
    it needs the time for reading ids, from the part `look`.
    """
    steps = {int(key.split()[0]): found for key, found in known.get("commands", {}).items() if "all rows" in key}
    looks = {int(n): found[IDS] for n, found in known.get("look", {}).items()}
    if len(steps) < 2 or not looks:
        return {}
    an_id = looks[max(looks)] / max(looks)
    least, most, cores = min(steps), max(steps), os.cpu_count()
    lines = [
        f"| command | measured: {most / 1e6:g} million | each million | 100 million | 1 billion | with {MANY} cores |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in steps[least]:
        ids = [n * -(-n // PASS) * an_id if name == "`start`" else 0.0 for n in (least, most, *GUESSED)]
        first, last = (steps[n][name]["seconds"] - read for n, read in zip((least, most), ids, strict=False))
        slope = max(last - first, 0.0) / (most - least)
        begin, *grows = first - slope * least, *(slope * n + read for n, read in zip(GUESSED, ids[2:], strict=True))
        told = [shown(begin + part) for part in grows] + [shown(begin + grows[-1] * cores / MANY)]
        measured = shown(steps[most][name]["seconds"])
        lines.append(f"| {name} | {measured} | {1e6 * slope:.2f} s | {' | '.join(told)} |")
    lines += [
        "",
        f"Only the first column of figures is measured, on {cores} cores. The others are extrapolated: they lie on the "
        f"straight line through the times for {least / 1e6:g} and {most / 1e6:g} million rows, and for `start` the "
        f"further readings of ids are added. With {MANY} cores, what grows with the rows is divided among them, as if "
        "nothing else were in the way, such as a disk or a network.",
    ]
    return {"scale_billion": lines}


def shown(seconds):
    """Seconds as people say it."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="Large pools.")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--rows", type=float, nargs="+", help="sizes, such as 1e6; look and rare: 1e7, unless one is named"
    )
    parser.add_argument("--seeds", type=int, default=5, help="campaigns of each kind, for rare")
    parser.add_argument("--json", type=Path, help="keep figures in this file, and measure only those it lacks")
    parser.add_argument("--out", type=Path, help="also write the tables to this folder, such as docs/tables")
    options = parser.parse_args(arguments)
    known = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    sizes = [int(n) for n in options.rows] if options.rows else SIZES
    one = sizes[0] if len(sizes) == 1 else SIZES[1]
    for part in options.part:
        of_part = known.setdefault(part, {})

        def keep(key, figures, part=part, of_part=of_part):
            of_part[key] = figures
            print(f"  {part}, {key}: done at {time.strftime('%H:%M:%S')}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(known, indent=1) + "\n")

        begin = time.perf_counter()
        if part == "commands":
            tables = commands(sizes, of_part, keep)
        elif part == "logs":
            from benchmarks.scale_logs import SIZES as LOGS
            from benchmarks.scale_logs import logs

            tables = logs(sizes if options.rows else LOGS, of_part, keep)
        elif part == "look":
            from benchmarks.scale_look import look  # not before the commands: they would seem to need its memory

            tables = look(one, of_part, keep)
        else:
            from benchmarks.scale_rare import rare

            tables = rare(one, options.seeds, of_part, keep)
        for name, lines in (tables | extrapolated(known)).items():
            print("\n".join(["", *lines, ""]))
            if options.out:
                (options.out / f"{name}.md").write_text("\n".join(lines) + "\n")
        print(f"{part} took {(time.perf_counter() - begin) / 60.0:.1f} minutes", flush=True)


if __name__ == "__main__":
    sys.exit(main())
