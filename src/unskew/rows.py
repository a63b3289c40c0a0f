"""Feature rows, dense or CSR (compressed sparse rows), from arrays or frames: checked once, then sliced and stacked.

A row set is a C-contiguous float64 array or a SciPy CSR array in canonical form. Both have
`.shape`, and both can be sliced by rows. The rest of the package handles rows only through these few functions.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from unskew.errors import InputError, exact

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]
Blocks: TypeAlias = Sequence[tuple[int, int]]
"""Neighbouring columns whose scales compare: the first of them, and the one after the last."""
Keys: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.float64] | sparse.csr_array

LARGEST_FEATURE = 1e100
"""Sums of squares of larger values overflow, or leave nothing of all other features."""


LARGEST_IN_TREE = 1e30
"""scikit-learn sums what a tree sees in single precision, which ends at 3.4e38. Sums of 10^8 values
of this size do not reach it."""


def as_rows(X: ArrayLike | Any, *, name: str = "X", columns: Sequence[str] | None = None) -> Rows:
    """`X` as float64 rows, dense or CSR, with every value finite and at most 1e100 in size."""
    rows: Rows
    if sparse.issparse(X):
        rows = sparse.csr_array(X, dtype=np.float64, copy=True)
        rows.sum_duplicates()
    else:
        try:
            rows = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must hold numbers only: {error}. Encode text columns first.") from None
        if rows.ndim != 2:
            raise InputError(
                f"{name} must have two dimensions (rows x features); got shape {rows.shape}. "
                "Reshape a single feature with X.reshape(-1, 1)."
            )
    if rows.shape[1] == 0:
        raise InputError(f"{name} must have at least one feature; got shape {rows.shape}. Pass the feature columns.")
    if not all_usable(rows):
        raise unusable(rows, name=name, columns=columns)
    return rows


def for_tree(X: Rows) -> Rows:
    """Values as far as scikit-learn's trees can hold and sum them; larger ones are cut.

    >>> for_tree(np.array([[1.5, -1e40]])).tolist()
    [[1.5, -1e+30]]
    """
    if isinstance(X, np.ndarray):
        return np.clip(X, -LARGEST_IN_TREE, LARGEST_IN_TREE)
    held = X.copy()
    held.data = np.clip(held.data, -LARGEST_IN_TREE, LARGEST_IN_TREE)
    return held


def is_frame(X: Any) -> bool:
    """Whether `X` is a Polars or pandas frame: something with named columns."""
    return hasattr(X, "to_numpy") and hasattr(X, "columns")


def arrow_frame(X: Any) -> Any:
    """Columns that come through Arrow's interface, such as a record batch, as a Polars frame; None for anything else.

    A pandas frame is not among them, although it has that interface: scikit-learn says how its columns are read.
    """
    if hasattr(X, "iloc") or not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return None
    import polars as pl  # here, because arrays do not need it

    try:
        return pl.DataFrame(X)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"X must be a table of named columns: {error}. Rename, convert or drop the column.") from None


def as_frame(X: Any) -> Any:
    """The same, but columns that come through Arrow's interface as a Polars frame, so that they are read by name."""
    frame = arrow_frame(X)
    return X if frame is None else frame


def frame_rows(frame: Any, names: Sequence[str], *, name: str = "X") -> Rows:
    """The columns of a frame with these names, in this order, as rows. They must hold numbers or booleans.

    >>> import polars as pl
    >>> frame_rows(pl.DataFrame({"age": [30, 41], "member": [True, False]}), ["member", "age"]).tolist()
    [[1.0, 30.0], [0.0, 41.0]]
    """
    missing = [column for column in names if column not in frame.columns]
    if missing:
        raise InputError(
            f"{name} has no column {missing[0]!r}; it has {', '.join(map(str, frame.columns))}. Add or rename a column."
        )
    rows = np.empty((len(frame), len(names)))
    for j, column in enumerate(names):
        try:
            rows[:, j] = np.asarray(_numbers(frame[column]), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"column {column!r} of {name} must hold numbers or booleans; got {frame[column].dtype}. "
                "Encode it, leave it out, or use a Campaign, which encodes columns of mixed types."
            ) from None
    return as_rows(rows, name=name, columns=names)


