"""Logs and pools: CSV, Parquet, Arrow or a frame in, a frame of plain types out, or one line that says what is wrong.

A frame of plain types has columns of seven types: Int64, Float64, Boolean, String, Date, Datetime and, for embeddings,
Array. Missing values are null.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from unskew.campaigns.tables.column_types import in_row, kinds, odd_value, plain, typed
from unskew.campaigns.tables.frames import as_polars
from unskew.campaigns.tables.given_types import as_given
from unskew.campaigns.tables.id_lengths import check_lengths
from unskew.campaigns.tables.labels import canonical, check_classes, check_names
from unskew.campaigns.tables.parquet import read_parquet
from unskew.csv_text import MOST_COLUMNS, content, line_of, read_csv, separator_in, too_wide
from unskew.data import LEAST_PROPENSITY
from unskew.errors import InputError, exact, unknown
from unskew.labels import MOST_CLASSES
from unskew.pools.ids import bare
from unskew.reading import regular_file

__all__ = [
    "check_columns", "check_log", "check_pool", "check_propensity", "class_names", "ending", "feature_columns",
    "kinds", "label_texts", "plain_frame", "read_table", "read_text", "row_ids",
]  # fmt: skip

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
BINARY = (".parquet", ".arrow", ".feather")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")


def read_table(
    source: str | Path | Any,
    *,
    text: Collection[str] = (),
    name: str = "the table",
    types: Mapping[str, str] | None = None,
    clean: Callable[[pl.Series], pl.Series] | None = None,
) -> pl.DataFrame:
    r"""The table in a .csv, .csv.gz, .tsv, .parquet, .arrow or .feather file, or in a Polars or pandas frame.

    A column of text gets the first of these types that fits all its values: numbers, booleans (true, false),
    ISO dates, ISO times (those with a zone become UTC), text. Numbers with leading zeros are codes and stay text. A
    column of which half or more are numbers or dates, but not all, is refused: that is a typing error, or a mark for
    "missing". Other columns of frames, Parquet and Arrow files keep their types; so do categoricals.

    Parameters
    ----------
    source : path or frame
        Text files must be in UTF-8. The cells of a .csv file may be separated by semicolons or tabs, too. If they are
        separated by semicolons, numbers may have a decimal comma.
    text : names of columns, optional
        Columns to read as text whatever they hold: ids, and columns that are text in the log. In other files and in
        frames this applies only to whole numbers: how other values were written is not known.
    name : str
        What messages call a frame.
    types : mapping, optional
        What columns hold (`given_types`), whatever they look like.
    clean : callable, optional
        Is given each column of text before its type is found (`unskew.campaigns.tables.label_columns.Marks`).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "log.csv")
    ...     _ = file.write_text("income,since,paid\n1200.5,2024-05-01,1\n,2024-06-01,\n")
    ...     read_table(file).dtypes
    [Float64, Date, Int64]
    """
    if not isinstance(source, str | Path):
        return plain_frame(name, _cleaned(as_polars(source, name), clean), text, types=types)
    path = Path(source)
    kind = ending(path)
    try:
        if kind in BINARY:
            return plain_frame(path, _cleaned(read_parquet(path), clean), text, types=types)
        raw = content(path)
        return read_text(path, raw, separator_in(raw, SEPARATORS[kind]), text, types=types, clean=clean)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{path} cannot be read as a table: {told}. Write it again.") from None


def ending(path: Path) -> str:
    """The ending that says how to read a file, which is there and not empty."""
    kind = next((end for end in (*SEPARATORS, *BINARY) if path.name.lower().endswith(end)), None)
    found = regular_file(path)
    if path.suffix.lower() in SPREADSHEETS:
        raise InputError(
            f"{path} is a spreadsheet. Save it as CSV in UTF-8, or convert it: pip install fastexcel && python -c "
            f'"import polars; polars.read_excel({path.name!r}).write_parquet({path.stem + ".parquet"!r})"'
        )
    if kind is None:
        raise InputError(
            f"{str(path)!r} must end in {', '.join((*SEPARATORS, *BINARY[:-1]))} or {BINARY[-1]}. Convert or rename it."
        )
    if not found.st_size:
        raise InputError(f"{path} is empty. It needs a line of column names, then one row a line.")
    return kind


def read_text(
    path: str | Path,
    raw: bytes,
    separator: str,
    text: Collection[str],
    columns: Collection[str] | None = None,
    left_out: int = 0,
    types: Mapping[str, str] | None = None,
    clean: Callable[[pl.Series], pl.Series] | None = None,
) -> pl.DataFrame:
    """The columns in the text of a file, each in the type that fits all its values.

    `left_out` is the number of lines between the header and the first row.
    """
    frame = _cleaned(read_csv(path, raw, separator, left_out), clean)

    def where(row: int) -> str:
        return f"line {line_of(raw, separator, row) + left_out}"

    def read(column: pl.Series) -> pl.Series:
        if types and column.name in types:
            return as_given(path, column, types[column.name], where)
        return column if column.name in text else typed(path, column, where)

    return pl.DataFrame([read(one) for one in frame.iter_columns() if columns is None or one.name in columns])


def _cleaned(frame: pl.DataFrame, clean: Callable[[pl.Series], pl.Series] | None) -> pl.DataFrame:
    return frame if clean is None else frame.select(map(clean, frame.iter_columns()))


def plain_frame(
    where: str | Path,
    frame: pl.DataFrame,
    text: Collection[str],
    row: Callable[[int], str] = in_row,
    types: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """The frame with plain types only, as `read_table` says, or a refusal. `row` says where in the file a row is."""
    if frame.width > MOST_COLUMNS:
        raise too_wide(where, frame.width)
    if frame.is_empty():
        raise InputError(f"{where} has {frame.width} columns and no rows. It needs at least one row.")

    def read(column: pl.Series) -> pl.Series:
        if types and column.name in types:
            return as_given(where, column, types[column.name], row)
        found = plain(where, column, row)
        return typed(where, found, row) if column.dtype == pl.String and column.name not in text else found

    for name in frame.columns:
        if not name:
            raise InputError(f"{where} has a column without a name. Give every column one.")
    frame = frame.select(read(column) for column in frame.iter_columns())
    codes = [name for name, kind in frame.schema.items() if kind == pl.Int64 and name in text]
    return frame.with_columns(pl.col(codes).cast(pl.String))


def row_ids(frame: pl.DataFrame, id: str | None, where: str = "the table") -> pl.Series:
    """An id for each row, as text: its value in the column `id`; without one, "row-1", "row-2" and so on.

    Blanks around an id are removed. `where` is what messages call the frame.

    >>> row_ids(pl.DataFrame({"age": [30, 41]}), None).to_list()
    ['row-1', 'row-2']
    """
    if id is None:
        return pl.select(pl.format("row-{}", pl.int_range(1, frame.height + 1))).to_series().alias("id")
    ids = bare(_column(frame, id, "id")).alias("id")
    for row in ids.is_null().arg_true()[:1]:
        raise InputError(
            f"every row needs an id; column {id!r} of {where} has none in row {row + 1}. Fill it, or leave --id out."
        )
    for row in ids.is_duplicated().arg_true()[:1]:
        rows = ", ".join(str(k + 1) for k in (ids == ids[row]).arg_true()[:3])
        raise InputError(
            f"ids must differ; {ids[row]!r} of column {id!r} is in rows {rows} of {where}. Drop or rename the copies."
        )
    return ids


def label_texts(frame: pl.DataFrame, label: str) -> pl.Series:
    """Labels as a person writes them, null where there is none: 1.0 is "1", a boolean is "true" or "false".

    >>> label_texts(pl.DataFrame({"paid": [1.0, None, 0.0]}), "paid").to_list()
    ['1', None, '0']
    """
    labels = _column(frame, label, "label")
    if labels.dtype == pl.Float64:
        whole = labels.cast(pl.Int64, strict=False)
        labels = whole if bool((whole == labels).all()) else labels
    return bare(labels)


def class_names(frame: pl.DataFrame, label: str) -> list[str]:
    """The values of the label, smallest first: numbers by size, false before true, text in alphabetical order."""
    names = label_texts(frame, label)
    order = pl.DataFrame(
        {"value": names if frame[label].dtype == pl.String else frame[label], "name": names}
    ).drop_nulls()
    return order.unique("name").sort("value")["name"].to_list()


def check_log(
    frame: pl.DataFrame,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    classes: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
) -> list[str]:
    """Refuse a log that cannot be used. Returns the names of its classes, of two the negative one first.

    `classes` names them if the labels do not show every one of them, or if they are to be in another order.

    >>> check_log(pl.DataFrame({"age": [30, 41, 52], "paid": [1, None, 0], "q0": [0.5, 0.1, 1.0]}), "paid", "q0")
    ['0', '1']
    """
    seen = class_names(frame.select(_column(frame, label, "label")), label)
    if classes is None:
        check_classes(label, dict(label_texts(frame, label).drop_nulls().value_counts().rows()), seen)
    if not seen and propensity is None:
        raise InputError(
            f"propensities are estimated from which rows have a label, and none has one in {label!r}. Name "
            "their column."
        )
    pair = seen if classes is None else [_as_label(name, seen, frame[label].dtype) for name in classes]
    for name in seen:
        if name not in pair:
            raise InputError(f"the label {label!r} must be {' or '.join(map(repr, pair))}; got {name!r}. Correct it.")
    if len(set(pair)) != len(pair) or not 2 <= len(pair) <= MOST_CLASSES:
        rule = f"two different names, the negative one first, or from 3 to {MOST_CLASSES}"
        raise InputError(f"classes must be {rule}; got {_list(pair, 4)}. Name each class once.")
    check_names(label, pair)
    if propensity is not None:
        check_propensity(_column(frame, propensity, "propensity"))
    if id is not None:
        row_ids(frame, id, "the log")
    if not feature_columns(frame, label, propensity, id, types):
        raise InputError(
            "no column is left to learn from. Add numbers, categories, dates or text that describe the rows, or keep a "
            "column with --type."
        )
    return pair


def _as_label(name: str, seen: Sequence[str], dtype: pl.DataType) -> str:
    """A class that was named, written as the labels are: 1.0 is "1", True is "true"."""
    found = canonical(name, seen)
    if found is not None or not seen:
        return found or name
    if dtype == pl.Boolean:
        return name.lower()
    return name.removesuffix(".0") if dtype.is_numeric() else name


def feature_columns(
    frame: pl.DataFrame,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    types: Mapping[str, str] | None = None,
) -> list[str]:
    """Columns to learn from: all but label, propensity, id and those to ignore."""
    holds = kinds(frame, types)
    return [name for name, kind in holds.items() if kind != "ignore" and name not in (label, propensity, id)]


def check_pool(
    log: pl.DataFrame,
    pool: pl.DataFrame,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    first: int | None = None,
) -> pl.DataFrame:
    """The pool with the log's columns and types, or a refusal.

    The pool may lack label and propensity. A label it does have is left out: rows of the pool are there to be asked
    about, and their own labels must not leak into the model. A propensity it does have is checked and kept, for the
    weights of its rows; people do not see it, and it is not a feature. Columns are put in the log's order.

    With `first`, these are rows of a file, from that row on. Whether ids differ then remains to be seen.
    """
    wanted = check_columns(log, pool.columns, label, propensity, id)
    if id is not None:
        ids = row_ids(pool, id, "the pool") if first is None else bare(pool[id])
        if first is None:
            check_lengths(ids, id, "the pool")
        pool = pool.with_columns(ids.alias(id))
    keep = [name for name in log.columns if name in pool.columns and name != label]
    if id is not None and id not in keep:
        keep.insert(0, id)
    if propensity in keep:
        check_propensity(pool[propensity], first or 0)
    return pool.select(_as_in(log, pool[name]) if name in wanted else pool[name] for name in keep)


def check_columns(
    log: pl.DataFrame, columns: Sequence[str], label: str, propensity: str | None, id: str | None
) -> list[str]:
    """Refuse a pool that has not the log's columns. Returns those that it must have, without the id."""
    wanted = [name for name in log.columns if name not in (label, propensity, id)]
    missing = [name for name in wanted if name not in columns]
    extra = [name for name in columns if name not in log.columns and name != id]
    if missing or extra:
        told = [f"it lacks {_list(missing, 5)}"] if missing else []
        told += [f"it has {_list(extra, 5)}, which the log does not have"] if extra else []
        raise InputError(f"the pool must have the log's columns; {' and '.join(told)}. Add, drop or rename columns.")
    if id is not None and id not in columns:
        raise unknown("id column of the pool", id, columns)
    return wanted


