"""What wrong decisions cost, and therefore from what probability on a row is flagged."""

import math
from dataclasses import dataclass

from unskew.errors import InputError

LEAST, MOST = 1e-6, 1e6
"""The range of costs. Beyond it, one of the two errors might as well be free."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a false alarm (false positive) and of a missed positive (false negative).

    A row with probability p of being positive costs (1 - p) false_positive on average if it is flagged, and
    p false_negative if it is not. So it is flagged if p is at least ``false_positive / (false_positive +
    false_negative)``.

    >>> costs = Costs(false_negative=9.0)
    >>> costs.threshold, Costs().threshold
    (0.1, 0.5)
    >>> costs.told("yes")
    "A missed 'yes' costs 9, a false alarm 1: a row is flagged if its probability is at least 0.1."
    """

    false_positive: float = 1.0
    false_negative: float = 1.0

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            cost = getattr(self, name)
            if not isinstance(cost, (int, float)) or not LEAST <= cost <= MOST:
                what = name.replace("_", " ")
                raise InputError(
                    f"the cost of a {what} must be a number from {LEAST:g} to {MOST:g}; got {cost!r}. "
                    "Only the ratio of the two costs decides: try 10 and 1."
                )

    @property
    def equal(self) -> bool:
        """Whether both errors cost 1, as usual."""
        return self.false_positive == self.false_negative == 1.0

    @property
    def threshold(self) -> float:
        """The probability from which on a row is flagged."""
        return self.false_positive / (self.false_positive + self.false_negative)

    @property
    def log_odds(self) -> float:
        """The threshold as log-odds; 0 if both errors cost the same."""
        return math.log(self.false_positive / self.false_negative)

    def told(self, positive: str) -> str:
        """The decision in one sentence, where `positive` is the name of the positive class."""
        return (
            f"A missed {positive!r} costs {self.false_negative:g}, a false alarm {self.false_positive:g}: a row is "
            f"flagged if its probability is at least {probability(self.threshold)}."
        )


def probability(p: float) -> str:
    """A probability with two digits of it or of its distance from 1, whichever is smaller.

    >>> probability(0.0912), probability(0.5), probability(0.9962)
    ('0.091', '0.5', '0.9962')
    """
    return f"{p:.2g}" if p <= 0.5 else f"{1.0 - float(f'{1.0 - p:.2g}'):.10g}"


EQUAL = Costs()
"""Both errors cost 1: what is counted is the error."""
