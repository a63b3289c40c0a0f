"""Who asks for rows, how fast they answer, and the number of rows that should be ready for them."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import median

LATELY = 30.0
"""Seconds for which somebody who asked counts as at work, whether they got a row or wait."""
READY = 3
"""The least number of rows that should be ready for each person at work."""
MOST = 500
"""The most rows that are made ready because people are fast.

Rows of one round learn nothing from one another.
"""
MARGIN = 1.5
"""The time in which rows must last, as a multiple of the time that the last rounds took."""
ANSWERS = 9
"""The number of latest answers whose median is a person's pace."""


@dataclass(frozen=True)
class Wish:
    """What somebody at work needs."""

    missing: int = 0
    """The number of rows they asked for and did not get."""
    seconds: float | None = None
    """How long they take for a row; None while they have answered none."""


@dataclass
class _Person:
    asked: float
    missing: int = 0
    since: float | None = None
    """When they got rows to work on; None while they wait."""
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=ANSWERS))


class Demand:
    """What the page saw of each person. The ledger alone does not show who waits.

    >>> now = 0.0
    >>> demand = Demand(lambda: now)
    >>> demand.asked("ada", 2, given=2), demand.asked("bob", 2, given=0)
    (None, None)
    >>> now = 4.0
    >>> demand.answered("ada", 1)
    >>> demand.lately()
    {'ada': Wish(missing=0, seconds=4.0), 'bob': Wish(missing=2, seconds=None)}
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._people: dict[str, _Person] = {}

    def asked(self, name: str, wanted: int, *, given: int) -> None:
        """Somebody asked for that number of rows, and got some, none or all."""
        now = self._clock()
        person = self._people.setdefault(name, _Person(now))
        person.asked, person.missing = now, max(0, wanted - given)
        person.since = now if given else None

    def answered(self, name: str, rows: int) -> None:
        """Somebody answered that number of rows. Time without a row does not count."""
        person = self._people.get(name)
        if person is not None and person.since is not None and rows:
            now = self._clock()
            person.seconds.append((now - person.since) / rows)
            person.since = now

    def lately(self) -> dict[str, Wish]:
        """Everybody who asked lately. Other threads may ask meanwhile."""
        now = self._clock()
        return {
            name: Wish(person.missing, median(person.seconds.copy()) if person.seconds else None)
            for name, person in self._people.copy().items()
            if now - person.asked <= LATELY
        }


def rows_ready(wishes: Mapping[str, Wish], held: Mapping[str, int], seconds: float) -> int:
    """The number of rows that should be ready, so that nobody waits while a round takes `seconds`.

    `held` are the numbers of rows that people have and did not answer yet. Somebody alone gets
    small rounds, at any pace: the model then learns from each few labels.

    >>> quick, slow = Wish(seconds=0.1), Wish(seconds=20.0)
    >>> rows_ready({"ada": quick}, {}, seconds=2.0)
    3
    >>> rows_ready({"ada": quick, "bob": slow}, {"ada": 2, "bob": 2}, seconds=2.0)
    31
    """
    people = wishes.keys() | held.keys()
    least = READY * max(1, len(people))
    if len(people) < 2:
        return least
    needed = sum(_needed(wishes.get(name, Wish()), held.get(name, 0), seconds) for name in people)
    return max(least, min(MOST, needed))


def _needed(wish: Wish, held: int, seconds: float) -> int:
    """The number of further rows that one person answers meanwhile."""
    if wish.seconds is None:
        return max(READY, wish.missing)
    # Nobody sends answers faster than one in a millisecond; a clock may show no time at all.
    answered = ceil(MARGIN * seconds / max(wish.seconds, 0.001))
    return max(READY, wish.missing, answered - held)
