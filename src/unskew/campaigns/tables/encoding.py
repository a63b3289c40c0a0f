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
from unskew.campaigns.tables.frames import as_polars
from unskew.errors import InputError
from unskew.rows import Floats

MISSING = "(missing)"
"""The category of rows where it is missing."""

MOST_CATEGORIES = 20
"""Only this many categories of a column, the commonest in the log, have a feature. For others, all of these are 0."""

CHUNK = 20_000
"""The number of rows turned into features at a time: few enough for the processor's cache."""

DAY = 86_400_000_000.0
"""In microseconds."""


class PlainColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A frame with numbers (NaN where missing) and text: booleans as 0 and 1, dates as days since 1970.

    Parameters
    ----------
    kinds : mapping
        For each column "number", "boolean", "category" or "date". Other columns of a frame are left out.
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
        return pl.DataFrame([*plain, *(frame[name].is_null().cast(pl.Float64).alias(mark) for name, mark in named)])

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


def plain_column(column: pl.Series, kind: str) -> pl.Series:
    """A column as numbers, NaN where missing, or as text if it holds categories."""
    empty = column.null_count() == len(column)
    if not empty and not _holds(column.dtype, kind):
        raise InputError(
            f"column {column.name!r} must hold a {kind}; got {odd_value(column, kind)!r:.40}. Write it as in the log."
        )
    if kind == "category":
        return column.cast(pl.String).fill_null(MISSING)
    if kind == "date" and not empty:
        return column.cast(pl.Datetime("us")).cast(pl.Int64).cast(pl.Float64).fill_null(np.nan) / DAY
    plain = column.cast(pl.Float64, strict=False)
    return plain.fill_null(np.nan) if plain.null_count() else plain  # which takes long for nothing


def _holds(dtype: pl.DataType, kind: str) -> bool:
    """Whether values of a type can be of a kind: 7 is not a boolean, 20200309 not a date, but 36 may be a category."""
    if kind == "number":
        return dtype.is_numeric()
    if kind == "boolean":
        return dtype == pl.Boolean
    if kind == "date":
        return dtype in (pl.Date, pl.Datetime)
    return dtype in (pl.String, pl.Categorical, pl.Enum) or dtype.is_integer()


def encoder(log: pl.DataFrame, kinds: Mapping[str, str]) -> Pipeline:
    """A pipeline from a Polars or pandas frame to a float64 matrix, fitted to the log.

    A missing number becomes the log's median, and a feature marks it as missing. A category becomes a feature for each
    of its 20 commonest values; for any other value, also one that the log does not have, all of these are 0. Columns
    that are the same in every row of the log are left out.

    Parameters
    ----------
    log : frame
        Every row of the log, with or without a label.
    kinds : mapping
        The columns to learn from and what they hold, as `files.kinds` says; text is left out.

    Examples
    --------
    >>> log = pl.DataFrame({"income": [1.5, None, 3.0], "region": ["north", "south", "north"]})
    >>> fitted = encoder(log, {"income": "number", "region": "category"})
    >>> list(feature_names(fitted))
    ['income', 'income is missing', 'region is north', 'region is south']
    >>> features(fitted, log)[1].tolist()
    [2.25, 1.0, 0.0, 1.0]
    """
    used = {name: kind for name, kind in kinds.items() if kind != "text" and log[name].n_unique() > 1}
    if not used:
        raise InputError(
            "no column of the log can be learned from: all are text or the same in every row. Add other columns."
        )
    numbers = [name for name, kind in used.items() if kind != "category"]
    words = [name for name, kind in used.items() if kind == "category"]
    # Categories are given by name, not by OneHotEncoder(max_categories=): skl2onnx drops the feature of rare ones.
    common = [_common(log[name]) for name in words]
    one_hot = OneHotEncoder(categories=common, handle_unknown="ignore", sparse_output=False, dtype=np.float64)
    missing = [name for name in numbers if log[name].null_count()]
    parts = [("numbers", SimpleImputer(strategy="median"), numbers)] if numbers else []
    parts += [("missing", "passthrough", _marks(used, missing))] if missing else []
    parts += [("categories", one_hot, words)] if words else []
    matrix = ColumnTransformer(parts, verbose_feature_names_out=False)
    return Pipeline([("columns", PlainColumns(used, missing)), ("matrix", matrix)]).fit(log)


def _common(column: pl.Series) -> list[str]:
    counts = plain_column(column, "category").alias("value").value_counts()
    return sorted(counts.sort("count", "value", descending=[True, False])["value"][:MOST_CATEGORIES].to_list())


def features(fitted: Pipeline, frame: Any) -> Floats:
    """The frame's features as a C-contiguous matrix: what the pipeline makes of it, but in one pass of Polars."""
    columns, made = fitted.named_steps["columns"], _expressions(fitted)
    matrix = np.empty((len(frame), len(made)))
    for start in range(0, len(frame), CHUNK):
        matrix[start : start + CHUNK] = columns.transform(frame[start : start + CHUNK]).select(made).to_numpy()
    return matrix


def _expressions(fitted: Pipeline) -> list[pl.Expr]:
    """Each feature as an expression of the plain columns."""
    made: list[pl.Expr] = []
    for name, part, columns in fitted.named_steps["matrix"].transformers_:
        if name == "categories":
            pairs = zip(columns, part.categories_, strict=True)
            made += [pl.col(column).eq(value).cast(pl.Float64) for column, values in pairs for value in values]
        elif name == "numbers":
            pairs = zip(columns, part.statistics_, strict=True)
            made += [pl.col(column).fill_nan(float(median)) for column, median in pairs]
        else:
            made += [pl.col(column) for column in columns]
    return [one.alias(str(k)) for k, one in enumerate(made)]


def feature_names(fitted: Pipeline) -> list[str]:
    """What each feature is, in words."""
    named = []
    for name, part, columns in fitted.named_steps["matrix"].transformers_:
        if name == "categories":
            pairs = zip(columns, part.categories_, strict=True)
            named += [f"{column} is {value}" for column, values in pairs for value in values]
        else:
            named += columns
    return named


def schema_of(frame: pl.DataFrame) -> dict[str, str]:
    """The frame's columns and types, ready for JSON."""
    return {name: str(kind.base_type()) for name, kind in frame.schema.items()}


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
        columns[name] = pl.Series(name, values, dtype=TYPES[kind])
    return pl.DataFrame(columns)
