"""How far people agree on the rows that two of them saw: all together, each against the others, and over time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from unskew.campaigns.ledger.opinions import Opinion, votes
from unskew.campaigns.ledger.state import State
from unskew.estimation.agreement import Agreement, agreement

PARTS = 6
"""The most stretches of time for which agreement is given."""
IN_A_PART = 10
"""The least number of rows in one."""
MINUTE = len("2026-11-18T15:14")
"""How much of a time people are shown."""


class Stretch(NamedTuple):
    """Agreement in a stretch of time."""

    since: str
    until: str
    agreement: Agreement


@dataclass(frozen=True)
class TwoPeople:
    """Agreement on the rows that two people saw; None where there is no such row."""

    waiting: int = 0
    """The number of rows that one more person should see."""
    conflicts: int = 0
    """The number of rows on which people differ, and which nobody has settled."""
    all: Agreement | None = None
    by_person: dict[str, Agreement] = field(default_factory=dict)
    """Each person against whoever saw the same rows."""
    over_time: tuple[Stretch, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "waiting": self.waiting,
            "conflicts": self.conflicts,
            "all": self.all and self.all._asdict(),
            "by_person": {name: found._asdict() for name, found in self.by_person.items()},
            "over_time": [{**one._asdict(), "agreement": one.agreement._asdict()} for one in self.over_time],
        }


def two_people(state: State) -> TwoPeople:
    """The agreement in a campaign, by the first two labels of each row."""
    pairs = [(said[0], said[1]) for row in state.rows.values() if len(said := votes(row.opinions)) >= 2]
    pairs.sort(key=lambda pair: pair[1].at)
    names = sorted({one.by for pair in pairs for one in pair})
    people = {name: _agreement([pair if pair[0].by == name else pair[::-1] for pair in pairs if name in _of(pair)])
              for name in names}  # fmt: skip
    return TwoPeople(
        waiting=len(state.again),
        conflicts=len(state.conflicts()),
        all=_agreement(pairs),
        by_person={name: found for name, found in people.items() if found is not None},
        over_time=tuple(_stretches(pairs)),
    )


def _of(pair: Sequence[Opinion]) -> set[str]:
    return {one.by for one in pair}


def _agreement(pairs: Sequence[Sequence[Opinion]]) -> Agreement | None:
    return agreement([str(pair[0].label) for pair in pairs], [str(pair[1].label) for pair in pairs])


def _stretches(pairs: Sequence[Sequence[Opinion]]) -> list[Stretch]:
    """The pairs in the order of time, cut into parts of about the same number, which begin in different minutes."""
    parts = min(PARTS, len(pairs) // IN_A_PART)
    cuts = [k * len(pairs) // parts for k in range(parts)]
    begun = {pairs[cut][1].at[:MINUTE]: cut for cut in reversed(cuts)}  # the first cut of each minute
    cuts = [*reversed(begun.values()), len(pairs)]
    found = []
    for first, end in pairwise(cuts):
        some = pairs[first:end]
        of_some = _agreement(some)
        if of_some is not None:
            found.append(Stretch(some[0][1].at, some[-1][1].at, of_some))
    return found
