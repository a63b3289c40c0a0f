"""How far two people who label the same rows agree, and what labels that are partly wrong do to an estimated error."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

Z = 1.959963984540054
"""Of a 95 % interval."""

ENOUGH = 10
"""The number of rows that two people must have seen before anything is said about labels that are wrong."""
MATTERS = 0.25
"""Wrong labels are worth a word once they move the error by this share of half the width of its interval."""


class Agreement(NamedTuple):
    """The share of rows on which two people gave the same label, and Cohen's kappa, both with a 95 % interval.

    Kappa is 1 if they always agree, and 0 if they agree no more often than two people who give the same labels as
    often, but at random. It is None if there is only one label, and so nothing to agree on.
    """

    rows: int
    raw: float
    low: float
    high: float
    kappa: float | None = None
    kappa_low: float | None = None
    kappa_high: float | None = None


def agreement(first: Sequence[str], second: Sequence[str]) -> Agreement | None:
    """The agreement on rows of which two people gave these labels; None if there is no row.

    With the share p_o of rows on which they agree, and p_e = sum_k a_k b_k, where a and b are the shares of the labels
    of each, kappa (Cohen 1960) is ::

        kappa = (p_o - p_e) / (1 - p_e)

    The interval of p_o is Wilson's (1927). That of kappa is the wider one of two: the interval of p_o put into the
    formula, which is right where all agree, and the usual one from the variance of kappa for many rows.

    >>> found = agreement(["yes"] * 50 + ["no"] * 50, ["yes"] * 40 + ["no"] * 60)
    >>> f"{found.raw:.2f} ({found.low:.2f} to {found.high:.2f}), kappa {found.kappa:.2f}"
    '0.90 (0.83 to 0.94), kappa 0.80'
    """
    n = len(first)
    if not n:
        return None
    same = [float(a == b) for a, b in zip(first, second, strict=True)]
    raw = sum(same) / n
    low, high = _wilson(raw, n)
    a, b = Counter(first), Counter(second)
    by_chance = sum(a[label] * b[label] for label in a) / n**2
    if by_chance > 1.0 - 1e-12:
        return Agreement(n, raw, low, high)
    left = 1.0 - by_chance
    kappa = (raw - by_chance) / left
    # What each row does to kappa: the derivative of the formula, for large n.
    expected = [(b[x] + a[y]) / n - 2.0 * by_chance for x, y in zip(first, second, strict=True)]
    moves = [((s - raw) * left - (1.0 - raw) * e) / left**2 for s, e in zip(same, expected, strict=True)]
    error = Z * math.sqrt(sum(move**2 for move in moves)) / n
    ends = [(end - by_chance) / left for end in (low, high)]
    return Agreement(
        n, raw, low, high, kappa, max(-1.0, min(ends[0], kappa - error)), min(1.0, max(ends[1], kappa + error))
    )


def _wilson(share: float, n: int) -> tuple[float, float]:
    middle, spread = share + Z**2 / (2 * n), Z * math.sqrt(share * (1.0 - share) / n + Z**2 / (4 * n**2))
    whole = 1.0 + Z**2 / n
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def wrong_labels(differ: float, classes: int) -> float:
    """The share of labels that are wrong, if two people give different labels on this share of the rows.

    Both are taken to be wrong equally often (e), independently, and in favour of any other class alike. Then they agree
    with chance (1 - e)^2 + e^2 / (K - 1).

    >>> round(wrong_labels(0.18, 2), 3), wrong_labels(0.0, 4), wrong_labels(0.7, 2)
    (0.1, 0.0, 0.5)
    """
    a = classes / (classes - 1)
    return (1.0 - math.sqrt(max(0.0, 1.0 - a * differ))) / a


def against_true_labels(error: float, wrong: float, classes: int) -> float:
    """The error against true labels, if it is `error` against labels of which this share is wrong at random.

    >>> round(against_true_labels(0.12, 0.05, 2), 3)
    0.078
    """
    left = 1.0 - wrong - wrong / (classes - 1)
    return min(1.0, max(0.0, (error - wrong) / left)) if left > 0.0 else math.nan


def label_noise(found: Agreement | None, error: tuple[float, float, float], classes: int) -> str | None:
    """What labels that are partly wrong do to an estimated error (value, low, high), if that is worth a word.

    >>> two = agreement(["yes"] * 50 + ["no"] * 50, ["yes"] * 40 + ["no"] * 60)
    >>> print(label_noise(two, (0.12, 0.08, 0.16), 2))
    Two people gave different labels to 10 % of the 100 rows that both saw. If both are wrong equally often, ...
    >>> label_noise(two, (0.12, 0.0, 0.9), 2)
    """
    value, low, high = error
    if found is None or found.rows < ENOUGH:
        return None
    wrong = wrong_labels(1.0 - found.raw, classes)
    ends = [against_true_labels(end, wrong, classes) for end in (value, low, high)]
    told = (
        f"Two people gave different labels to {_percent(1.0 - found.raw)} of the {found.rows:,} rows that both saw. If "
        f"both are wrong equally often, {_percent(wrong)} of the labels are wrong."
    )
    if math.isnan(ends[0]):
        return f"{told} Such labels say nothing about the error. Agree on guidelines, and settle conflicts."
    if abs(ends[0] - value) < MATTERS * (high - low) / 2.0:
        return None
    return (
        f"{told} The interval takes labels as they are. Against true labels, the error would be about "
        f"{_percent(ends[0])}, from {_percent(ends[1])} to {_percent(ends[2])}, if labels are wrong by chance alone."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0.0 < share < 0.0995 else f"{100 * share:.0f} %"
