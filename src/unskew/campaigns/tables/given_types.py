"""What columns hold by the word of whoever knows them: `--type size=ordinal:small,large`, or ``types=`` in Python.

A type that does not fit all values of its column is refused.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unskew.campaigns.start_options import KINDS
from unskew.campaigns.tables.column_types import (
    DATE,
    TIME,
    ZONED,
    date_of,
    embedded,
    in_row,
    narrow,
    plain,
    time_of,
    usable,
    zoned_time_of,
)  # fmt: skip
from unskew.errors import InputError, unknown

TRUE, FALSE = ("true", "t", "yes", "y", "1", "1.0"), ("false", "f", "no", "n", "0", "0.0")

LEADING = r"^([+-]?\d+(?:\.\d+)?)(?:[^\d.,'’]|[.,'’](?:\D|$)|$)"
"""A number at the beginning. One that goes on after a comma may be of thousands, so it is none."""

DOTTED = r"^\d{1,2}\.\d{1,2}\.\d{4}$"
"""Day, month and year."""

WHOLE = r"^([+-]?\d+)\.0+$"
"""A whole number that was written as another: pandas writes 1.0 where some values of a column are missing."""

RULES = {
    "number": "numbers",
    "boolean": "true or false, yes or no, or 1 or 0",
    "date": "dates like 2024-05-31, 2024-05-31T10:30 or 31.05.2024",
    "embedding": "lists of numbers like [0.1, 0.2]",
}


def checked(types: Mapping[str, Any] | None) -> dict[str, str]:
    """The types as they are recorded, or a refusal of what is none.

    >>> checked({"size": "ordinal: small, large"})
    {'size': 'ordinal:small,large'}
    """
    found = {}
    for column, kind in (types or {}).items():
        word, colon, _ = str(kind).partition(":")
        if word not in KINDS:
            raise unknown(f"type of column {column!r}", word, KINDS)
        if colon and word != "ordinal":
            raise InputError(f"only an ordinal has an order; got {kind!r} for column {column!r}. Leave it out.")
        order = levels(kind)
        if colon and (len(set(order)) < 2 or len(set(order)) < len(order) or "" in order):
            raise InputError(
                f"the order of column {column!r} must be two or more different values, the lowest first; got "
                f"{kind!r}. Write --type {column}=ordinal:low,medium,high."
            )
        found[str(column)] = ordinal(order) if colon else word
    return found


def check_columns(types: Mapping[str, str], columns: Sequence[str], special: Mapping[str, str | None]) -> None:
    """Refuse types of columns that are not there, or that are the label, the propensity or the id."""
    for name in types:
        if name not in columns:
            raise unknown("column of --type", name, columns)
        for role, own in special.items():
            if name == own:
                raise InputError(f"column {name!r} is the {role}, which has no other type. Leave its --type out.")


def levels(kind: str) -> list[str]:
    """The order of an ordinal of words, the lowest first.

    >>> levels('ordinal:"1,000 or less",more')
    ['1,000 or less', 'more']
    """
    order = kind.partition(":")[2]
    return [level.strip() for level in next(csv.reader([order], skipinitialspace=True))] if order else []


def ordinal(order: Sequence[str]) -> str:
    """The kind of a column of words in this order."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(order)
    return f"ordinal:{line.getvalue()}"


