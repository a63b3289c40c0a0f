"""What a column holds. Text becomes numbers, booleans or dates if all of it is; other types become plain ones."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from unskew.csv_text import LARGEST_CELL
from unskew.errors import InputError

CATEGORIES = 50
"""A column with more different texts than this, most of which occur once, is no category."""

WORDS = 3
"""Text has at least this number of words in half of its values, or LETTERS in a script without blanks."""

LETTERS = 8

DATE = r"^\d{4}-\d{2}-\d{2}$"
TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$"
ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$"
CODE = r"^-?0\d+$"
ADDRESS = r"^(https?://|data:image/)"
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"

LARGEST = 1e30
"""Larger numbers are marks for "missing". Trees are grown in single precision, which ends soon after this."""


def kinds(frame: pl.DataFrame, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """What each column holds, as given or as it seems.

    By itself, a column is a "number", "boolean", "category", "date", "text", an "embedding" or to "ignore". Of columns
    with more than 50 different values most of which occur once, text has several words in most of its values. All
    others are ids, codes, names or addresses: they are shown to people and not learned from.

    >>> kinds(pl.DataFrame({"age": [30, 41], "region": ["north", "south"], "vector": [[0.1, 0.2], [0.3, 0.4]]}))
    {'age': 'number', 'region': 'category', 'vector': 'embedding'}
    """
    given = given or {}
    return {column.name: given.get(column.name) or _kind(column) for column in frame.iter_columns()}


def _kind(column: pl.Series) -> str:
    if column.dtype.is_numeric():
        return "number"
    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype.is_temporal():
        return "date"
    if column.dtype in (pl.Array, pl.List):
        return "embedding"
    known = column.drop_nulls()
    different = known.unique()
    if different.len() <= CATEGORIES or 2 * different.len() <= known.len():
        return "category"
    return "text" if _of_words(different) else "ignore"


def _of_words(texts: pl.Series) -> bool:
    """Whether half of the texts or more have several words, in any language."""
    words = texts.str.count_matches(r"\S*\pL\S*") >= WORDS
    return 2 * int((words | (texts.str.count_matches(UNSPACED) >= LETTERS)).sum()) >= texts.len()


def left_out(frame: pl.DataFrame, holds: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The columns of these kinds that are not learned from, why, and how to keep them.

    >>> frame = pl.DataFrame({"bank": ["x", "x"], "note": ["a", "b"]})
    >>> left_out(frame, {"bank": "category", "note": "ignore"}, {"note": "ignore"})
    {'bank': 'the same in every row', 'note': 'by the type given'}
    """
    why = {}
    for name, kind in holds.items():
        column = frame[name]
        if column.null_count() == len(column):
            why[name] = "empty in every row"
        elif column.n_unique() < 2:
            why[name] = "the same in every row"
        elif kind == "ignore" and given.get(name) == kind:
            why[name] = "by the type given"
        elif kind == "ignore":
            vectors = bool(column.drop_nulls().str.contains(r"^\s*\[[-+\d.eE,\s]+\]\s*$").all())
            kept = f"--type {name}={'embedding' if vectors else 'text'}"
            why[name] = f"nearly every value differs; keep it with {shlex.quote(kept) if ' ' in name else kept}"
    return why


def in_rules(kinds: Mapping[str, str]) -> dict[str, str]:
    """The columns that rules may name, and how: words in an order are categories there.

    >>> in_rules({"size": "ordinal:small,large", "stars": "ordinal", "post": "text", "face": "embedding"})
    {'size': 'category', 'stars': 'number', 'post': 'text'}
    """
    named = {name: "category" if kind.startswith("ordinal:") else kind for name, kind in kinds.items()}
    plain = {name: "number" if kind == "ordinal" else kind for name, kind in named.items()}
    return {name: kind for name, kind in plain.items() if kind != "embedding"}


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
        return usable(source, narrow(bare, number), where)
    known = column.drop_nulls()
    lower = bare.str.to_lowercase()
    if bool(lower.is_in(["true", "false"]).all()):
        return lower == "true"
    for pattern, parse in ((DATE, date_of), (TIME, time_of), (ZONED, zoned_time_of)):
        fits = bare.str.contains(pattern) & column.is_not_null()
        if fits.sum() == known.len():
            parsed = parse(bare)
            if parsed.null_count() == column.null_count():
                return usable(source, parsed, where)
            bad = parsed.is_null() & column.is_not_null()  # 2024-02-31
            raise _mixed(source, column, bad, "dates", where)
        if 2 * int(fits.sum()) >= known.len():
            raise _mixed(source, column, ~fits & column.is_not_null(), "dates", where)
    if not codes and 2 * int(bad.sum()) <= known.len():
        raise _mixed(source, column, bad, "numbers", where)
    return column


