"""One look at every row of a large pool: how much each is in doubt, which rows are drawn, and which are worth choosing.

Blocks of rows are looked at in any order, at the same time, and perhaps on other machines. What comes out is the same,
to the last bit: the numbers of a row depend on that row alone, sums are sums of whole numbers, and a list of the first
rows is in the order of (number, key).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import Costs
from unskew.hashing import exponentials
from unskew.pools import Block
from unskew.rows import Bools, Floats, Ints, Keys, Rows
from unskew.sampling.draws import EVENLY, deviation

UNIT = 2**16
"""The mean weight of a row. Weights are whole numbers."""

HEAVIEST = 2.0**40
"""The weight of no row is larger: sums must fit in 64 bits."""

FINE = 2.0**44
"""What a row adds to the spread of a draw is rounded to a whole number of these parts."""

CANDIDATES, FEW = 100, 20
"""The first number of candidates is kept for each row that is to be chosen, as if there were at least a few of them."""


def cost_of_wrong(log_odds: Floats, costs: Costs) -> Floats | float:
    """What it costs if the decision at rows with these log-odds is wrong."""
    if costs.equal:
        return 1.0
    return np.where(log_odds >= costs.log_odds, costs.false_positive, costs.false_negative)


class Ranked(NamedTuple):
    """The first rows by some number."""

    number: Floats
    keys: Keys
    places: Ints
    weights: Ints
    X: Rows

    def at(self, rows: Ints | Bools) -> "Ranked":
        """Some of them."""
        number, keys, places, weights, X = self
        return Ranked(number[rows], keys[rows], places[rows], weights[rows], X[rows])

    def first(self, k: int) -> "Ranked":
        """The k rows with the least numbers; of equal ones, those with the least keys."""
        near = self
        if 0 < k < len(self.number):
            near = self.at(self.number <= np.partition(self.number, k - 1)[k - 1])
        return near.at(np.lexsort((near.keys, near.number))[:k])

    def joined(self, other: "Ranked", k: int) -> "Ranked":
        """The first k of both."""
        both = (np.concatenate(pair) for pair in zip(self, other, strict=True))
        return Ranked(*both).first(k)


class Seen(NamedTuple):
    """What was seen of some rows: their number, sums over them, the winners of the race, and the best candidates."""

    rows: int
    weight: int
    spread: int
    racers: Ranked
    candidates: Ranked


@dataclass(frozen=True)
class Look:
    """How rows are looked at.

    Parameters
    ----------
    screen : callable
        The log-odds of rows, and how much their labels would settle (`unskew.models.screen.Screen`).
    calibration : Calibration
        How far the log-odds can be taken at their word.
    costs : Costs
    seed : int
        Of the round's race.
    asked : array of int
        Rows that are left out.
    racers, candidates : int
        How many to keep.
    mean : float
        About the mean doubt of a row. It need not be exact: it decides which share of a draw is even.
    """

    screen: Callable[[Rows], tuple[Floats, Floats]]
    calibration: Calibration
    costs: Costs
    seed: int
    asked: Ints
    racers: int
    candidates: int
    mean: float = 0.0

    def tuned(self, X: Rows) -> Self:
        """The same, with the mean doubt of these rows, which are an even sample."""
        return replace(self, mean=float(self._doubt(X)[2].mean()))

    def _doubt(self, X: Rows) -> tuple[Floats, Floats, Floats]:
        """What the labels of rows would settle, the chance that the model is wrong there, and their doubt."""
        log_odds, score = self.screen(X)
        wrong = self.calibration.wrong(log_odds, self.costs.log_odds)
        return score, wrong, deviation(wrong, cost_of_wrong(log_odds, self.costs))

    def __call__(self, block: Block) -> Seen:
        """What is seen of a block of rows."""
        left = ~np.isin(block.places, self.asked)
        if not left.all():
            block = Block(block.places[left], block.keys[left], block.X[left])
        places, keys, X = block
        score, wrong, d = self._doubt(X)
        share = d / self.mean if self.mean > 0.0 else np.ones(len(d))
        weights = np.rint(np.minimum(UNIT * ((1.0 - EVENLY) * share + EVENLY), HEAVIEST)).astype(np.int64)
        added = np.rint(FINE * wrong * (1.0 - wrong) / weights).astype(np.int64)
        race = Ranked(exponentials(self.seed, keys) / weights, keys, places, weights, X)
        worth = Ranked(-score, keys, places, weights, X)
        return Seen(
            len(places), int(weights.sum()), int(added.sum()), race.first(self.racers), worth.first(self.candidates)
        )

    def merge(self, one: Seen, other: Seen) -> Seen:
        """What is seen of the rows of both."""
        return Seen(
            one.rows + other.rows,
            one.weight + other.weight,
            one.spread + other.spread,
            one.racers.joined(other.racers, self.racers),
            one.candidates.joined(other.candidates, self.candidates),
        )


class Drawn(NamedTuple):
    """Rows that were drawn, in the order of their turns, with their chances.

    `rest` is the number of rows that they were drawn from, and `spread` the variance that one of them leaves.
    """

    places: Ints
    X: Rows
    p: Floats
    rest: int
    spread: float


def draw(seen: Seen, chosen: Ints, k: int) -> Drawn:
    """The first k of the race without the chosen rows, which are those of the candidates at these positions."""
    out = seen.candidates.at(chosen)
    total = seen.weight - int(out.weights.sum())
    first = seen.racers.at(~np.isin(seen.racers.places, out.places)).first(k)
    before = np.cumsum(first.weights) - first.weights
    p = first.weights / np.maximum(total - before, first.weights)
    return Drawn(first.places, first.X, p, seen.rows - len(chosen), total * (seen.spread / FINE))