def settled(frame: pl.DataFrame, types: Mapping[str, str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """The log with ordinals of words as text, and the types with the order of each."""
    orders = {
        name: ordinal(kind.categories.to_list()) for name in types if isinstance(kind := frame.schema[name], pl.Enum)
    }
    return frame.with_columns(pl.col(list(orders)).cast(pl.String)), {**types, **orders}


def texts(column: pl.Series) -> pl.Series:
    """Values as text: a whole number as such, also where it is stored as 1.0.

    >>> texts(pl.Series([1.0, 2.5, None])).to_list(), texts(pl.Series([True])).to_list()
    (['1', '2.5', None], ['true'])
    """
    if column.dtype.is_float():
        column = column.fill_nan(None)
        return column.cast(pl.String).str.replace(r"\.0$", "")
    return column.cast(pl.String)


def as_given(source: str | Path, column: pl.Series, kind: str, where: Callable[[int], str] = in_row) -> pl.Series:
    """A column in the type given, or a refusal. Words in an order are an Enum.

    >>> as_given("the log", pl.Series("zip", [1067, 99084]), "category").to_list()
    ['1067', '99084']
    >>> as_given("the log", pl.Series("age", ["30", "old"]), "number")
    Traceback (most recent call last):
    unskew.errors.InputError: the log row 2: column 'age' must hold numbers, by the type given; got 'old'. Correct ...
    """
    word, dtype = kind.partition(":")[0], column.dtype
    if isinstance(dtype, pl.List | pl.Array):
        return _of_lists(source, column, word, where)
    if dtype not in (pl.Categorical, pl.Enum):
        column = plain(source, column, where)
    if word in ("category", "text", "ignore"):
        shown = plain(source, texts(column), where)
        return shown.str.replace(WHOLE, "$1") if word == "category" else shown
    bare = column
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        bare = plain(source, texts(column).str.strip_chars(), where)
    if word == "ordinal":
        own = column.dtype.categories.to_list() if isinstance(column.dtype, pl.Enum) else []
        return _ordered(source, bare, levels(kind) or own, where)
    made = {"number": _numbers, "boolean": _booleans, "date": _dates, "embedding": _vectors}[word](bare)
    _refuse(source, column, made.is_null() & bare.is_not_null(), RULES[word], "", where)
    return embedded(source, made, where) if word == "embedding" else usable(source, made, where)


def _of_lists(source: str | Path, column: pl.Series, word: str, where: Callable[[int], str]) -> pl.Series:
    if word == "embedding":
        return embedded(source, column, where)
    if word == "ignore":
        shown = [None if value is None else ", ".join(map(str, value)) for value in column.to_list()]
        return plain(source, pl.Series(column.name, shown, dtype=pl.String), where)
    raise InputError(
        f"{source}: column {column.name!r} holds lists, and the type given is {word}. Lists of numbers are "
        f"--type {column.name}=embedding, and others --type {column.name}=ignore."
    )


def _ordered(source: str | Path, bare: pl.Series, order: Sequence[str], where: Callable[[int], str]) -> pl.Series:
    """Numbers, or words of which the order is given or told by the number that each begins with."""
    if order:
        words = texts(bare)
        words = words.zip_with(words.is_in(order) | words.is_null(), words.str.replace(WHOLE, "$1"))
        bad = ~words.is_in(order) & words.is_not_null()
        _refuse(source, words, bad, f"one of {', '.join(order)}", "Give the whole order", where)
        return words.cast(pl.Enum(order))
    numbers = _numbers(bare)
    if numbers.null_count() == bare.null_count():
        return usable(source, numbers, where)
    words = texts(bare)
    leading = words.str.extract(LEADING).cast(pl.Float64)
    example = f"Give the order: --type {bare.name}=ordinal:low,medium,high"
    rule = "numbers, or words that begin with one, to have an order"
    _refuse(source, words, leading.is_null() & words.is_not_null(), rule, example, where)
    both = pl.DataFrame({"word": words, "number": leading}).drop_nulls().unique("word").sort("number", "word")
    _refuse_level(source, both.filter(both["number"].is_duplicated())["word"].to_list(), bare.name, example)
    return words.cast(pl.Enum(both["word"]))


def _refuse_level(source: str | Path, level: Sequence[str], name: str, remedy: str) -> None:
    if level:
        raise InputError(
            f"{source}: column {name!r} has no order by itself: {level[0]!r} and {level[1]!r} begin with the "
            f"same number. {remedy}."
        )


def _numbers(bare: pl.Series) -> pl.Series:
    if bare.dtype == pl.String:
        return narrow(bare, bare.cast(pl.Float64, strict=False))
    if bare.dtype == pl.Boolean:
        return bare.cast(pl.Int64)
    return bare if bare.dtype.is_numeric() else _none(bare, pl.Float64())


def _booleans(bare: pl.Series) -> pl.Series:
    if bare.dtype == pl.Boolean:
        return bare
    lower = texts(bare).str.to_lowercase()
    return lower.replace_strict(
        dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False), default=None, return_dtype=pl.Boolean
    )


def _dates(bare: pl.Series) -> pl.Series:
    if bare.dtype in (pl.Date, pl.Datetime):
        return bare
    if bare.dtype != pl.String:
        return _none(bare, pl.Date())
    days = date_of(bare.zip_with(bare.str.contains(DATE), _none(bare, pl.String())))
    days = days.fill_null(
        bare.zip_with(bare.str.contains(DOTTED), _none(bare, pl.String())).str.to_date("%d.%m.%Y", strict=False)
    )
    if days.null_count() == bare.null_count():
        return days
    times = time_of(bare.zip_with(bare.str.contains(TIME), _none(bare, pl.String())))
    zoned = zoned_time_of(bare.zip_with(bare.str.contains(ZONED), _none(bare, pl.String())))
    return times.fill_null(zoned).fill_null(days.cast(pl.Datetime("us")))


def _vectors(bare: pl.Series) -> pl.Series:
    if bare.dtype != pl.String:
        return _none(bare, pl.List(pl.Float64))
    inside = bare.str.extract(r"^\[([-+\d.eE,\s]*)\]$").str.strip_chars()
    return inside.str.replace_all(r"[,\s]+", " ").str.split(" ").cast(pl.List(pl.Float64), strict=False)


def _none(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    return pl.Series(column.name, [None] * len(column), dtype=dtype)


def _refuse(
    source: str | Path, column: pl.Series, bad: pl.Series, rule: str, remedy: str, where: Callable[[int], str]
) -> None:
    for row in bad.arg_true()[:1]:
        many = "" if bad.sum() == 1 else f", the first of {bad.sum()}"
        raise InputError(
            f"{source} {where(row)}: column {column.name!r} must hold {rule}, by the type given; got "
            f"{str(column[row])!r}{many}. {remedy or 'Correct it'}, leave the cell empty where the value is "
            "missing, or give another type."
        )
