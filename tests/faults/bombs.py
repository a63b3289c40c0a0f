"""Small files that become very much in memory: each is refused in one line, by a process that stays small."""

import gzip
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

ROWS, LENGTH = 3_000, 950_000
NEAR = 100_000
"""The length of texts that are all different, at their end."""
MEMORY = 1_000_000_000
"""Bytes that no process may take for a file that is refused."""
RUN = """
import re, resource, sys
from pathlib import Path
from unskew.cli import main
status = main(sys.argv[1:])
own = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]
print(f"\\nmemory {1024 * max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)}")
sys.exit(status)
"""
"""A command, and then the most memory that it or a process of its own took."""


@dataclass
class Bombed:
    """Files by kind and verdict, and the most memory that a process took."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    memory: int = 0
    faults: list[str] = field(default_factory=list)


def _table(note: object = None, **more: object) -> pa.Table:
    """A table that is as it should be, but for one column or several."""
    labels = ["yes", "no"] * (ROWS // 2)
    plain = {"id": [f"r{k}" for k in range(ROWS)], "age": [k % 90 for k in range(ROWS)], "label": labels}
    return pa.table({**plain, **({"note": note} if note is not None else {}), **more})


def _once(value: object, kind: pa.DataType) -> pa.Array:
    """A value that is written once and stands in all rows."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array([value], kind))


def _some(value: object) -> pa.Array:
    return pa.array([value] * (ROWS // 5) + [None] * (ROWS - ROWS // 5))


def _parquet(path: Path, table: pa.Table, **options: object) -> None:
    pq.write_table(table, path, **options)


def _arrow(path: Path, table: pa.Table) -> None:
    feather.write_feather(table, path, compression="zstd")


def _gzip(path: Path) -> None:
    line = b"r,1,yes," + b"x" * LENGTH + b"\n"
    with gzip.open(path, "wb") as file:
        file.write(b"id,age,label,note\n")
        for _ in range(ROWS // 5):
            file.write(line)


def bombs() -> dict[str, tuple[str, Callable[[Path], None]]]:
    """By kind: the ending of the file's name, and what writes it."""
    text = "x" * LENGTH
    once, short = _once(text, pa.string()), _once(text[: LENGTH // 8], pa.string())

    def near() -> pa.Table:
        return _table(pa.array([text[:NEAR] + str(k) for k in range(ROWS)], pa.large_string()))

    return {
        "a dictionary of one text": (".parquet", lambda path: _parquet(path, _table(once))),
        "a dictionary of bytes": (
            ".parquet", lambda path: _parquet(path, _table(_once(text.encode(), pa.binary()))),
        ),
        "many columns": (
            ".parquet", lambda path: _parquet(path, _table(**{f"note{k}": short for k in range(8)})),
        ),
        "several row groups": (
            ".parquet", lambda path: _parquet(path, _table(once), row_group_size=ROWS // 6),
        ),
        "texts in lists": (".parquet", lambda path: _parquet(path, _table(_some([text])))),
        "texts in structs": (".parquet", lambda path: _parquet(path, _table(_some({"a": text})))),
        "whole texts, packed": (
            ".parquet", lambda path: _parquet(path, near(), use_dictionary=False, compression="zstd"),
        ),
        "beginnings of texts": (
            ".parquet", lambda path: _parquet(
                path, near(), use_dictionary=False, column_encoding={"note": "DELTA_BYTE_ARRAY"}
            ),
        ),
        "an Arrow dictionary": (".arrow", lambda path: _arrow(path, _table(once))),
        "an Arrow file, packed": (".arrow", lambda path: _arrow(path, near())),
        "long lines in gzip": (".csv.gz", _gzip),
    }  # fmt: skip


def commands(folder: Path, bomb: Path, campaign: Path) -> dict[str, list[str]]:
    """Ways to read a file that somebody was given."""
    good, label = campaign.parent, ["--label", "label"]
    pool = folder / "pool"
    pool.mkdir(exist_ok=True)
    (pool / f"part{''.join(bomb.suffixes)}").write_bytes(bomb.read_bytes())
    known = ["--pool", str(good / "pool.parquet"), *label]
    start = ["start", str(folder / "new"), *label, "--budget", "9"]
    found = {
        "columns": ["columns", "--log", str(bomb), *known],
        "audit": ["audit", str(bomb), *label],
        "start, log": [*start, "--log", str(bomb), "--pool", str(good / "pool.parquet")],
        "start, pool": [*start, "--log", str(good / "log.parquet"), "--pool", str(bomb)],
        "predict": ["predict", str(campaign), str(bomb), "--out", str(folder / "out.csv")],
    }
    if bomb.suffix in (".parquet", ".arrow"):
        found["columns, a folder"] = ["columns", "--log", str(pool), *known]
        schema = pl.read_parquet_schema if bomb.suffix == ".parquet" else pl.read_ipc_schema
        if "note" in schema(bomb):  # a pool with other columns than the log's is refused for that
            log = str(good / "log.parquet")
            found["start, a pool in a folder"] = [*start, "--log", log, "--pool", str(pool)]
    return found


def _campaign(folder: Path) -> Path:
    """A campaign whose tables have the columns of the bombs."""
    from unskew.campaigns import Campaign

    rows = [(f"r{k}", k % 90, "yes" if k % 3 else "no", ("red", "blue")[k % 2]) for k in range(200)]
    frame = pl.DataFrame(rows, schema=["id", "age", "label", "note"], orient="row")
    frame.write_parquet(folder / "log.parquet")
    frame.drop("label").with_columns(id="p" + pl.col("id")).write_parquet(folder / "pool.parquet")
    Campaign.create(
        folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label="label",
        propensity=None, id="id", budget=9,
    ).close()  # fmt: skip
    return folder / "loans"


def throw(scratch: Path, *, kinds: Sequence[str], every_command: bool, tick: Callable[[int], None]) -> Bombed:
    """Give each kind of file to `unskew columns`, or to every command that reads files."""
    campaign, found = _campaign(scratch), Bombed()
    makers = bombs()
    for number, kind in enumerate(kinds):
        folder = scratch / str(number)
        folder.mkdir()
        ending, write = makers[kind]
        write(folder / f"bomb{ending}")
        ways = commands(folder, folder / f"bomb{ending}", campaign)
        verdicts = found.verdicts[kind] = Counter()
        for name, words in ways.items() if every_command else [*ways.items()][:1]:
            fault = _run(words, found)
            verdicts["faults" if fault else "refused"] += 1
            if fault:
                found.faults.append(f"{kind}, {name}: {fault}")
        shutil.rmtree(folder)
        tick(number + 1)
    return found


def _run(words: list[str], found: Bombed) -> str:
    """What is wrong with how a command ended; nothing if it refused in one line and stayed small."""
    done = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, check=False)
    memory = re.search(r"^memory (\d+)$", done.stdout, re.MULTILINE)
    if memory is None:
        return f"it ended with {done.returncode}: {done.stderr[-300:]}"
    took = int(memory[1])
    found.memory = max(found.memory, took)
    if took > MEMORY:
        return f"it took {took / 1e9:.1f} GB"
    if done.returncode != 2 or done.stderr.count("\n") != 1 or len(done.stderr) > 2_000:
        return f"it ended with {done.returncode}: {done.stderr[-300:]}"
    return "" if "the limit is" in done.stderr or "the most is" in done.stderr else done.stderr
