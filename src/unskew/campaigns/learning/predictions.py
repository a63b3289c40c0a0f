"""Predictions from file to file, block by block: memory does not grow with the number of rows."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

import joblib
import polars as pl
from joblib.parallel import get_active_backend
from polars.io.plugins import register_io_source
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from unskew.campaigns.learning.fitting import predicted
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables.blocks import Part, parts
from unskew.campaigns.tables.files import read_table
from unskew.campaigns.tables.frames import as_csv
from unskew.campaigns.tables.pool_files import is_many
from unskew.errors import InputError
from unskew.pools.scanning import Progress
from unskew.writing import Output, unwritable

FEW = 20_000
"""Rows that are judged at a time."""


def predict(model: Pipeline, settings: Settings, rows: Any) -> pl.DataFrame:
    """The predictions for all rows of a table, or of a folder or glob of files, in memory."""
    if isinstance(rows, str | Path) and is_many(rows):
        return pl.concat(predictions(model, settings, rows))
    return predicted(model, settings, read_table(rows, text=_text(settings), types=settings.given))


def predictions(
    model: Pipeline, settings: Settings, source: str | Path, progress: Progress = lambda done, total: None
) -> Iterator[pl.DataFrame]:
    """The predictions for the rows of files, in their order: a frame for each block of them."""
    columns = {*settings.kinds, *([] if settings.id is None else [settings.id])}
    judge = partial(_judged, model, settings)
    jobs = get_active_backend()[1] or joblib.cpu_count()  # those of the cluster, if there is one
    with (
        threadpool_limits(1),  # blocks are judged at the same time: more threads would wait for each other
        joblib.Parallel(jobs, prefer="threads", return_as="generator") as parallel,
    ):
        for found, done, total in parallel(
            joblib.delayed(judge)(part) for part in parts(source, columns, _text(settings), settings.given)
        ):
            progress(done, total)
            yield found


def _text(settings: Settings) -> list[str]:
    """Columns that are read as text, whatever a small file holds."""
    return [name for name, kind in settings.types.items() if kind == "String"]


def _judged(model: Pipeline, settings: Settings, part: Part) -> tuple[pl.DataFrame, int, int]:
    frame = part.read()
    if not frame.columns:  # nothing was read, so it looks as if there were no rows
        named = ", ".join(list(settings.kinds)[:5])
        raise InputError(f"the rows have none of the columns that the model knows: {named}. Give the pool's columns.")
    cuts = range(0, frame.height, FEW)
    few = (predicted(model, settings, frame[k : k + FEW]) for k in cuts)  # all would take more memory
    return pl.concat(few), part.done, part.total


def put_predictions(blocks: Iterator[pl.DataFrame], output: Output) -> int:
    """Write predictions to a .csv or .parquet file, whole or not at all, and return the number of rows."""
    rows = 0

    def into(beside: Path) -> None:
        nonlocal rows
        rows = write(blocks, output.path, beside)

    output.put(into)
    return rows


def output_for(path: Path, *, overwrite: bool) -> Output:
    """The file for predictions, which is refused now if it cannot be written."""
    return Output(path, "unskew predict", overwrite=overwrite, endings=(".csv", ".parquet"))


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
