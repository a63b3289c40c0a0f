"""What further labels would do to the interval of the error, in numbers. Nothing that computes is imported here."""

from typing import NamedTuple


class Needed(NamedTuple):
    """The number of further labels that bring the interval of the error to +- `half_width`, and how many are drawn.

    Both are None if the pool has not enough rows.
    """

    half_width: float
    labels: int | None
    drawn: int | None


class Ahead(NamedTuple):
    """What is to be expected: the half-width once the labels that are left are bought, and labels for some widths."""

    left: int
    half_width: float
    needed: tuple[Needed, ...]

    def after(self, given: int) -> "Ahead":
        """The same once some of these labels are given.

        >>> Ahead(90, 0.03, (Needed(0.02, 140, 56), Needed(0.01, None, None))).after(40)
        Ahead(left=50, half_width=0.03, needed=(Needed(half_width=0.02, labels=100, drawn=40), Needed(half_width=...
        """
        return Ahead(max(self.left - given, 0), self.half_width, tuple(_less(plan, given) for plan in self.needed))


def _less(plan: Needed, given: int) -> Needed:
    """What is needed yet: at least a label, until the interval was looked at again."""
    if not plan.labels or plan.drawn is None:
        return plan
    labels = max(plan.labels - given, 1)
    return Needed(plan.half_width, labels, round(plan.drawn * labels / plan.labels))
