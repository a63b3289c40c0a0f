"""Columns of mixed types to a matrix of numbers, by a scikit-learn pipeline fitted to the log alone; rows to JSON.

The features of a row depend on that row alone, so they are the same wherever the row occurs.
"""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from unskew.campaigns.tables.column_types import odd_value
from unskew.campaigns.tables.embeddings import Embedding
from unskew.campaigns.tables.frames import as_polars
from unskew.campaigns.tables.given_types import levels, texts
from unskew.campaigns.tables.text_features import DIMENSIONS, TextFeatures
from unskew.errors import InputError
from unskew.models.features import WIDE
from unskew.rows import Blocks, Floats

MISSING = "(missing)"
"""The category of rows where it is missing."""

MOST_CATEGORIES = 20
"""The categories of a column with more of them than this are a block."""

MOST_LEVELS = 50
"""Only this many categories of a block, the commonest in the log, have a feature. For others, all of these are 0."""

CHUNK = 20_000
"""The number of rows turned into features at a time: few enough for the processor's cache."""

DAY = 86_400_000_000.0
"""In microseconds."""

BLOCKS: dict[str, Any] = {"text": TextFeatures, "embedding": Embedding}
"""What makes a block of features of one column."""

NARROWEST = 16
"""A block has at least this number of features, however many there are of other columns."""


class PlainColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A frame with numbers (NaN where missing), text and vectors: booleans as 0 and 1, dates as days since 1970.

    Parameters
    ----------
    kinds : mapping
        For each column "number", "boolean", "category", "date", "text" or "embedding". Other columns of a frame are
        left out.
    missing : columns
        For each of these, a column is added that is 1 where the value is missing, else 0. (We do not use
        SimpleImputer(add_indicator=True), because skl2onnx silently leaves out its indicator.)

    Examples
    --------
    >>> columns = PlainColumns({"since": "date", "region": "category"}, ["since"]).fit(None)
    >>> columns.transform(pl.DataFrame({"since": [datetime.date(1970, 1, 3)], "region": [None]})).rows()
    [(2.0, '(missing)', 0.0)]
    """

    def __init__(self, kinds: Mapping[str, str], missing: Sequence[str] = ()) -> None:
        self.kinds = kinds
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> pl.DataFrame:
        frame = as_polars(X, "X")
        for name in self.kinds:
            if name not in frame.columns:
                raise InputError(f"column {name!r} is missing. Columns learned from: {', '.join(self.kinds)}.")
        plain = [plain_column(frame[name], kind) for name, kind in self.kinds.items()]
        named = zip(self.missing, _marks(self.kinds, self.missing), strict=True)
        absent = {name: _absent(frame[name], self.kinds[name]) for name in self.missing}
        return pl.DataFrame([*plain, *(absent[name].cast(pl.Float64).alias(mark) for name, mark in named)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.array([*self.kinds, *_marks(self.kinds, self.missing)], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _marks(kinds: Mapping[str, str], missing: Sequence[str]) -> list[str]:
    """The names of the columns that mark missing values; no other column has them."""
    marks: list[str] = []
    for name in missing:
        mark = f"{name} is missing"
        while mark in kinds or mark in marks:
            mark += "_"
        marks.append(mark)
    return marks


def _absent(column: pl.Series, kind: str) -> pl.Series:
    """Where a value is missing. An empty text is missing too."""
    return plain_column(column, kind).str.strip_chars() == "" if kind == "text" else column.is_null()


def plain_column(column: pl.Series, kind: str) -> pl.Series:
    """A column as numbers, NaN where missing; as text if it holds categories or text; as vectors of one length."""
    empty = column.null_count() == len(column)
    if not empty and not _holds(column.dtype, kind):
        raise InputError(
            f"column {column.name!r} must hold a {kind}; got {odd_value(column, kind)!r}. Write it as in the log."
        )
    if kind == "category":
        return texts(column).fill_null(MISSING)
    if kind.startswith("ordinal:"):
        return _places(column, levels(kind))
    if kind == "text":
        return column.cast(pl.String).fill_null("")
    if kind == "embedding":
        return column if empty else _vectors(column)
    if kind == "date" and not empty:
        return column.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64).fill_null(np.nan) / DAY
    plain = column.cast(pl.Float64, strict=False)
    return plain.fill_null(np.nan) if plain.null_count() else plain  # which takes long for nothing


def _places(column: pl.Series, order: Sequence[str]) -> pl.Series:
    """The place of each word in their order."""
    words = texts(column)
    for word in words.filter(~words.is_in(order))[:1]:
        told = ", ".join(order)
        raise InputError(f"column {column.name!r} must hold one of {told}; got {word!r}. Write it as in the log.")
    places = {word: float(k) for k, word in enumerate(order)}
    return words.replace_strict(places, default=None, return_dtype=pl.Float64).fill_null(np.nan)


def _holds(dtype: pl.DataType, kind: str) -> bool:
    """Whether values of a type can be of a kind: 7 is not a boolean, 20200309 not a date, but 36 may be a category."""
    if kind in ("number", "ordinal"):
        return dtype.is_numeric()
    if kind == "boolean":
        return dtype == pl.Boolean
    if kind == "date":
        return dtype in (pl.Date, pl.Datetime)
    if kind == "embedding":
        return isinstance(dtype, pl.List | pl.Array) and dtype.inner.is_numeric()
    return dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) or dtype.is_numeric()


def _vectors(column: pl.Series) -> pl.Series:
    """A column of lists or arrays of numbers as vectors of one length."""
    if isinstance(column.dtype, pl.Array):
        return column.cast(pl.Array(pl.Float64, column.dtype.size))
    lengths = column.drop_nulls().list.len()
    size = int(lengths[0]) if len(lengths) else 0
    for other in lengths.filter(lengths != size)[:1]:
        raise InputError(
            f"column {column.name!r} must hold vectors of one length; got {size} and {other} numbers. "
            "Make all of them with the same model."
        )
    return column.cast(pl.List(pl.Float64)).list.to_array(size)


def encoder(log: pl.DataFrame, kinds: Mapping[str, str], levels: int = MOST_LEVELS) -> Pipeline:
    """A pipeline from a Polars or pandas frame to a float64 matrix, fitted to the log.

    A missing number becomes the log's median, and a feature marks it as missing. A category becomes a feature for each
    of its commonest values; for any other value, also one that the log does not have, all of these are 0. If there are
    more than 20 values, these features are a block. A text or a vector becomes a block of at most 128 features
    (`TextFeatures`, `Embedding`). Blocks have fewer features if there would be more than 400 in all. Columns that are
    the same in every row of the log are left out.

    Parameters
    ----------
    log : frame
        Every row of the log, with or without a label.
    kinds : mapping
        The columns to learn from and what they hold, as `files.kinds` says.
    levels : int
        The number of features of a category, at most. With 20, as before version 0.8.0, none is a block.

    Examples
    --------
    >>> log = pl.DataFrame({"income": [1.5, None, 3.0], "region": ["north", "south", "north"]})
    >>> fitted = encoder(log, {"income": "number", "region": "category"})
    >>> list(feature_names(fitted))
    ['income', 'income is missing', 'region is north', 'region is south']
    >>> features(fitted, log)[1].tolist()
    [2.25, 1.0, 0.0, 1.0]
    """
    used = {name: kind for name, kind in kinds.items() if kind != "ignore" and log[name].n_unique() > 1}
    if not used:
        raise InputError(
            "no column of the log can be learned from: all are ids or the same in every row. Add other columns."
        )
    common = {name: _common(log[name], levels) for name, kind in used.items() if kind == "category"}
    many = [name for name, values in common.items() if len(values) > MOST_CATEGORIES]
    few = [name for name in common if name not in many]
    wide = [name for name, kind in used.items() if kind in BLOCKS]
    numbers = [name for name in used if name not in common and name not in wide]
    missing = [name for name in (*numbers, *wide) if _absent(log[name], used[name]).any()]
    room = WIDE - len(numbers) - len(missing) - sum(len(common[name]) for name in few)
    share = max(room // max(len(many) + len(wide), 1), NARROWEST)
    parts = [("numbers", SimpleImputer(strategy="median"), numbers)] if numbers else []
    parts += [("missing", "passthrough", _marks(used, missing))] if missing else []
    parts += [("categories", _one_hot([common[name] for name in few]), few)] if few else []
    most = min(levels, share)
    parts += [(f"levels {k}", _one_hot([_common(log[name], most)]), [name]) for k, name in enumerate(many)]
    parts += [(f"block {k}", BLOCKS[used[name]](min(share, DIMENSIONS)), [name]) for k, name in enumerate(wide)]
    matrix = ColumnTransformer(parts, verbose_feature_names_out=False)
    return Pipeline([("columns", PlainColumns(used, missing)), ("matrix", matrix)]).fit(log)


def _common(column: pl.Series, most: int) -> list[str]:
    """The commonest categories, in the order of the alphabet."""
    counts = plain_column(column, "category").alias("value").value_counts()
    return sorted(counts.sort("count", "value", descending=[True, False])["value"][:most].to_list())


def _one_hot(common: list[list[str]]) -> OneHotEncoder:
    # Categories are given by name, not by OneHotEncoder(max_categories=): skl2onnx drops the feature of rare ones.
    return OneHotEncoder(categories=common, handle_unknown="ignore", sparse_output=False, dtype=np.float64)


def features(fitted: Pipeline, frame: Any) -> Floats:
    """The frame's features as a C-contiguous matrix: what the pipeline makes of it, but in one pass of Polars."""
    columns, made, own = fitted.named_steps["columns"], _expressions(fitted), _block_parts(fitted)
    matrix = np.empty((len(frame), len(made) + sum(end - start for _, _, start, end in own)))
    for first in range(0, len(frame), CHUNK):
        plain, rows = columns.transform(frame[first : first + CHUNK]), matrix[first : first + CHUNK]
        if made:  # nothing selected would have no rows
            rows[:, : len(made)] = plain.select(made).to_numpy()
        for part, names, start, end in own:
            rows[:, start:end] = part.transform(plain.select(names))
    return matrix


