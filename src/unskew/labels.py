"""Labels as users write them, and as methods see them: two classes as -1 and +1, more as 1, 2, ..., K."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InputError
from unskew.rows import Bools, Floats, Ints

MOST_CLASSES = 100
"""There may be no more classes: every one of them needs labels of its own."""


def codes(labels: ArrayLike, classes: NDArray[Any], remedy: str = "Map it to one of the classes.") -> Floats:
    """Labels as numbers: +1.0 and -1.0 for the second and the first of two classes, else 1.0, 2.0, ..., K.

    A label is never 0, which stands for "no label". Any value that is not a class is rejected.

    >>> codes(["b", "a"], np.array(["a", "b"])).tolist(), codes(["c", "a"], np.array(["a", "b", "c"])).tolist()
    ([1.0, -1.0], [3.0, 1.0])
    """
    if len(classes) > 2:
        return _numbers(np.asarray(labels), classes, remedy)
    values = np.asarray(labels)
    positive = values == classes[1]
    known = positive | (values == classes[0])
    if not np.all(known):
        i = int(np.argmin(known))
        raise InputError(
            f"labels must be {_shown(classes[0])} or {_shown(classes[1])}; got {_shown(values.ravel()[i])} "
            f"at position {i}. {remedy}"
        )
    return np.where(positive, 1.0, -1.0)


def _shown(value: Any) -> str:
    """A value as one would type it: the text '1' is not the number 1."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def as_column(values: Sequence[Any] | NDArray[Any], name: str, rows: int) -> NDArray[Any]:
    """Values of any kind as an array with one value per row; text as objects, so that None is not the text "None"."""
    array = np.asarray(values)
    if isinstance(values, np.ma.MaskedArray):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    if array.dtype.kind in "SU" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # keep None apart from the text "None"
    if array.shape != (rows,):
        raise InputError(
            f"{name} must have one value per row of X; got shape {array.shape} for {rows} rows. Align them."
        )
    return array


def column_values(column: Any) -> NDArray[Any]:
    """The values of a frame's column as an array; text and mixed values as objects, so that None stays None."""
    return np.asarray(list(column), dtype=object) if column.dtype == object else np.asarray(column.to_numpy())


def missing(labels: NDArray[Any]) -> Bools:
    """Which labels are missing: None, NaN, and pandas' own markers. The text "nan" is a class like any other."""
    if labels.dtype.kind == "f":
        unknown: Bools = np.isnan(labels)
        return unknown
    if labels.dtype.kind == "O":
        marks = ("None", "nan", "<NA>", "NaT")
        return np.array([not isinstance(v, str) and str(v) in marks for v in labels], dtype=bool)
    return np.zeros(labels.shape, dtype=bool)


def _numbers(values: NDArray[Any], classes: NDArray[Any], remedy: str) -> Floats:
    """Labels of more than two classes as 1.0, 2.0, ..., K."""
    number = np.zeros(values.shape)
    for k, name in enumerate(classes):
        number[values == name] = k + 1.0
    for i in np.flatnonzero(number.ravel() == 0.0)[:1]:
        some = ", ".join(map(_shown, classes[:4])) + (", ..." if len(classes) > 4 else "")
        raise InputError(f"labels must be one of {some}; got {_shown(values.ravel()[i])} at position {i}. {remedy}")
    return number


def positions(y: Floats, K: int) -> Ints:
    """The position in the classes of labels coded by `codes`.

    >>> positions(np.array([-1.0, 1.0]), 2).tolist(), positions(np.array([3.0, 1.0]), 3).tolist()
    ([0, 1], [2, 0])
    """
    return np.asarray(y > 0.0 if K == 2 else y - 1.0).astype(np.int64)


def classes_of(revealed: NDArray[Any], classes: Sequence[Any] | NDArray[Any] | None) -> NDArray[Any]:
    """The classes as given, or all that the revealed labels show."""
    if classes is not None:
        given = np.asarray(classes)
        if given.ndim != 1 or not 2 <= len(given) <= MOST_CLASSES or len(set(given.tolist())) < len(given):
            raise InputError(
                f"classes must be different values, (negative, positive) or from 3 to {MOST_CLASSES} of them; got "
                f"{classes!r:.60}. Name each class once."
            )
        return given
    values = set(revealed.tolist())
    try:
        seen = sorted(values)
    except TypeError:  # numbers and text
        seen = sorted(values, key=lambda v: (str(type(v)), v))
    if not seen:
        raise InputError(
            "y must show two classes; got 0 labels, so the classes are unknown. "
            "Pass classes=(negative, positive) to start without a label."
        )
    if len(seen) == 1:
        raise InputError(
            f"y must show two classes; all {len(revealed)} revealed rows are {seen[0]!s}. "
            "Pass classes=(negative, positive) to name the other class."
        )
    if len(seen) > MOST_CLASSES:
        raise InputError(
            f"y must have at most {MOST_CLASSES} classes; got {len(seen)}: {', '.join(map(str, seen[:4]))}, .... Merge "
            "rare classes, or cut a number into a few ranges."
        )
    return np.asarray(seen)
