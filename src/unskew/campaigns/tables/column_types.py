"""What a column holds. Text becomes numbers, booleans or dates if all of it is; other types become plain ones."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from unskew.csv_text import LARGEST_CELL
from unskew.errors import InputError

CATEGORIES = 50
"""A column with more different texts than this, most of which occur once, is for people to read and not a feature."""

DATE = r"^\d{4}-\d{2}-\d{2}$"
TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
CODE = r"^-?0\d+$"
ADDRESS = r"^(https?://|data:image/)"

LARGEST = 1e30
"""Larger numbers are marks for "missing". Trees are grown in single precision, which ends soon after this."""


def kinds(frame: pl.DataFrame) -> dict[str, str]:
    """What each column holds: "number", "boolean", "category", "date" or "text".

    Text is shown to people and is not a feature: more than 50 different values most of which occur once, or
    addresses of pages and pictures.

    >>> kinds(pl.DataFrame({"age": [30, 41], "region": ["north", "south"], "photo": ["https://a/1", "https://a/2"]}))
    {'age': 'number', 'region': 'category', 'photo': 'text'}
    """
    return {column.name: _kind(column) for column in frame.iter_columns()}


def _kind(column: pl.Series) -> str:
    if column.dtype.is_numeric():
        return "number"
    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype.is_temporal():
        return "date"
    known = column.drop_nulls()
    if known.len() and bool(known.str.contains(ADDRESS).all()):
        return "text"
    different = known.n_unique()
    return "text" if different > CATEGORIES and 2 * different > known.len() else "category"


def in_row(row: int) -> str:
    """Where a row of a Parquet file or a frame is, for messages."""
    return f"row {row + 1}"


def typed(source: str | Path, column: pl.Series, where: Callable[[int], str] = in_row) -> pl.Series:
    """A column of text in the type that fits all its values. Messages name the source, and where in it a row is.

    >>> typed("the log", pl.Series("since", ["2024-05-01", None])).dtype
    Date
    """
    number = column.cast(pl.Float64, strict=False)
    bare = column
    if number.null_count() > column.null_count():  # seldom: stripping blanks takes time
        bare = column.str.strip_chars()
        number = bare.cast(pl.Float64, strict=False)
    codes = bool(bare.str.contains(CODE).any())  # 01067 is a code, and 1067 another
    bad = number.is_null() & column.is_not_null()
    if not codes and not bad.any():
        return _usable(source, _narrow(bare, number), where)
    known = column.drop_nulls()
    lower = bare.str.to_lowercase()
    if bool(lower.is_in(["true", "false"]).all()):
        return lower == "true"
    for pattern, parse in ((DATE, _date), (TIME, _time), (ZONED, _zoned)):
        fits = bare.str.contains(pattern) & column.is_not_null()
        if fits.sum() == known.len():
            parsed = parse(bare)
            if parsed.null_count() == column.null_count():
                return _usable(source, parsed, where)
            bad = parsed.is_null() & column.is_not_null()  # 2024-02-31
            raise _mixed(source, column, bad, "dates", where)
        if 2 * int(fits.sum()) >= known.len():
            raise _mixed(source, column, ~fits & column.is_not_null(), "dates", where)
    if not codes and 2 * int(bad.sum()) <= known.len():
        raise _mixed(source, column, bad, "numbers", where)
    return column


def _narrow(bare: pl.Series, number: pl.Series) -> pl.Series:
    if bool((number != number.floor()).any()):
        return number
    whole = bare.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == number.null_count() else number


def _date(bare: pl.Series) -> pl.Series:
    return bare.str.to_date("%Y-%m-%d", strict=False)


def _time(bare: pl.Series) -> pl.Series:
    spaced = bare.str.replace("T", " ", literal=True)
    seconds = spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return seconds.fill_null(spaced.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False))


def _zoned(bare: pl.Series) -> pl.Series:
    spaced = bare.str.replace("T", " ", literal=True).str.replace("Z", "+0000", literal=True)
    spaced = spaced.str.replace(r"([+-]\d{2}):(\d{2})$", "$1$2")
    seconds = spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", time_unit="us", strict=False)
    minutes = spaced.str.to_datetime("%Y-%m-%d %H:%M%z", time_unit="us", strict=False)
    return seconds.fill_null(minutes).dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def _mixed(source: str | Path, column: pl.Series, bad: pl.Series, what: str, where: Callable[[int], str]) -> InputError:
    row = bad.arg_true()[0]
    many = int(bad.sum())
    others = "" if many == 1 else f", the first of {many} that are not"
    return InputError(
        f"{source} {where(row)}: column {column.name!r} holds {what}, but {column[row]!r:.60} is "
        f"not one{others}. Correct it, or leave the cell empty where the value is missing."
    )


def _usable(source: str | Path, column: pl.Series, where: Callable[[int], str]) -> pl.Series:
    """The column with NaN as null. Numbers too large to mean anything are refused, and years outside the calendar."""
    if column.dtype == pl.Float64:
        column = shown = column.fill_nan(None)
        bad, rule = column.abs() > LARGEST, f"numbers must be finite and at most {LARGEST:g}"
    elif column.dtype in (pl.Date, pl.Datetime):
        shown = column.dt.year()  # null where Polars knows none
        bad, rule = column.is_not_null() & ~shown.is_between(1, 9999).fill_null(False), "years must be from 1 to 9999"
    else:
        return column
    for row in bad.arg_true()[:1]:
        value = "another" if shown[row] is None else shown[row]
        raise InputError(
            f"{source} {where(row)}: column {column.name!r} holds {value}, and {rule}. "
            "Correct it, or leave the cell empty where it means missing."
        )
    return column


def odd_value(column: pl.Series, kind: str) -> str:
    """The first value that is not of the kind, as it is written.

    >>> odd_value(pl.Series("income", ["12", "abc"]), "number"), odd_value(pl.Series("member", [7]), "boolean")
    ('abc', '7')
    """
    written = column.drop_nulls().cast(pl.String)
    bare = written.str.strip_chars()
    fits = {
        "number": bare.cast(pl.Float64, strict=False).is_not_null() & ~bare.str.contains(CODE),
        "boolean": bare.str.to_lowercase().is_in(["true", "false"]),
        "date": bare.str.contains(r"^\d{4}-\d{2}-\d{2}"),
    }
    odd = written.filter(~fits[kind]) if kind in fits else written
    return str((odd if odd.len() else written)[0])


def plain(path: str | Path, column: pl.Series, where: Callable[[int], str] = in_row) -> pl.Series:
    """A column of a Parquet file or a frame as one of the six plain types."""
    kind = column.dtype
    if kind in (pl.Date, pl.Datetime):
        _usable(path, column, where)  # first: Polars panics where it cannot cast
    if kind in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    elif kind.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        column = whole if whole.null_count() == column.null_count() else column.cast(pl.Float64)
    elif kind.is_numeric() or kind == pl.Null:
        column = column.cast(pl.Float64)
    elif isinstance(kind, pl.Datetime):
        if kind.time_zone:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        column = column.cast(pl.Datetime("us"))
    elif kind not in (pl.Boolean, pl.String, pl.Date):
        raise InputError(
            f"{path}: column {column.name!r} holds {kind}; only numbers, booleans, text, dates and times "
            "can be used. Convert it, or drop the column."
        )
    if column.dtype == pl.String:
        column = column.replace("", None)
        for row in (column.str.len_bytes() > LARGEST_CELL).fill_null(False).arg_true()[:1]:
            raise InputError(
                f"{path} {where(row)}: column {column.name!r} has a cell larger than {LARGEST_CELL:,} bytes. "
                "Keep large content in files of its own and put their names in the column."
            )
    return _usable(path, column, where)
