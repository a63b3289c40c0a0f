"""The two protocols of the experiments: what the released program did, and what the paper's text says."""

from dataclasses import dataclass

from unskew.errors import unknown

TRAINING = 0.8
"""In both, the share of rows that is for training: the log and the stream. The others are test rows."""

FRESH = 1000
"""The number of the first fresh repeat; tuning uses repeats 0, 1, ... .

Fresh repeats are other splits. Of a data set of more than 6000 rows they are also other cuts, and synthetic data are
drawn anew; a smaller data set has the same rows in all repeats.
"""

GRIDS = {
    # protocol.md, Parameters
    "released": ([0.01 * 4.0**k for k in range(9)], [0.0001 * 4.0**k for k in range(9)] + [3.0, 10.0]),
    # the text: 0.01 and 0.0001 times 2^k, k = 0, 2, ..., 18
    "text": ([0.01 * 4.0**k for k in range(10)], [0.0001 * 4.0**k for k in range(10)]),
    # the released one with C down to 1e-5, to see how much rests on its edge
    "wide": ([0.01 * 4.0**k for k in range(-5, 9)], [0.0001 * 4.0**k for k in range(9)] + [3.0, 10.0]),
    "coarse": ([0.01, 0.64, 10.24], [0.0016, 0.0256, 0.4096]),
}
"""The values of C and of eta that are tried."""


@dataclass(frozen=True)
class Protocol:
    """Every choice in which the text and the program that its authors released differ (docs/protocol.md).

    To see what one difference does, change one field: `dataclasses.replace(RELEASED, logged_fraction=0.5)`.
    """

    name: str
    variant: str
    """The methods': "released" or "paper"."""
    data: str
    """The variant of data sets and policies; "paper" also takes all 581,012 rows of covtype, as Table 5 does."""
    logged_fraction: float | None
    """The share of training rows that is the log; None for the share that the label budget asks for."""
    budget: str
    """What curves are compared up to: "planned" labels B, and flat on to 2 (B + 1), or the whole "stream"."""
    first_horizon: int
    """Where methods know n in advance, they run for this n, twice as many, and so on."""
    grid: str
    tune_repeats: int
    repeats: int
    fresh: bool
    """Whether the chosen setting is measured on other repeats than those that chose it."""

    @property
    def reported(self) -> range:
        """The numbers of the repeats on which the chosen setting is measured."""
        first = FRESH if self.fresh else 0
        return range(first, first + self.repeats)


RELEASED = Protocol(
    "released", variant="released", data="released", logged_fraction=None, budget="planned", first_horizon=10,
    grid="released", tune_repeats=16, repeats=64, fresh=True,
)  # fmt: skip

TEXT = Protocol(
    "text", variant="paper", data="paper", logged_fraction=0.5, budget="stream", first_horizon=20,
    grid="text", tune_repeats=10, repeats=10, fresh=False,
)  # fmt: skip

PROTOCOLS = {protocol.name: protocol for protocol in (RELEASED, TEXT)}


def protocol_named(name: str) -> Protocol:
    """The protocol of that name.

    >>> protocol_named("text").logged_fraction
    0.5
    """
    if name not in PROTOCOLS:
        raise unknown("protocol", name, tuple(PROTOCOLS))
    return PROTOCOLS[name]
