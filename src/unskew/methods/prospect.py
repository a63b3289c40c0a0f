"""What the next labels are expected to gain, in numbers and in words. Nothing that computes is imported here."""

from dataclasses import dataclass

AHEAD = 50
"""The gain is estimated for this number of next labels."""

PART = 0.04
"""The next labels are worth asking for if they gain at least this part of what the labels so far have gained."""

LEAST, MOST = 0.0005, 0.01
"""Whatever was gained so far, less than the first is never worth 50 labels, and the second always is."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """How much the next `labels` are expected to lower the error by themselves, and the least that is worth them.

    Both are shares of everyone: 0.01 is one percentage point.

    >>> print(Prospect(50, 0.012, 0.004))
    The next 50 labels are expected to lower the error by about 1.2 points.
    >>> print(Prospect(50, 0.0001, 0.004))
    More labels would gain little: the next 50 are expected to lower the error by less than 0.1 points.
    """

    labels: int
    gain: float
    least: float

    @property
    def enough(self) -> bool:
        """Whether it is time to stop: the next labels are not worth asking for."""
        return self.gain < self.least

    @property
    def each(self) -> float:
        """The expected gain for each label."""
        return self.gain / max(self.labels, 1)

    def __str__(self) -> str:
        points = f"{100 * self.gain:.1f}"
        by = "less than 0.1 points" if points == "0.0" else f"about {points} point{'s' if points != '1.0' else ''}"
        if self.enough:
            return f"More labels would gain little: the next {self.labels} are expected to lower the error by {by}."
        return f"The next {self.labels} labels are expected to lower the error by {by}."


def least_worth(gained: float, labels: int) -> float:
    """The least gain that is worth this number of labels, given what the labels so far have gained.

    >>> [round(least_worth(gained, 50), 4) for gained in (0.0, 0.1, 0.4)]
    [0.0005, 0.004, 0.01]
    """
    return min(max(PART * gained, LEAST), MOST) * labels / AHEAD
