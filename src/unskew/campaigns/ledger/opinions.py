"""What several people said of one row, and which of it counts.

Some rows are shown to a second person, who does not see what the first one said. If the two differ, the row goes to a
third. The label that two people gave counts; until there is one, the first. So the row counts once, however many people
looked at it, and no row is left out of an estimate because people found it hard.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from unskew.campaigns.ledger.remarks import Remarks

MOST = 3
"""The most labels that people are asked for one row. If all differ, the administrator settles it."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person said of a row, and when; None if they skipped it."""

    by: str
    label: str | None
    at: str
    remarks: Remarks = field(default_factory=Remarks, repr=False, hash=False)
    """What was recorded with it."""


def votes(opinions: Sequence[Opinion]) -> list[Opinion]:
    """The opinions that are labels, in the order in which they were given."""
    return [one for one in opinions if one.label is not None]


def majority(opinions: Sequence[Opinion]) -> str | None:
    """The label that two people gave, if there is one."""
    found = Counter(one.label for one in votes(opinions)).most_common(1)
    return found[0][0] if found and found[0][1] >= 2 else None


def counted(opinions: Sequence[Opinion]) -> str | None:
    """The label that counts: the one that two people gave, or else the first.

    >>> ada, bob, eve = (Opinion(*one, "2026-11-15") for one in (("ada", "yes"), ("bob", "no"), ("eve", "no")))
    >>> counted([ada]), counted([ada, bob]), counted([ada, bob, eve])
    ('yes', 'yes', 'no')
    """
    return majority(opinions) or next((one.label for one in votes(opinions)), None)


def differ(opinions: Sequence[Opinion]) -> bool:
    """Whether people gave different labels, and none was given twice."""
    return len(votes(opinions)) >= 2 and majority(opinions) is None


def wanted(opinions: Sequence[Opinion]) -> bool:
    """Whether a row that several people are to see needs one more of them."""
    return majority(opinions) is None and len(votes(opinions)) < MOST


def for_two(id: str, share: float) -> bool:
    """Whether this share of the rows, picked by a hash of their ids, has this one. Its label cannot matter.

    >>> sum(for_two(str(k), 0.1) for k in range(10_000))
    1003
    """
    number = int.from_bytes(hashlib.sha256(f"two people: {id}".encode()).digest()[:8])
    return number < share * 2.0**64
