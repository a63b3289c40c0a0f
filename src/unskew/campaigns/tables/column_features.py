"""Which features each column of a table became."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from unskew.rows import Ints


def column_features(fitted: Pipeline) -> dict[str, Ints]:
    """For each column that is learned from, the positions of its features, marks of missing values among them.

    >>> import polars as pl
    >>> from unskew.campaigns.tables.encoding import encoder
    >>> log = pl.DataFrame({"income": [1.5, None, 3.0], "region": ["north", "south", "north"]})
    >>> fitted = encoder(log, {"income": "number", "region": "category"})
    >>> {name: at.tolist() for name, at in column_features(fitted).items()}
    {'income': [0, 1], 'region': [2, 3]}
    """
    columns, matrix = fitted["columns"], fitted["matrix"]
    marks = columns.get_feature_names_out()[len(columns.kinds) :]
    marked = dict(zip(marks, columns.missing, strict=True))
    found: dict[str, list[int]] = {name: [] for name in columns.kinds}
    first = 0
    for name, part, names in matrix.transformers_:
        made = matrix.output_indices_[name]
        for column, width in zip(names, _widths(part, names, made.stop - made.start), strict=True):
            found[marked.get(column, column)] += range(first, first + width)
            first += width
    return {name: np.array(at, dtype=np.int64) for name, at in found.items()}


def _widths(part: Any, names: list[str], width: int) -> list[int]:
    """The number of features that a step makes of each of its columns."""
    if isinstance(part, OneHotEncoder):
        return [len(values) for values in part.categories_]
    return [width // len(names)] * len(names)  # as many of each, or all of one
