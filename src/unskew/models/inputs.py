"""What comes into a classifier, checked as scikit-learn does it: feature names, shapes, types, two classes, weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, validate_data

from unskew.errors import InputError
from unskew.rows import Floats, Rows, all_usable, as_weights, unusable

BLOCK = 20_000
"""Rows classified at a time: their features, as many as a model may make of them, take up to 40 MB."""

_CHECKS = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": False}


def training_rows(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool
) -> tuple[Rows, NDArray[Any], Floats]:
    """Rows, labels and weights to learn from. Whether the values can be used is left to the caller.

    The `first` call records the number and names of the features on the estimator; later calls must match them.
    """
    try:
        check_consistent_length(X, y)
    except ValueError as error:
        raise InputError(f"X and y must have one entry per row: {error}. Align them.") from None
    X, y = validate_data(estimator, X, y, reset=first, **_CHECKS)
    check_classification_targets(y)
    return as_csr_or_dense(X), y, as_weights(sample_weight, X.shape[0])


def further_rows(estimator: Any, X: Any) -> Rows:
    """Rows to classify, with the features of the training rows. Whether values can be used is left to the caller."""
    return as_csr_or_dense(validate_data(estimator, X, reset=False, ensure_min_samples=0, **_CHECKS))


def as_csr_or_dense(X: Any) -> Rows:
    """An array as it is; sparse rows as a CSR array in canonical form (sorted, no duplicate entries)."""
    if isinstance(X, np.ndarray):
        return X
    rows = sparse.csr_array(X)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def two_classes(labels: NDArray[Any], *, remedy: str = "Add rows of the other class.") -> NDArray[Any]:
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
    if len(found) < 2:
        raise InputError(f"y must show two classes; got one class: {', '.join(map(str, found))}. {remedy}")
    return found


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
