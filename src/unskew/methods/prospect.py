"""What the next labels are expected to gain, in numbers and in words. Nothing that computes is imported here."""

from dataclasses import dataclass

AHEAD = 50
"""The gain is estimated for this number of next labels."""

PART = 0.02
"""The next labels are worth asking for if they gain at least this part of what the labels so far have gained."""

LEAST, MOST = 0.00025, 0.005
"""Whatever was gained so far, less than the first is never worth 50 labels, and the second always is."""


SHOWN = 0.001
"""The least share of everyone that is told as a number."""

WORDS = {
    "error": "lower the error by {}",
    "cost": "lower the mean cost of a row by {}",
    "false_alarms": "be worth {} fewer false alarms in 100 rows",
}
"""What the next labels are expected to do."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """How much the next `labels` are expected to lower the error by themselves, and the least that is worth them.

    Both are shares of everyone: 0.01 is one percentage point. If errors differ in what they cost, `measure` is "cost",
    and both are costs of a row. If a recall is wanted, it is "false_alarms", and both are shares of everyone again: how
    many false alarms fewer would be worth as much, at the same recall.

    >>> print(Prospect(50, 0.012, 0.004))
    The next 50 labels are expected to lower the error by about 1.2 points.
    >>> print(Prospect(50, 0.0001, 0.004))
    More labels would gain little: the next 50 are expected to lower the error by less than 0.1 points.
    >>> print(Prospect(50, 0.0123, 0.004, "cost"))
    The next 50 labels are expected to lower the mean cost of a row by about 0.012.
    >>> print(Prospect(50, 0.012, 0.004, "false_alarms"))
    The next 50 labels are expected to be worth about 1.2 fewer false alarms in 100 rows.
    """

    labels: int
    gain: float
    least: float
    measure: str = "error"

    @property
    def enough(self) -> bool:
        """Whether it is time to stop: the next labels are not worth asking for."""
        return self.gain < self.least

    @property
    def each(self) -> float:
        """The expected gain for each label."""
        return self.gain / max(self.labels, 1)

    def amount(self, gain: float, decimals: int = 1) -> str:
        """A gain with its unit."""
        if self.measure == "cost":
            return f"{gain:.2g}"
        number = f"{100 * gain:.{decimals}f}"
        return number if self.measure != "error" else f"{number} point{'s' if float(number) != 1.0 else ''}"

    def words(self, by: str) -> str:
        """What the next labels are expected to do, as the end of a sentence about them."""
        return WORDS[self.measure].format(by)

    def __str__(self) -> str:
        few = self.measure != "cost" and self.gain < SHOWN / 2.0
        by = f"less than {self.amount(SHOWN)}" if few else f"about {self.amount(self.gain)}"
        if self.enough:
            return f"More labels would gain little: the next {self.labels} are expected to {self.words(by)}."
        return f"The next {self.labels} labels are expected to {self.words(by)}."


def least_worth(gained: float, labels: int, unit: float = 1.0) -> float:
    """The least gain that is worth this number of labels, given what the labels so far have gained.

    `unit` is what an error costs.

    >>> [round(least_worth(gained, 50), 4) for gained in (0.0, 0.1, 0.4)]
    [0.0003, 0.002, 0.005]
    """
    return min(max(PART * gained, LEAST * unit), MOST * unit) * labels / AHEAD
