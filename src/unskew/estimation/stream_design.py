"""The sampling design on a stream, whose rows come by once and are asked for each by a draw of its own."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unskew.errors import InputError
from unskew.estimation.design import Design, Expected, Moments, Revealed
from unskew.rows import Bools, Floats


@dataclass(frozen=True, eq=False)
class StreamDesign(Design):
    """The sampling design on a stream: m log rows, then n rows that came by, each asked for by a draw of its own.

    Row i of the stream was asked for with the chance `p_i`, which was known before. So the stream is a second log, but
    one whose propensities cannot be wrong. Its variance includes that of its rows.

    >>> design = StreamDesign([True], [0.5], 4, asked=[True, False, False, True], p=[1.0, 0.1, 0.1, 0.1])
    >>> design.pool_weights(0.25).tolist(), design.draws
    ([0.25, 0.0, 0.0, 2.5], 2)
    """

    asked: Bools = field(kw_only=True)
    p: Floats = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.counts is not None:
            raise InputError(f"a stream holds each of its {self.n} rows; got counts. Leave them out.")
        object.__setattr__(self, "asked", np.asarray(self.asked, dtype=bool))
        object.__setattr__(self, "p", np.asarray(self.p, dtype=np.float64))
        if not self.asked.shape == self.p.shape == (self.n,):
            raise InputError(
                f"asked and p must have one value for each of the {self.n} stream rows; got shapes {self.asked.shape}, "
                f"{self.p.shape}. Align them."
            )
        for i in np.flatnonzero(~((self.p > 0.0) & (self.p <= 1.0)))[:1]:
            raise InputError(
                f"every stream row must have been asked for with a known positive probability; got {self.p[i]} at row "
                f"{i}. Use StreamedUnskew with drawn= above 0."
            )

    @cached_property
    def labelled(self) -> Bools:
        return np.concatenate([self.z, self.asked])

    @property
    def complete(self) -> bool:
        """Never: a stream goes on."""
        return False

    @cached_property
    def draws(self) -> int:
        return int(np.count_nonzero(self.asked))

    def pool_weights(self, even: float) -> Floats:
        """1 / (n p_i) for the rows that were asked for. Given the earlier rows, each has the mean 1 / n."""
        return self.asked / self.p / self.n

    def anticipated(self, expected: Floats, even: float) -> float:
        return Revealed(self.asked, self.p).anticipated(expected)

    def moments(self, x: Floats, expected: Expected, even: float) -> Moments:
        return Revealed(self.asked, self.p).moments(x, expected)

    def of_rows(self, expected: Floats) -> float:
        """Nothing: `moments` include it."""
        return 0.0