def _expressions(fitted: Pipeline) -> list[pl.Expr]:
    """Each feature outside of blocks as an expression of the plain columns."""
    made: list[pl.Expr] = []
    for name, part, columns in fitted.named_steps["matrix"].transformers_:
        if isinstance(part, OneHotEncoder):
            pairs = zip(columns, part.categories_, strict=True)
            made += [pl.col(column).eq(value).cast(pl.Float64) for column, values in pairs for value in values]
        elif name == "numbers":
            pairs = zip(columns, part.statistics_, strict=True)
            made += [pl.col(column).fill_nan(float(median)) for column, median in pairs]
        elif name == "missing":
            made += [pl.col(column) for column in columns]
    return [one.alias(str(k)) for k, one in enumerate(made)]


def _block_parts(fitted: Pipeline) -> list[tuple[Any, list[str], int, int]]:
    """What makes each text's or vector's block, of which column, and where it starts and ends. They come last."""
    matrix = fitted.named_steps["matrix"]
    places = ((part, list(columns), matrix.output_indices_[name]) for name, part, columns in matrix.transformers_)
    kinds = tuple(BLOCKS.values())
    return [(part, columns, at.start, at.stop) for part, columns, at in places if isinstance(part, kinds)]


def block_places(fitted: Pipeline) -> Blocks:
    """Where the features of each text, each vector and each category of many values start and end."""
    found = fitted.named_steps["matrix"].output_indices_.items()
    return tuple(
        (at.start, at.stop) for name, at in found if name.startswith(("levels ", "block ")) and at.stop > at.start
    )


def feature_names(fitted: Pipeline) -> list[str]:
    """What each feature is, in words."""
    named: list[str] = []
    for name, part, columns in fitted.named_steps["matrix"].transformers_:
        if isinstance(part, OneHotEncoder):
            pairs = zip(columns, part.categories_, strict=True)
            named += [f"{column} is {value}" for column, values in pairs for value in values]
        elif name in ("numbers", "missing"):
            named += columns
        else:
            named += list(part.get_feature_names_out())
    return named


def schema_of(frame: pl.DataFrame) -> dict[str, str]:
    """The frame's columns and types, ready for JSON.

    >>> schema_of(pl.DataFrame({"age": [30], "vector": pl.Series([[0.5, 2.0]], dtype=pl.Array(pl.Float32, 2))}))
    {'age': 'Int64', 'vector': 'Array(2)'}
    """
    return {name: _type_name(kind) for name, kind in frame.schema.items()}


def _type_name(kind: pl.DataType) -> str:
    return f"Array({kind.shape[0]})" if isinstance(kind, pl.Array) else str(kind.base_type())


def dtype_of(name: str) -> Any:
    """The type that `schema_of` named."""
    return pl.Array(pl.Float32, int(name[6:-1])) if name.startswith("Array(") else TYPES[name]


TYPES: dict[str, Any] = {
    "Int64": pl.Int64,
    "Float64": pl.Float64,
    "Boolean": pl.Boolean,
    "String": pl.String,
    "Date": pl.Date,
    "Datetime": pl.Datetime("us"),
}


def to_plain(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows as dicts ready for JSON: dates as ISO text, missing as None; `from_plain` gives the very same frame back.

    >>> to_plain(pl.DataFrame({"age": [30, None], "since": [datetime.date(2024, 5, 1)] * 2}))
    [{'age': 30, 'since': '2024-05-01'}, {'age': None, 'since': '2024-05-01'}]
    """
    return [
        {name: value.isoformat() if isinstance(value, datetime.date) else value for name, value in row.items()}
        for row in frame.iter_rows(named=True)
    ]


def from_plain(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, str]) -> pl.DataFrame:
    """The frame that `to_plain` and `schema_of` described."""
    read = {"Date": datetime.date.fromisoformat, "Datetime": datetime.datetime.fromisoformat}
    columns = {}
    for name, kind in schema.items():
        values = [row[name] for row in rows]
        if kind in read:
            values = [None if value is None else read[kind](value) for value in values]
        columns[name] = pl.Series(name, values, dtype=dtype_of(kind))
    return pl.DataFrame(columns)
