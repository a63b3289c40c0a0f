"""The campaign that is to be broken, and the notes of those who work on it."""

import zlib
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl

from web_page import applicants

ROUND = 60
"""Rows of a round that is planned in advance: about what the page plans for 20 annotators."""
ID, LABEL, CLASSES = "application", "repaid", ("no", "yes")


def truth(id: str) -> str:
    """The right answer for a row: always the same, whoever is asked."""
    return CLASSES[zlib.crc32(id.encode()) % 2]


def write_tables(folder: Path, *, pool: int, log: int = 200) -> None:
    """A log that reveals half of its labels, and a pool."""
    folder.mkdir(parents=True, exist_ok=True)
    seen = pl.Series(np.random.default_rng(2).random(log) < 0.5)
    rows = applicants(log, 1).with_columns(pl.when(seen).then(LABEL).alias(LABEL), pl.lit(0.5).alias("q0"))
    rows.write_parquet(folder / "log.parquet")
    applicants(pool, 3).drop(LABEL).write_parquet(folder / "pool.parquet")


def begin(folder: Path, *, budget: int, pool: int = 4000, store: str | None = None, planned: int = 0) -> Path:
    """A campaign in `folder`/loans, with that number of rows planned already."""
    from unskew.campaigns import Campaign

    write_tables(folder, pool=pool)
    with Campaign.create(
        folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label=LABEL, propensity="q0",
        id=ID, budget=budget, lease=timedelta(hours=2), classes=CLASSES, store=store, drawn=0.2,
    ) as campaign:  # fmt: skip
        for _ in range(planned // ROUND):
            campaign.plan(ROUND)
    return folder / "loans"


class Notes:
    """What somebody was told was taken in, a line each: written only once that was acknowledged.

    Before an answer is changed or taken back, that is noted too: until the next note, either may count.
    """

    def __init__(self, file: Path) -> None:
        self._file = open(file, "a")  # noqa: SIM115  # as long as its owner lives

    def taken(self, answers: dict[str, str | None]) -> None:
        self._write(f"{id},{label or ''}" for id, label in answers.items())

    def changing(self, id: str) -> None:
        self._write([f"{id},?"])

    def odd(self, what: str) -> None:
        """Something that must not happen."""
        self._write([f"!{' '.join(what.split())[-600:]}"])

    def _write(self, lines: Iterable[str]) -> None:
        self._file.write("".join(f"{line}\n" for line in lines))
        self._file.flush()


def read_notes(folder: Path) -> tuple[dict[str, str | None], int, list[str]]:
    """What must be in the ledger by row, how many answers were acknowledged, and what was odd."""
    said: dict[str, str | None] = {}
    taken, odd = 0, []
    for file in sorted(folder.iterdir()):
        text = file.read_text()
        for line in text[: text.rfind("\n") + 1].splitlines():
            if line.startswith("!"):
                odd.append(f"{file.name}: {line[1:]}")
                continue
            id, _, label = line.partition(",")
            if label == "?":
                said.pop(id, None)
            else:
                said[id] = label or None
                taken += 1
    return said, taken, odd
