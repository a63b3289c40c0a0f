"""`LoggedData`: a log in which labels were revealed only for some rows. It is validated once, here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InputError, unknown
from unskew.kept import Kept, checked_kept, counts_of, nearly_all
from unskew.labels import as_column, classes_of, codes, column_values, missing
from unskew.rows import Blocks, Bools, Floats, Rows, as_frame, as_rows, frame_rows, is_frame, take

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
        The label where it was revealed; NaN or None where it was not. Class values can be of any kind.
    z : sequence of length m, optional
        Whether the label was revealed. If left out, it was revealed wherever `y` has a label.
    q0 : float or sequence of length m
        Logging propensities Q0(x) in (0, 1], and at least 1e-12: how likely each row was to be revealed.
    classes : sequence, optional
        (negative, positive), or all classes if there are more than two. Needed only if the revealed labels do not show
        every class.
    floor : float, optional
        Raise smaller propensities (including zero and below) to this value instead of rejecting them.
    q0_estimated : bool
        Whether `q0` was estimated from the log itself (`unskew.sampling.propensity`) rather than recorded.
    features : sequence of str, optional
        Names of the columns of X, for logs that were passed as frames: later frames are read by these names.
    kept : Kept, optional
        If these rows are a sample of a longer log: how many rows of each kind that has (`counts`, `chance`).
    blocks : sequence of pairs, optional
        Neighbouring columns of X whose scales compare, such as those of an embedding: the first, and the one after the
        last. They are scaled together.

    Attributes
    ----------
    y : array of +1.0 and -1.0, and 0.0 where unrevealed; of more than two classes, their numbers 1.0, 2.0, ...
    z : array of bool
    classes : array of the class values, of two the negative one first

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
    blocks: Blocks = ()

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
        blocks: Blocks = (),
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
        found = classes_of(labels[revealed], classes)
        code = np.zeros(m)
        code[revealed] = codes(labels[revealed], found, "Map it to one of the classes or leave the row unrevealed.")
        for name, value in (
            ("X", rows), ("y", code), ("z", revealed), ("classes", found),
            ("q0", propensities(q0, m, floor=floor, may_raise=True)),
            ("q0_estimated", q0_estimated), ("features", None if features is None else tuple(features)),
            ("kept", checked_kept(kept, revealed)), ("blocks", _checked_blocks(blocks, rows.shape[1])),
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
    def K(self) -> int:
        """The number of classes."""
        return len(self.classes)

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
        """Labels of the revealed rows, coded as in `y`, in the log's order."""
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


def _checked_blocks(blocks: Blocks, columns: int) -> Blocks:
    """The blocks in their order, none of which overlap."""
    found = tuple(sorted((int(start), int(end)) for start, end in blocks))
    last = 0
    for start, end in found:
        if not last <= start < end <= columns:
            raise InputError(
                f"blocks must be pairs (first column, column after the last) within {columns} columns that do not "
                f"overlap; got {(start, end)}. Correct it."
            )
        last = end
    return found


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
