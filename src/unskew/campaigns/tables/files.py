"""Logs and pools: CSV, Parquet, Arrow or a frame in, a frame of plain types out, or one line that says what is wrong.

A frame of plain types has columns of six types: Int64, Float64, Boolean, String, Date, Datetime. Missing values are
null.
"""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from unskew.campaigns.tables.column_types import in_row, kinds, odd_value, plain, typed
from unskew.campaigns.tables.frames import as_polars
from unskew.campaigns.tables.labels import canonical
from unskew.campaigns.tables.parquet import read_parquet
from unskew.csv_text import MOST_COLUMNS, content, line_of, read_csv, too_wide
from unskew.data import LEAST_PROPENSITY
from unskew.errors import InputError, unknown
from unskew.pools.ids import bare
from unskew.reading import regular_file

__all__ = [
    "check_columns", "check_log", "check_pool", "check_propensity", "class_names", "ending", "feature_columns",
    "kinds", "label_texts", "plain_frame", "read_table", "read_text", "row_ids",
]  # fmt: skip

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
BINARY = (".parquet", ".arrow", ".feather")


def read_table(source: str | Path | Any, *, text: Collection[str] = (), name: str = "the table") -> pl.DataFrame:
    r"""The table in a .csv, .csv.gz, .tsv, .parquet, .arrow or .feather file, or in a Polars or pandas frame.

    In text files, a column gets the first of these types that fits all its values: numbers, booleans (true, false),
    ISO dates, ISO times (those with a zone become UTC), text. Numbers with leading zeros are codes and stay text. A
    column of which half or more are numbers or dates, but not all, is refused: that is a typing error, or a mark for
    "missing". Columns of text in frames are read in the same way, since frames that were read from CSV files hold dates
    as text. Other columns of frames, and all columns of Parquet and Arrow files, keep their types; so do
    categoricals.

    Parameters
    ----------
    source : path or frame
        Text files must be in UTF-8.
    text : names of columns, optional
        Columns to read as text whatever they hold: ids, and columns that are text in the log. In other files and in
        frames this applies only to whole numbers: how other values were written is not known.
    name : str
        What messages call a frame.

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
        return _read_frame(name, as_polars(source, name), text)
    path = Path(source)
    kind = ending(path)
    try:
        if kind in BINARY:
            return plain_frame(path, read_parquet(path), text)
        return read_text(path, content(path), SEPARATORS[kind], text)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{path} cannot be read as a table: {told}. Write it again.") from None


def ending(path: Path) -> str:
    """The ending that says how to read a file, which is there and not empty."""
    kind = next((end for end in (*SEPARATORS, *BINARY) if path.name.lower().endswith(end)), None)
    found = regular_file(path)
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
) -> pl.DataFrame:
    """The columns in the text of a file, each in the type that fits all its values.

    `left_out` is the number of lines between the header and the first row.
    """
    frame = read_csv(path, raw, separator, left_out)

    def where(row: int) -> str:
        return f"line {line_of(raw, separator, row) + left_out}"

    wanted = (column for column in frame.iter_columns() if columns is None or column.name in columns)
    return pl.DataFrame([column if column.name in text else typed(path, column, where) for column in wanted])


def _read_frame(name: str, frame: pl.DataFrame, text: Collection[str]) -> pl.DataFrame:
    written = [column for column, kind in frame.schema.items() if kind == pl.String and column not in text]
    frame = plain_frame(name, frame, text)
    return frame.with_columns(typed(name, frame[column]) for column in written)


def plain_frame(
    where: str | Path, frame: pl.DataFrame, text: Collection[str], row: Callable[[int], str] = in_row
) -> pl.DataFrame:
    """The frame with plain types only, or a refusal. `row` says where in the file a row is."""
    if frame.width > MOST_COLUMNS:
        raise too_wide(where, frame.width)
    if frame.is_empty():
        raise InputError(f"{where} has {frame.width} columns and no rows. It needs at least one row.")
    frame = frame.select(plain(where, column, row) for column in frame.iter_columns())
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
) -> list[str]:
    """Refuse a log that cannot be used. Returns the names of its two classes, the negative one first.

    `classes` names both if the labels show only one of them, or if they are to be in another order.

    >>> check_log(pl.DataFrame({"age": [30, 41, 52], "paid": [1, None, 0], "q0": [0.5, 0.1, 1.0]}), "paid", "q0")
    ['0', '1']
    """
    seen = class_names(frame.select(_column(frame, label, "label")), label)
    if classes is None and len(seen) != 2:
        few = "no row has one" if not seen else f"all are {seen[0]!r}"
        told = few if len(seen) < 2 else f"got {len(seen)}: {_list(seen, 4)}"
        remedy = "Merge classes, or empty the cells of the others."
        if len(seen) < 2:
            remedy = "Add labels of both classes, or name the classes: `unskew start` takes --classes NEG,POS."
        raise InputError(f"the label {label!r} must have two classes; {told}. {remedy}")
    if not seen and propensity is None:
        raise InputError(
            f"propensities are estimated from which rows have a label, and none has one in {label!r}. Name "
            "their column."
        )
    pair = seen if classes is None else [_as_label(name, seen, frame[label].dtype) for name in classes]
    for name in seen:
        if name not in pair:
            raise InputError(f"the label {label!r} must be {' or '.join(map(repr, pair))}; got {name!r}. Correct it.")
    if len(set(pair)) != 2 or len(pair) != 2:
        raise InputError(f"classes must be two different names; got {_list(pair, 4)}. Put the negative one first.")
    if propensity is not None:
        check_propensity(_column(frame, propensity, "propensity"))
    if id is not None:
        row_ids(frame, id, "the log")
    if not feature_columns(frame, label, propensity, id):
        raise InputError("no column is left to learn from. Add numbers, categories or dates that describe the rows.")
    return pair


def _as_label(name: str, seen: Sequence[str], dtype: pl.DataType) -> str:
    """A class that was named, written as the labels are: 1.0 is "1", True is "true"."""
    found = canonical(name, seen)
    if found is not None or not seen:
        return found or name
    if dtype == pl.Boolean:
        return name.lower()
    return name.removesuffix(".0") if dtype.is_numeric() else name


def feature_columns(frame: pl.DataFrame, label: str, propensity: str | None = None, id: str | None = None) -> list[str]:
    """Columns to learn from: all but label, propensity, id and text."""
    return [name for name, kind in kinds(frame).items() if kind != "text" and name not in (label, propensity, id)]


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
    if column.dtype == wanted or (column.dtype.is_numeric() and wanted.is_numeric()):
        return column
    if log[column.name].null_count() == log.height:  # it is not a feature
        return column
    if column.null_count() == len(column) or (wanted == pl.String and column.dtype == pl.Int64):
        return column.cast(wanted)
    if wanted == pl.Datetime("us") and column.dtype == pl.Date:
        return column.cast(wanted)
    if wanted == pl.Date and column.dtype == pl.Datetime:
        date = column.cast(wanted)
        odd = column.filter(date.cast(column.dtype) != column)  # midnight is a date
        if not odd.len():
            return date
        value = str(odd[0])
    else:
        value = odd_value(column, kinds(log.select(column.name))[column.name])
    raise InputError(
        f"column {column.name!r} holds {_words(log[column.name])} in the log and {_words(column)} in the pool "
        f"({value!r:.40}). Write it in the same way in both."
    )


def _words(column: pl.Series) -> str:
    """What a column holds, in words."""
    words = {"number": "numbers", "boolean": "true and false", "category": "words", "date": "dates", "text": "text"}
    return "times" if column.dtype == pl.Datetime else words[kinds(column.to_frame())[column.name]]


def check_propensity(q0: pl.Series, first: int = 0) -> None:
    """Refuse propensities that are not in (0, 1]. With `first`, they are those of a file from that row on."""
    if not q0.dtype.is_numeric():
        raise InputError(
            f"the propensity {q0.name!r} must hold numbers in (0, 1]; got {q0.dtype}. Name another column."
        )
    wrong = ~q0.is_between(LEAST_PROPENSITY, 1).fill_null(False)
    for row in wrong.arg_true()[:1]:
        told = "none" if q0[row] is None else f"{q0[row]:g}"
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
