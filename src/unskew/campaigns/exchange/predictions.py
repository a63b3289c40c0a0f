"""Predictions from file to file, block by block: memory does not grow with the number of rows."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO

import joblib
import polars as pl
from joblib.parallel import get_active_backend
from polars.io.plugins import register_io_source
from sklearn.pipeline import Pipeline

from unskew.campaigns.campaign import Campaign
from unskew.campaigns.learning.fitting import predicted
from unskew.campaigns.tables.blocks import Part, parts
from unskew.campaigns.tables.frames import as_csv
from unskew.pools.scanning import Progress
from unskew.writing import unwritable


def predictions(
    campaign: Campaign, source: str | Path, progress: Progress = lambda done, total: None
) -> Iterator[pl.DataFrame]:
    """The predictions for a file's rows, in their order: a frame for each block of them (`Campaign.predict`)."""
    settings = campaign.settings
    columns = {*settings.kinds, *([] if settings.id is None else [settings.id])}
    text = [name for name, kind in settings.types.items() if kind == "String"]  # whatever a small file holds
    judge = partial(_judged, campaign.model(), settings.id)
    jobs = get_active_backend()[1] or joblib.cpu_count()  # those of the cluster, if there is one
    with joblib.Parallel(jobs, prefer="threads", return_as="generator") as parallel:
        for found, done, total in parallel(joblib.delayed(judge)(part) for part in parts(source, columns, text)):
            progress(done, total)
            yield found


def _judged(model: Pipeline, id: str | None, part: Part) -> tuple[pl.DataFrame, int, int]:
    return predicted(model, id, part.read()), part.done, part.total


def write(blocks: Iterator[pl.DataFrame], path: Path, beside: Path) -> int:
    """Write predictions to the file `beside`, as the ending of `path` says, and return the number of rows."""
    first = next(blocks)
    counted = _Counted(chain([first], blocks))
    if path.suffix.lower() == ".csv":
        with open(beside, "w", encoding="utf-8", newline="") as file:
            write_csv(counted, file)
        return counted.rows
    try:
        register_io_source(lambda *_: iter(counted), schema=first.schema).sink_parquet(beside)
    except pl.exceptions.PolarsError as error:  # Polars reports a full disk by errors of its own
        raise unwritable(path, error) from None
    return counted.rows


def write_csv(blocks: Iterator[pl.DataFrame], file: IO[str]) -> None:
    """Write predictions as CSV for spreadsheets."""
    for k, block in enumerate(blocks):
        file.write(as_csv(block, header=not k))


class _Counted(Iterator[pl.DataFrame]):
    """Counts the rows that pass."""

    def __init__(self, blocks: Iterator[pl.DataFrame]) -> None:
        self.rows, self._blocks = 0, blocks

    def __next__(self) -> pl.DataFrame:
        found = next(self._blocks)
        self.rows += found.height
        return found