def narrow(bare: pl.Series, number: pl.Series) -> pl.Series:
    """Numbers as whole ones where all of them are."""
    if bool((number != number.floor()).any()):
        return number
    whole = bare.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == number.null_count() else number


def date_of(bare: pl.Series) -> pl.Series:
    """ISO dates, null where the text is none."""
    return bare.str.to_date("%Y-%m-%d", strict=False)


def time_of(bare: pl.Series) -> pl.Series:
    """ISO times without a zone, null where the text is none."""
    spaced = bare.str.replace("T", " ", literal=True)
    seconds = spaced.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return seconds.fill_null(spaced.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False))


def zoned_time_of(bare: pl.Series) -> pl.Series:
    """ISO times with a zone, in UTC, null where the text is none."""
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
        f"{source} {where(row)}: column {column.name!r} holds {what}, but {column[row]!r} is "
        f"not one{others}. Correct it, or leave the cell empty where the value is missing."
    )


def usable(source: str | Path, column: pl.Series, where: Callable[[int], str]) -> pl.Series:
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
    """A column of a Parquet file or a frame as one of the plain types."""
    kind = column.dtype
    if kind in (pl.Date, pl.Datetime):
        usable(path, column, where)  # first: Polars panics where it cannot cast
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
    elif isinstance(kind, pl.List | pl.Array):
        return embedded(path, column, where)
    elif kind not in (pl.Boolean, pl.String, pl.Date):
        raise InputError(
            f"{path}: column {column.name!r} holds {kind}; only numbers, booleans, text, dates, times and lists of "
            "numbers can be used. Convert it, or drop the column."
        )
    if column.dtype == pl.String:
        column = column.replace("", None)
        for row in (column.str.len_bytes() > LARGEST_CELL).fill_null(False).arg_true()[:1]:
            raise InputError(
                f"{path} {where(row)}: column {column.name!r} has a cell larger than {LARGEST_CELL:,} bytes. "
                "Keep large content in files of its own and put their names in the column."
            )
    return usable(path, column, where)


def embedded(path: str | Path, column: pl.Series, where: Callable[[int], str] = in_row) -> pl.Series:
    """A column of lists of numbers as arrays of one length, in single precision.

    >>> embedded("the log", pl.Series("v", [[1, 2], None, [3]]))
    Traceback (most recent call last):
    unskew.errors.InputError: the log row 3: column 'v' holds 1 number, and 2 in row 1; an embedding has ...
    """
    lists = column.arr.to_list() if column.dtype == pl.Array else column
    inner = getattr(lists.dtype, "inner", None)
    if inner is None or not inner.is_numeric():
        raise InputError(
            f"{path}: column {column.name!r} holds {column.dtype}; an embedding is a list of numbers. Convert it, or "
            f"leave it out: --type {column.name}=ignore."
        )
    lengths = lists.list.len()
    first = lengths.drop_nulls()[:1].to_list()
    if not first:
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)  # nobody knows how long they are
    for row in (lengths != first[0]).fill_null(False).arg_true()[:1]:
        begin = lengths.is_not_null().arg_true()[0]
        raise InputError(
            f"{path} {where(row)}: column {column.name!r} holds {lengths[row]} number{'s' * (lengths[row] != 1)}, and "
            f"{first[0]} in {where(begin)}; an embedding has one length in all rows. Correct it, leave the cell empty "
            f"where it is missing, or leave the column out: --type {column.name}=ignore."
        )
    if not first[0]:
        raise InputError(f"{path}: column {column.name!r} holds empty lists. Drop the column.")
    array = lists.cast(pl.Array(pl.Float32, first[0]))
    finite = np.isfinite(array.drop_nulls().to_numpy()).all(axis=1)
    for row in array.is_not_null().arg_true().filter(pl.Series(~finite))[:1]:
        raise InputError(
            f"{path} {where(row)}: column {column.name!r} holds a list in which a number is missing or not finite. "
            "Correct it, or leave the cell empty."
        )
    return array