def _as_in(log: pl.DataFrame, column: pl.Series) -> pl.Series:
    """The pool's column in the log's type. Empty columns, and codes that happen to be whole numbers, can be cast."""
    wanted = log.schema[column.name]
    if column.dtype == pl.Enum:  # words in the order given
        column = column.cast(pl.String)
    if column.dtype == wanted or (column.dtype.is_numeric() and wanted.is_numeric()):
        return column
    if log[column.name].null_count() == log.height:  # it is not a feature
        return column
    if column.null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), dtype=wanted)
    if wanted == pl.String and column.dtype == pl.Int64:
        return column.cast(wanted)
    if column.dtype == pl.String:  # a categorical, which may be of numbers
        with suppress(InputError):
            found = typed("the pool", column)
            if found.dtype != pl.String:
                return _as_in(log, found)
    if wanted == pl.Datetime("us") and column.dtype == pl.Date:
        return column.cast(wanted)
    if wanted == pl.Date and column.dtype == pl.Datetime:
        date = column.cast(wanted)
        odd = column.filter(date.cast(column.dtype) != column)  # midnight is a date
        if not odd.len():
            return date
        value = str(odd[0])
    elif pl.Array in (wanted, column.dtype):
        value = str(column.drop_nulls()[:1].to_list()[0])
    else:
        value = odd_value(column, kinds(log.select(column.name))[column.name])
    raise InputError(
        f"column {column.name!r} holds {_words(log[column.name])} in the log and {_words(column)} in the pool "
        f"({value!r}). Write it in the same way in both."
    )


