"""Regions of a population in words: "income < 2300 and region is north"."""

import datetime
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from unskew.campaigns.audit.words import has_word
from unskew.campaigns.tables.encoding import MISSING, plain_column
from unskew.rows import Bools

EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Condition:
    """What one column must hold.

    Attributes
    ----------
    column, kind : str
    low, high : float or None
        For numbers, booleans (0 and 1) and dates (days since 1970): low <= value < high; None means no limit.
    known, missing : bool
        Whether the condition includes rows with a value, and rows without.
    values : tuple of str
        For categories: these values or, if `negated`, any others. For text: a word that it has or, if `negated`, has
        not. No word, "", stands for a text that is missing.
    negated : bool
    """

    column: str
    kind: str
    low: float | None = None
    high: float | None = None
    known: bool = True
    missing: bool = False
    values: tuple[str, ...] = ()
    negated: bool = False

    def mask(self, frame: pl.DataFrame) -> Bools:
        """Which rows meet the condition."""
        if self.kind == "text":
            return np.asarray(has_word(frame[self.column], self.values[0]) != self.negated)
        column = plain_column(frame[self.column], self.kind)
        if self.kind == "category":
            return np.asarray(column.is_in(list(self.values)).to_numpy() != self.negated)
        value = column.to_numpy()
        inside = np.full(len(value), self.known)
        if self.low is not None:
            inside &= value >= self.low
        if self.high is not None:
            inside &= value < self.high
        return np.where(np.isnan(value), self.missing, inside)

    def __str__(self) -> str:
        if self.kind == "category":
            names = ["missing" if value == MISSING else value for value in self.values]
            return f"{self.column} is {'not ' if self.negated else ''}{_either(names)}"
        if self.kind == "text" and self.values[0]:
            return f"{self.column} {'lacks' if self.negated else 'has'} the word '{self.values[0]}'"
        if self.kind == "text":
            return f"{self.column} is {'known' if self.negated else 'missing'}"
        if not self.known:
            return f"{self.column} is missing"
        if self.low is None and self.high is None:
            return f"{self.column} is known"
        return f"({self._interval()} or missing)" if self.missing else self._interval()

    def _interval(self) -> str:
        if self.kind == "boolean":
            return f"{self.column} is {'true' if self.low is not None else 'false'}"
        say = _day if self.kind == "date" else _number
        if self.low is None:
            return f"{self.column} < {say(self.high)}"
        if self.high is None:
            return f"{self.column} ≥ {say(self.low)}"
        return f"{say(self.low)} ≤ {self.column} < {say(self.high)}"


@dataclass(frozen=True)
class Rule:
    """Conditions that must all hold; without any, everyone.

    >>> rule = Rule((Condition("income", "number", high=2300.0), Condition("region", "category", values=("north",))))
    >>> print(rule)
    income < 2300 and region is north
    >>> rule.mask(pl.DataFrame({"income": [100.0, 9000.0], "region": ["north", "north"]})).tolist()
    [True, False]
    >>> Rule.from_dict(rule.as_dict()) == rule
    True
    """

    conditions: tuple[Condition, ...]

    def mask(self, frame: pl.DataFrame) -> Bools:
        """Which rows of a frame are in the region."""
        inside = np.ones(frame.height, dtype=bool)
        for condition in self.conditions:
            inside &= condition.mask(frame)
        return inside

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"text": str(self), **asdict(self)}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Rule":
        """The rule that `as_dict` described."""
        return cls(tuple(Condition(**{**one, "values": tuple(one["values"])}) for one in told["conditions"]))

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions)) or "everyone"


def roundest(below: float, above: float) -> float:
    """The number with the fewest digits that separates two values: below < it <= above.

    >>> roundest(2291.7, 2308.2), roundest(0.1234, 0.1239), roundest(4, 5)
    (2300.0, 0.1236, 5.0)
    """
    if below < 0.0 <= above:
        return 0.0
    for digits in range(17):
        for value in ((below + above) / 2.0, above):
            told = float(f"{value:.{digits}e}")
            if below < told <= above:
                return told
    return float(above)


def roundest_day(below: float, above: float) -> float:
    """The same for days since 1970: the first day of a year, of a month, any day, or the exact moment.

    >>> _day(roundest_day(19700.0, 19800.0)), _day(roundest_day(19700.0, 19710.0)), _day(roundest_day(19700.2, 19700.5))
    ('2024-01-01', '2023-12-10', '2023-12-09 12:00')
    """
    last = math.floor(above)
    days = [EPOCH + datetime.timedelta(day) for day in range(max(math.floor(below) + 1, last - 800), last + 1)]
    for of_kind in (lambda at: at.month == at.day == 1, lambda at: at.day == 1, lambda at: True):
        for at in days:
            if of_kind(at):
                return float((at - EPOCH).days)
    return float(above)


def _number(value: float | None) -> str:
    assert value is not None
    return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"  # no comma in a year


def _day(days: float | None) -> str:
    assert days is not None
    at = EPOCH + datetime.timedelta(days=days)
    return f"{at:%Y-%m-%d}" if math.floor(days) == days else f"{at:%Y-%m-%d %H:%M}"


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
