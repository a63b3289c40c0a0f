"""What comes into a classifier, checked as scikit-learn does it: feature names, shapes, types, two classes, weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_X_y, validate_data

from unskew.errors import InputError
from unskew.labels import MOST_CLASSES, missing
from unskew.rows import Floats, Rows, all_usable, arrow_frame, as_weights, frame_rows, unusable

BLOCK = 20_000
"""Rows classified at a time: their features, as many as a model may make of them, take up to 40 MB."""

ADD_ROWS = "Add rows of the other class."

_CHECKS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": False}


def training_rows(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool, least: int = 1
) -> tuple[Rows, NDArray[Any], Floats]:
    """Rows, labels and weights to learn from, `least` rows or more. Whether values can be used is left to the caller.

    The `first` call records the number and names of the features on the estimator; later calls must match them.
    """
    frame = _named(estimator, X, first=first)
    try:
        check_consistent_length(X if frame is None else frame, y)
    except ValueError as error:
        raise InputError(f"X and y must have one entry per row: {error}. Align them.") from None
    if frame is None:
        X, y = validate_data(estimator, X, y, reset=first, ensure_min_samples=least, **_CHECKS)
    else:
        for i in np.flatnonzero(missing(np.asarray(y)))[:1]:
            raise InputError(f"y must have a label for every row; got none at row {i}. Keep the rows that have one.")
        rows = frame_rows(frame, frame.columns)
        X, y = check_X_y(rows, y, estimator=estimator, ensure_min_samples=least, **_CHECKS)
        validate_data(estimator, frame, y, reset=first, skip_check_array=True)
    check_classification_targets(y)
    return as_csr_or_dense(X), y, as_weights(sample_weight, X.shape[0])


def further_rows(estimator: Any, X: Any) -> Rows:
    """Rows to classify, with the features of the training rows. Whether values can be used is left to the caller."""
    frame = _named(estimator, X, first=False)
    if frame is None:
        return as_csr_or_dense(validate_data(estimator, X, reset=False, ensure_min_samples=0, **_CHECKS))
    validate_data(estimator, frame, reset=False, skip_check_array=True)
    return frame_rows(frame, frame.columns)


def _named(estimator: Any, X: Any, *, first: bool) -> Any:
    """A Polars frame or Arrow table as a frame with the estimator's features in their order; None for other rows.

    Its columns are read by name, because a reader returns them in the order of the file.
    """
    frame = arrow_frame(X)
    known = None if first else getattr(estimator, "feature_names_in_", None)
    if frame is None or known is None:
        return frame
    for kind, names, others in (("no", known, frame.columns), ("the unknown", frame.columns, known)):
        odd = [name for name in names if name not in others]
        if odd:
            raise InputError(
                f"X has {kind} column {odd[0]!r}; the model was fitted with {', '.join(known)}. Select these columns."
            )
    return frame.select(known)


def as_csr_or_dense(X: Any) -> Rows:
    """An array as it is; sparse rows as a CSR array in canonical form (sorted, no duplicate entries)."""
    if isinstance(X, np.ndarray):
        return X
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def two_classes(labels: NDArray[Any], *, remedy: str = ADD_ROWS) -> NDArray[Any]:
    """The two class values among the labels, sorted; `remedy` is the advice where there is only one.

    >>> two_classes(np.array(["paid", "default", "paid"])).tolist()
    ['default', 'paid']
    """
    found = np.unique(labels)
    if len(found) > 2:
        shown = ", ".join(map(str, found[:4])) + (", ..." if len(found) > 4 else "")
        raise InputError(
            f"Only binary classification is supported. y must have two classes; got {len(found)}: {shown}. "
            "Merge classes or drop the others' rows."
        )
    return classes_among(labels, remedy=remedy)


def classes_among(labels: NDArray[Any], *, remedy: str = ADD_ROWS) -> NDArray[Any]:
    """The class values among the labels, sorted; `remedy` is the advice where there is only one."""
    classes = np.unique(labels)
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"y must show at most {MOST_CLASSES} classes; got {len(classes)}. Merge rare classes, or cut a number into "
            "a few ranges."
        )
    if len(classes) < 2:
        shown = f"one class: {classes[0]}" if len(classes) else "no label"
        raise InputError(f"y must show two classes; got {shown}. {remedy}")
    return classes


def check_usable(X: Rows) -> None:
    """Refuse NaN, infinity and values too large to learn from, naming the first cell that holds one."""
    if not all_usable(X):
        raise unusable(X)


def check_some_weight(v: Floats) -> None:
    """Refuse weights that are all 0."""
    if not v.any():
        raise InputError("sample_weight must not be zero for every row. Leave it out to count all rows equally.")


def of_blocks(model: Any, X: Any, value: Callable[[Rows], Floats]) -> Floats:
    """A value of every row for a fitted model, computed from one block of rows after another."""
    rows = further_rows(model, X)
    check_usable(rows)
    blocks = (rows[k : k + BLOCK] for k in range(0, max(rows.shape[0], 1), BLOCK))
    return np.concatenate([value(block) for block in blocks])
