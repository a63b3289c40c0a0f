"""What a column of labels holds besides classes: marks for "missing", or numbers that are no classes at all."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from unskew.errors import InputError

MARKS = ("na", "n/a", "#n/a", "<na>", "nan", "null", "-", "?")
"""How people and programs write that a label is missing, in lower case. So is `None`, but "none" may be a class."""

MOST_NUMBERS = 20
"""A label with more different numbers than this is a quantity."""


class Marks:
    """Empties the cells of the label that hold a mark for "missing", and counts them.

    A mark that is named as a class is one. So is "-" beside "+".

    >>> marks = Marks("paid")
    >>> marks(pl.Series("paid", ["yes", "NA", None, "n/a"])).to_list(), str(marks)
    (['yes', None, None, None], "2 labels read as missing: 'NA', 'n/a'")
    >>> Marks("paid", ["NA", "yes"])(pl.Series("paid", ["yes", "NA"])).to_list()
    ['yes', 'NA']
    """

    def __init__(self, label: str, classes: Sequence[str] | None = None) -> None:
        self.label, self.seen = label, Counter[str]()
        self._named = [name.strip().lower() for name in classes or ()]

    def __call__(self, column: pl.Series) -> pl.Series:
        """The column without marks. One that is not the label, or holds no text, stays as it is."""
        if column.name != self.label or column.dtype != pl.String:
            return column
        bare = column.str.strip_chars()
        lower = bare.str.to_lowercase()
        marked = (lower.is_in(MARKS) | (bare == "None")) & ~lower.is_in(self._named)
        if bool((bare == "+").any()):
            marked &= bare != "-"
        marked = marked.fill_null(False)
        if not marked.any():
            return column
        self.seen.update(dict(bare.filter(marked).value_counts(name="rows").rows()))
        return column.set(marked, None)

    def frame(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table without marks in its label, if it has one."""
        return table.with_columns(self(table[self.label])) if self.label in table.columns else table

    def __str__(self) -> str:
        """What was read as missing, in words; empty if nothing was."""
        return said_missing(self.seen)


def said_missing(marks: Mapping[str, int]) -> str:
    """The number of labels that were read as missing, and how they are written; empty if there are none."""
    if not marks:
        return ""
    total, written = sum(marks.values()), ", ".join(map(repr, sorted(marks)))
    return f"{total:,} label{'s' if total != 1 else ''} read as missing: {written}"


def check_is_class(labels: pl.Series) -> None:
    """Refuse a label that is a quantity: more than 20 different numbers, or more than two that are not all whole.

    >>> check_is_class(pl.Series("paid", [0.0, 1.0, None]))
    >>> check_is_class(pl.Series("price", [0.5, 1.25, 3.0]))
    Traceback (most recent call last):
    ...
    unskew.errors.InputError: the label 'price' holds 3 different numbers, and Unskew learns classes. Cut it at a ...
    """
    if not labels.dtype.is_numeric():
        return
    values = labels.drop_nulls().unique()
    whole = bool((values.cast(pl.Float64) == values.cast(pl.Float64).floor()).all())
    if values.len() <= 2 or (whole and values.len() <= MOST_NUMBERS):
        return
    middle = float(np.median(labels.drop_nulls().to_numpy()))
    raise InputError(
        f"the label {labels.name!r} holds {values.len():,} different numbers, and Unskew learns classes. Cut it at a "
        f"value, such as {labels.name} >= {middle:g} (its median), and name that column as the label; or, if the "
        "numbers are codes of classes, write them as words."
    )
