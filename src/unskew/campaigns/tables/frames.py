"""Frames in memory: Polars or pandas in, Polars out, and back to a file."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from unskew.errors import InputError
from unskew.spreadsheets import SPECIAL, csv_lines
from unskew.writing import put, unwritable


def as_polars(frame: Any, where: str = "the table") -> pl.DataFrame:
    """A Polars or pandas frame as a Polars frame. The index of a pandas frame is left out.

    >>> as_polars({"age": [30]}, "the log")
    Traceback (most recent call last):
    unskew.errors.InputError: the log must be a file, or a Polars or pandas frame; got dict. Make a frame of it.
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if type(frame).__module__.partition(".")[0] != "pandas" or not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise InputError(f"{where} must be a file, or a Polars or pandas frame; got {kind}. Make a frame of it.")
    names = list(frame.columns)
    for k, name in enumerate(names):
        if not isinstance(name, str) or name in names[:k]:
            raise InputError(f"{where}: column names must be text and all different; got {name!r}. Rename the column.")
    return pl.DataFrame([_from_pandas(frame.iloc[:, k], name, where) for k, name in enumerate(names)])


def _from_pandas(column: Any, name: str, where: str) -> pl.Series:
    if str(column.dtype) == "category":
        return _categories(column, name)
    try:
        return _narrow(pl.Series(name, pl.from_pandas(column, nan_to_null=True)))
    except ImportError:
        raise InputError(f"{where}: column {name!r} of a pandas frame needs pyarrow. Install pyarrow.") from None
    except (ValueError, TypeError, pl.exceptions.PolarsError) as error:  # pyarrow's errors are among these
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{where}: column {name!r} must hold values of one type: {told}. Convert it.") from None


def _categories(column: Any, name: str) -> pl.Series:
    """A pandas categorical, whose values are names also where they are numbers. If it has an order, it is an Enum."""
    names = pl.Series([_name(value) for value in column.cat.categories.to_list()], dtype=pl.String)
    codes = pl.Series(column.cat.codes.to_list(), dtype=pl.Int64)
    texts = names.gather(codes.replace(-1, None)).alias(name)
    return texts.cast(pl.Enum(names) if column.cat.ordered and names.is_unique().all() else pl.Categorical)


def _name(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _narrow(column: pl.Series) -> pl.Series:
    """Whole numbers as such: where some are missing, pandas makes them floats."""
    if column.dtype != pl.Float64 or not column.null_count():
        return column
    whole = column.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == column.null_count() and bool((whole == column).all()) else column


def as_csv(frame: pl.DataFrame, *, header: bool = True) -> str:
    r"""A frame as CSV that a spreadsheet can open without running any of it; without `header`, its rows alone.

    >>> as_csv(pl.DataFrame({"id": ["=1+1", "-17"], "chance": [0.5, None]}))
    "id,chance\n'=1+1,0.5\n-17,\n"
    """
    texts = [pl.Series(frame.columns), *(column for column in frame.iter_columns() if column.dtype == pl.String)]
    if any(column.str.contains(SPECIAL).any() for column in texts):
        return csv_lines([*([frame.columns] if header else ()), *frame.iter_rows()])
    return frame.write_csv(include_header=header)  # quicker


def put_frame(path: Path, frame: pl.DataFrame, check: Callable[[], None] = lambda: None) -> None:
    """Write a frame whole or not at all: as CSV for spreadsheets if the name ends in .csv, otherwise as Parquet."""
    put(path, partial(_write, frame, path), check)


def _write(frame: pl.DataFrame, path: Path, beside: Path) -> None:
    try:
        if path.suffix.lower() == ".csv":
            beside.write_text(as_csv(frame), encoding="utf-8", newline="")
        else:
            frame.write_parquet(beside)
    except pl.exceptions.PolarsError as error:  # Polars reports a full disk by errors of its own
        raise unwritable(path, error) from None
