"""`LoggedData`: a log in which labels were revealed only for some rows. It is validated once, here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InputError, unknown
from unskew.kept import Kept, checked_kept, counts_of, nearly_all
from unskew.rows import Bools, Floats, Rows, as_frame, as_rows, frame_rows, is_frame, take

LEAST_PROPENSITY = 1e-12
"""A label that had a smaller chance would weigh more than all others ever made, and squares of its weight overflow."""


@dataclass(frozen=True, init=False, eq=False)
class LoggedData:
    """The log T_0: m rows, each with the probability Q0(x) that its label was revealed.

    Parameters
    ----------
    X : array, SciPy sparse matrix or frame, shape (m, d)
        Features of *every* row of the log, revealed or not. All values must be finite.
    y : sequence of length m
        The label where it was revealed; NaN or None where it was not. The two class values can be of any kind.
    z : sequence of length m, optional
        Whether the label was revealed. If left out, it was revealed wherever `y` has a label.
    q0 : float or sequence of length m
        Logging propensities Q0(x) in (0, 1], and at least 1e-12: how likely each row was to be revealed.
    classes : pair, optional
        (negative, positive). Needed only if the revealed labels do not show both classes.
    floor : float, optional
        Raise smaller propensities (including zero and below) to this value instead of rejecting them.
    q0_estimated : bool
        Whether `q0` was estimated from the log itself (`unskew.sampling.propensity`) rather than recorded.
    features : sequence of str, optional
        Names of the columns of X, for logs that were passed as frames: later frames are read by these names.
    kept : Kept, optional
        If these rows are a sample of a longer log: how many rows of each kind that has (`counts`, `chance`).

    Attributes
    ----------
    y : array of +1.0 and -1.0, and 0.0 where unrevealed
    z : array of bool
    classes : array of the two class values, negative first

    Examples
    --------
    >>> log = LoggedData([[0.5], [1.0], [-1.0]], y=["paid", None, "default"], q0=[0.9, 0.1, 0.5])
    >>> log.m, log.classes.tolist(), log.y.tolist()
    (3, ['default', 'paid'], [1.0, 0.0, -1.0])
    """

    X: Rows
    y: Floats
    z: Bools
    q0: Floats
    classes: NDArray[Any] = field(repr=False)
    q0_estimated: bool = False
    features: tuple[str, ...] | None = None
    kept: Kept | None = None

    def __init__(
        self,
        X: Any,
        y: Sequence[Any] | NDArray[Any],
        z: ArrayLike | None = None,
        q0: ArrayLike = 1.0,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
        floor: float | None = None,
        q0_estimated: bool = False,
        features: Sequence[str] | None = None,
        kept: Kept | None = None,
    ) -> None:
        X = as_frame(X)
        if is_frame(X):
            features = list(X.columns) if features is None else list(features)
            rows = frame_rows(X, features)
        else:
            rows = as_rows(X)
        if isinstance(X, np.ndarray) and isinstance(rows, np.ndarray) and np.may_share_memory(X, rows):
            rows = rows.copy()  # frozen: later changes to the caller's array must not reach the log
        m = rows.shape[0]
        if m == 0:
            raise InputError("the log must have at least one row; got 0. Pass every row of the log, revealed or not.")
        labels = as_column(y, "y", m)
        has_label = ~missing(labels)
        revealed = has_label if z is None else reveal_bits(z, m)
        for i in np.flatnonzero(revealed & ~has_label)[:1]:
            raise InputError(
                f"z = 1 needs a label; got y = {labels[i]} at row {i}. Set z to 0 there or supply the label."
            )
        found = _class_pair(labels[revealed], classes)
        sign = np.zeros(m)
        sign[revealed] = signs(labels[revealed], found, "Map it to one of the two classes or leave the row unrevealed.")
        for name, value in (
            ("X", rows), ("y", sign), ("z", revealed), ("classes", found),
            ("q0", propensities(q0, m, floor=floor, may_raise=True)),
            ("q0_estimated", q0_estimated), ("features", None if features is None else tuple(features)),
            ("kept", checked_kept(kept, revealed)),
        ):  # fmt: skip
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Freeze copies and unpickled logs as well."""
        self.__dict__.update(state)
        for value in (self.X, self.y, self.z, self.q0, self.classes):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        propensity: str | float,
        revealed: str | None = None,
        features: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        floor: float | None = None,
    ) -> "LoggedData":
        """Read a Polars or pandas frame by column names; `features` defaults to all other columns.

        `propensity` may also be a number, which then holds for every row.

        >>> import polars as pl
        >>> frame = pl.DataFrame({"income": [1.0, 2.0], "paid": [1, None], "q0": [0.9, 0.2]})
        >>> LoggedData.from_frame(frame, label="paid", propensity="q0", classes=(0, 1)).m
        2
        """
        columns = list(frame.columns)
        special = [c for c in (label, propensity, revealed) if isinstance(c, str)]
        names = [c for c in columns if c not in special] if features is None else list(features)
        for name in special:
            if name not in columns:
                raise unknown("column of the frame", name, columns)
        if not names:
            raise InputError("the frame has no feature column left. Name them with features=.")
        return cls(
            frame_rows(frame, names, name="the frame"),
            column_values(frame[label]),
            None if revealed is None else frame[revealed].to_numpy(),
            frame[propensity].to_numpy() if isinstance(propensity, str) else propensity,
            classes=classes,
            floor=floor,
            features=names,
        )

    def rows_like(self, X: Any, *, name: str = "X") -> Rows:
        """Check further rows with the log's features: an array, sparse rows, or a frame with the log's columns."""
        X = as_frame(X)
        if is_frame(X):
            rows = frame_rows(X, self.features if self.features is not None else list(X.columns), name=name)
        else:
            rows = as_rows(X, name=name)
        if rows.shape[1] != self.n_features:
            raise InputError(
                f"{name} must have the log's {self.n_features} features; got {rows.shape[1]}. "
                "Pass the same columns in the same order."
            )
        return rows

    @property
    def m(self) -> int:
        """The number of rows of the log, revealed or not; of a longer log, the number of those that were kept."""
        return int(self.X.shape[0])

    @property
    def rows(self) -> int:
        """The number of rows of the whole log."""
        return self.m if self.kept is None else sum(self.kept)

    @property
    def labelled(self) -> int:
        """The number of labelled rows of the whole log."""
        return int(self.z.sum()) if self.kept is None else self.kept.labelled

    @property
    def rate(self) -> float:
        """The share of the labelled rows that were kept."""
        return 1.0 if self.kept is None or not self.kept.labelled else float(self.z.sum()) / self.kept.labelled

    @cached_property
    def counts(self) -> Floats | None:
        """The number of rows of the whole log that each row stands for; None if all were kept.

        >>> log = LoggedData([[0.0], [1.0], [2.0]], y=[1, None, None], q0=0.1, classes=(0, 1), kept=Kept(3, 20))
        >>> log.counts.tolist(), log.rows, log.chance.round(4).tolist()
        ([3.0, 10.0, 10.0], 23, [0.0333, 0.0333, 0.0333])
        """
        return None if self.kept is None else counts_of(self.z, self.kept)

    @property
    def chance(self) -> Floats:
        """How likely each row was to be revealed, and if the label was revealed to be kept."""
        return self.q0 if self.kept is None else self.q0 * self.rate

    @property
    def chance_here(self) -> Floats:
        """How likely each row was to be revealed, given that it is one of the rows kept."""
        if self.kept is None:
            return self.q0
        other = (1.0 - self.q0) * float((~self.z).sum()) / max(self.kept.unlabelled, 1)
        return np.asarray(self.chance / (self.chance + other))

    @property
    def only_labelled(self) -> bool:
        """Whether the log shows only those who were picked: (nearly) every row has a label, and nobody recorded q0.

        Such a log is not a sample of everyone, and nothing in it says how a model does on those who were not picked.

        >>> granted = LoggedData([[0.5], [1.0], [-1.0]], y=[1, 1, 0], q0_estimated=True)
        >>> granted.only_labelled, LoggedData(granted.X, y=[1, 1, 0], q0=1.0).only_labelled
        (True, False)
        """
        return self.q0_estimated and nearly_all(self.labelled, self.rows)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @cached_property
    def revealed_X(self) -> Rows:
        """Features of the revealed rows, in the log's order."""
        return take(self.X, self.z)

    @cached_property
    def revealed_y(self) -> Floats:
        """Labels of the revealed rows, +1.0 or -1.0, in the log's order."""
        return self.y[self.z]

    @cached_property
    def revealed_q0(self) -> Floats:
        """Propensities of the revealed rows, in the log's order."""
        return self.q0[self.z]

    @cached_property
    def revealed_before(self) -> NDArray[np.int64]:
        """Entry i is the number of revealed rows among the first i rows (length m + 1)."""
        return np.concatenate(([0], np.cumsum(self.z)))

    def __len__(self) -> int:
        return self.m