def _numbers(column: Any) -> Any:
    """The values of a column of numbers or booleans; a date or the text "00017" could be converted, but is neither."""
    dtype = column.dtype
    polars = hasattr(dtype, "is_numeric")
    if not (dtype.is_numeric() or str(dtype) == "Boolean" if polars else getattr(dtype, "kind", "O") in "biuf"):
        raise TypeError(dtype)
    return (column.cast(float) if polars else column).to_numpy()  # an empty cell becomes NaN, in a boolean column too


def as_weights(sample_weight: ArrayLike | None, rows: int) -> Floats:
    """One weight for each of the given number of rows: 0 or more, and 1 by default."""
    if sample_weight is None:
        return np.ones(rows)
    v = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if v.shape != (rows,):
        raise InputError(
            f"sample_weight must have one value per row of X; got shape {v.shape} for {rows} rows. Align them."
        )
    good = (v >= 0.0) & (v < np.inf)
    if not good.all():
        i = int(np.argmin(good))
        raise InputError(f"sample_weight must be 0 or more and finite; got {v[i]} at row {i}. Correct or drop the row.")
    return v


def all_usable(X: Rows) -> bool:
    """Whether every value is finite and at most 1e100 in size."""
    values = X if isinstance(X, np.ndarray) else X.data
    return not values.size or bool(values.max() <= LARGEST_FEATURE and values.min() >= -LARGEST_FEATURE)  # NaN fails


def unusable(X: Rows, *, name: str = "X", columns: Sequence[str] | None = None) -> InputError:
    """The error that names the first cell of `X` that is NaN, infinite or too large, by its column's name if known."""
    if isinstance(X, np.ndarray):
        i, j = np.argwhere(~(np.abs(X) <= LARGEST_FEATURE))[0]
        value = X[i, j]
    else:
        cells = X.tocoo()
        k = int(np.flatnonzero(~(np.abs(cells.data) <= LARGEST_FEATURE))[0])
        i, j, value = cells.row[k], cells.col[k], cells.data[k]
    column = j if columns is None else repr(str(columns[j]))
    if np.isfinite(value):
        return InputError(
            f"{name} must be at most {LARGEST_FEATURE:g} in size; got {exact(float(value))} "
            f"at row {i}, column {column}. "
            "Scale the feature, or drop the row if the value means missing."
        )
    return InputError(
        f"{name} must be finite; got {value} at row {i}, column {column}. "
        "Impute or drop the row: NaN and infinity cannot be learned from."
    )


def take(X: Rows, keep: Bools | Ints) -> Rows:
    """The rows of `X` selected by a mask or by positions."""
    rows: Rows = X[keep]
    return rows


def stack(parts: list[Rows]) -> Rows:
    """The rows of all parts, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def keys(X: Rows) -> list[bytes]:
    """One hashable key per row; equal rows have equal keys.

    >>> len(set(keys(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))))
    2
    """
    if isinstance(X, np.ndarray):
        return [row.tobytes() for row in X + 0.0]  # -0.0 and 0.0 are one value
    ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[lo:hi].astype(np.int64).tobytes() + X.data[lo:hi].tobytes() for lo, hi in ends]


class Growing:
    """Rows to which further rows are appended at the end; n rows cost O(n) in total.

    Several owners may share one object, and each knows how many of its first rows belong to them. The first owner to
    extend it uses the free space at the end in place. An owner who later adds different rows gets a copy, so no owner
    sees the rows of another.

    >>> rows = Growing(np.array([1.0, 2.0]))
    >>> one = rows.extended(2, np.array([3.0])); other = rows.extended(2, np.array([9.0, 9.0]))
    >>> one.first(3).tolist(), other.first(4).tolist(), rows.first(2).tolist()
    ([1.0, 2.0, 3.0], [1.0, 2.0, 9.0, 9.0], [1.0, 2.0])
    """

    __slots__ = ("_filled", "_room")

    def __init__(self, rows: Any) -> None:
        self._room, self._filled = rows, rows.shape[0]

    def first(self, used: int) -> Any:
        """The first `used` rows."""
        return self._room[:used]

    def extended(self, used: int, new: Any) -> "Growing":
        """The first `used` rows followed by `new`."""
        if not (isinstance(self._room, np.ndarray) and isinstance(new, np.ndarray)):
            return Growing(stack([self._room[:used], new]))
        end = used + len(new)
        if used == self._filled and end <= len(self._room):
            self._room[used:end] = new
            self._filled = end
            return self
        room = np.empty((max(end, 2 * len(self._room)), *self._room.shape[1:]))
        room[:used], room[used:end] = self._room[:used], new
        longer = Growing(room)
        longer._filled = end
        return longer