def _words(column: pl.Series) -> str:
    """What a column holds, in words."""
    if isinstance(column.dtype, pl.Array):
        return f"lists of {column.dtype.shape[0]} numbers"
    words = {"number": "numbers", "boolean": "true and false", "category": "words", "date": "dates", "ignore": "text"}
    return "times" if column.dtype == pl.Datetime else words.get(kinds(column.to_frame())[column.name], "text")


def check_propensity(q0: pl.Series, first: int = 0) -> None:
    """Refuse propensities that are not in (0, 1]. With `first`, they are those of a file from that row on."""
    if not q0.dtype.is_numeric():
        raise InputError(
            f"the propensity {q0.name!r} must hold numbers in (0, 1]; got {q0.dtype}. Name another column."
        )
    wrong = ~q0.is_between(LEAST_PROPENSITY, 1).fill_null(False)
    for row in wrong.arg_true()[:1]:
        told = "none" if q0[row] is None else exact(q0[row])
        least = f", and at least {LEAST_PROPENSITY:g}" if 0 < (q0[row] or 0) < 1 else ""
        raise InputError(
            f"the propensity {q0.name!r} must be in (0, 1]{least} in every row, with or without a label; got {told} in "
            f"row {first + row + 1}{_more(int(wrong.sum()))}. Correct it, or leave it out to have them estimated."
        )


def _column(frame: pl.DataFrame, name: str, role: str) -> pl.Series:
    if name not in frame.columns:
        raise unknown(f"{role} column", name, frame.columns)
    return frame[name]


def _more(rows: int) -> str:
    return "" if rows == 1 else f", and in {rows - 1} more"


def _list(names: Sequence[str], most: int) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