def propensities(
    q0: ArrayLike, rows: int, *, floor: float | None = None, name: str = "q0", may_raise: bool = False
) -> Floats:
    """`q0` as one float per row, each in (0, 1] and at least 1e-12; smaller values are raised to `floor`, if given.

    `may_raise` says whether the user could have passed a floor, so that the error can suggest it.
    """
    try:
        q = np.asarray(q0, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers in (0, 1]; got {q0!r:.60}. Pass propensities as floats.") from None
    if q.ndim == 0:
        q = np.full(rows, float(q))
    if q.shape != (rows,):
        raise InputError(f"{name} must have one value per row; got shape {q.shape} for {rows} rows. Align them.")
    if floor is not None:
        if not LEAST_PROPENSITY <= floor <= 1.0:
            least = f", and at least {LEAST_PROPENSITY:g}" if 0.0 < floor < 1.0 else ""
            raise InputError(f"floor must be in (0, 1]{least}; got {floor}. Try floor=0.005.")
        q = np.where(q < floor, floor, q)
    if rows and not (q.min() >= LEAST_PROPENSITY and q.max() <= 1.0):  # NaN fails both
        i = int(np.argmin((q >= LEAST_PROPENSITY) & (q <= 1.0)))
        least = f", and at least {LEAST_PROPENSITY:g}" if 0.0 < q[i] < 1.0 else ""
        remedy = "Drop the row or pass floor=." if q[i] < 1.0 and may_raise else "Correct the value or drop the row."
        raise InputError(f"{name} must be in (0, 1]{least}; got {q[i]} at row {i}. {remedy}")
    return np.ascontiguousarray(q)


def reveal_bits(z: ArrayLike, rows: int) -> Bools:
    """`z` as one bool per row; any value other than 0 and 1 is rejected."""
    bits: NDArray[Any] = np.asarray(z)
    if bits.shape != (rows,):
        raise InputError(f"z must have one value per row of X; got shape {bits.shape} for {rows} rows. Align them.")
    valid = (bits == 0) | (bits == 1)
    if not np.all(valid):
        i = int(np.argmin(valid))
        raise InputError(f"z must be 0 or 1; got {bits[i]} at row {i}. Use 1 where the label was revealed, else 0.")
    revealed: Bools = bits.astype(bool)
    return revealed


def signs(labels: ArrayLike, classes: NDArray[Any], remedy: str = "Map it to one of the two classes.") -> Floats:
    """Labels as +1.0 (the second class) and -1.0 (the first); any other value is rejected."""
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


def _class_pair(revealed: NDArray[Any], classes: Sequence[Any] | NDArray[Any] | None) -> NDArray[Any]:
    if classes is not None:
        pair = np.asarray(classes)
        if pair.shape != (2,) or pair[0] == pair[1]:
            raise InputError(f"classes must be two different values (negative, positive); got {classes!r}. Name both.")
        return pair
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
    if len(seen) > 2:
        shown = ", ".join(map(str, seen[:4])) + (", ..." if len(seen) > 4 else "")
        raise InputError(f"y must have two classes; got {len(seen)}: {shown}. Merge classes or drop the others' rows.")
    return np.asarray(seen)
