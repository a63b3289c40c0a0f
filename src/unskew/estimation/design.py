"""The sampling design: with what chance each row was labelled, and therefore how much each label counts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.counts import checked_counts, mean_of
from unskew.estimation.strata import Part, Strata
from unskew.rows import Bools, Floats, Ints


class Picked(NamedTuple):
    """The rows that a round on a pool picked: positions of the chosen rows, and of those drawn from the rest.

    They are positions among the rows that are held (`Design.counts`), and both hold answered rows only. `chosen_lost`
    and `drawn_lost` are the numbers of rows that were asked for but have no answer: they were skipped, or are not
    answered yet. Whether a row is lost must not depend on its label. Then the answered rows of a round can stand for
    all the rows it asked for.
    """

    chosen: Ints
    drawn: Ints
    stand_for: Floats
    """For each drawn row, the number of rows of the pool it stands for (`unskew.sampling.draws.stand_for`)."""
    chosen_lost: int = 0
    drawn_lost: int = 0
    spread: float | None = None
    """The variance that one draw of this round was expected to leave (`unskew.sampling.draws.spread`). Versions before
    0.4.0 drew evenly and did not record it."""
    before: bool = False
    """Whether these rows had a label before any was asked for: they stand for themselves alone, however it came."""

    @property
    def asked(self) -> int:
        """The number of drawn rows that were asked for."""
        return len(self.drawn) + self.drawn_lost


class Expected(NamedTuple):
    """What the model expects of the square and the cube of what each row's label adds to an estimate."""

    square: Floats
    cube: Floats


class Moments(NamedTuple):
    """The variance of an estimate, and its third cumulant, which says how skewed it is."""

    variance: float
    third: float = 0.0


class Revealed(NamedTuple):
    """Rows that are labelled independently of each other, row i with chance q_i: those of a log, or of a stream.

    For any x that does not depend on z, the mean of z_i x_i / q_i is an unbiased estimate of the mean of x.
    """

    z: Bools
    q: Floats
    counts: Floats | None = None
    """The number of rows that each row stands for. Then q is the chance that a row is labelled and is here, so that a
    labelled row that is not here is like one without a label, and the labelled rows are as they are."""

    @property
    def n(self) -> float:
        """The number of all rows."""
        return len(self.q) if self.counts is None else float(self.counts.sum())

    def anticipated(self, expected: Floats) -> float:
        """The variance that is expected of it, from the expected squares of x; infinite if no row is labelled."""
        return self._total(expected / self.q) / self.n**2 if self.z.any() else math.inf

    def moments(self, x: Floats, expected: Expected) -> Moments:
        """The larger of the variance that the labels show and the one that is expected, with its third cumulant."""
        n, terms = self.n, self.z / self.q * x
        mean = terms.mean() if self.counts is None else terms.sum() / n
        others = 0.0 if self.counts is None else n - len(x)  # rows that are not here, where the term is 0
        terms = terms - mean
        square, cube = float(terms @ terms) + others * mean**2, float((terms**3).sum()) - others * mean**3
        shown = Moments(square / (n * max(n - 1, 1)), cube / n**3)
        return max(shown, Moments(self.anticipated(expected.square), self._total(expected.cube / self.q**2) / n**3))

    def _total(self, x: Floats) -> float:
        """The sum of x over all rows."""
        return float(x.sum()) if self.counts is None else float((self.counts * x).sum())


class StandIn(NamedTuple):
    """Answered rows, and the number of asked rows that each of them stands for."""

    rows: Ints
    each: float


def _stands(answered: list[Ints], lost: list[int], epochs: Sequence[int], before: int = 0) -> list[StandIn]:
    """For each round, the answered rows that stand for all rows it asked: its own, or those of the nearest round.

    Rounds differ in the rows they choose and in how many of them are lost. So a round uses the answers of another one
    only if it has none itself, only if both asked for rows of the same pool (`Strata.epochs`), and never the labels of
    the first rounds, those `before` any was asked for.

    >>> [(s.rows.tolist(), s.each) for s in _stands([np.array([4, 7]), np.array([], dtype=int)], [1, 3], [1, 1])]
    [([4, 7], 1.5), ([4, 7], 1.5)]
    """
    some = [k for k, rows in enumerate(answered) if len(rows) and k >= before]
    found = []
    for k, own in enumerate(answered):
        near = [j for j in some if epochs[j] == epochs[k]]
        rows = own if len(own) else answered[min(near, key=lambda j: abs(j - k), default=k)]
        found.append(StandIn(rows, (len(own) + lost[k]) / max(len(rows), 1)))
    return found


@dataclass(frozen=True, eq=False)
class Design:
    """The sampling design: m log rows with `z` and `q0`, then n pool rows labelled in `rounds`.

    A large pool is held as a sample. Each labelled row stands for itself, and the others together stand for all rows
    without a label.

    >>> picked = Picked(np.array([3]), np.array([0]), np.array([3.0]))
    >>> design = Design(np.array([True, False]), np.array([0.5, 0.5]), 4, (picked,))
    >>> design.labelled.tolist(), design.rest.tolist()
    ([True, False, True, False, False, True], [3])
    >>> large = Design(design.z, design.q0, 1000, (picked,), counts=np.array([1.0, 499.0, 499.0, 1.0]))
    >>> large.held, large.n, large.rest.tolist()
    (4, 1000, [999])
    """

    z: Bools
    q0: Floats
    n: int = 0
    rounds: tuple[Picked, ...] = ()
    counts: Floats | None = field(default=None, kw_only=True)
    """The number of rows of the pool that each held row stands for. None: all n rows are held."""
    log_counts: Floats | None = field(default=None, kw_only=True)
    """The number of rows of the log that each of its rows stands for, if only some of a long log are kept. Then q0 is
    the chance that a row was revealed and is kept (`LoggedData.chance`)."""
    strata: Strata | None = field(default=None, kw_only=True)
    """Which rows came to the pool later; None if it never grew."""

    @classmethod
    def of(
        cls,
        log: LoggedData,
        n: int = 0,
        rounds: tuple[Picked, ...] = (),
        *,
        counts: Floats | None = None,
        strata: Strata | None = None,
    ) -> "Design":
        """The design of a log, and of a pool of n rows."""
        return cls(log.z, log.chance, n, rounds, counts=counts, log_counts=log.counts, strata=strata)

    def __post_init__(self) -> None:
        object.__setattr__(self, "z", np.asarray(self.z, dtype=bool))
        object.__setattr__(self, "q0", np.asarray(self.q0, dtype=np.float64))
        if self.z.shape != self.q0.shape:
            raise InputError(
                f"z and q0 must have one value per row; got shapes {self.z.shape}, {self.q0.shape}. Align them."
            )
        asked = np.concatenate([*(np.concatenate(r[:2]) for r in self.rounds), np.zeros(0, dtype=np.int64)])
        if len(np.unique(asked)) != len(asked):
            raise InputError("a pool row can be labelled once; got a position twice. Use positions in the whole pool.")
        if self.counts is not None:
            object.__setattr__(self, "counts", checked_counts(self.counts, self.n))
        if self.log_counts is not None and self.log_counts.shape != self.z.shape:
            raise InputError(
                f"log_counts must have one value per row of the log; got shape {self.log_counts.shape} for {self.m} "
                "rows. Align them."
            )
        if len(asked) and not 0 <= asked.min() <= asked.max() < self.held:
            raise InputError(f"positions must be in 0 to {self.held - 1}; got {asked.min()} to {asked.max()}. Check n.")
        if self.counts is not None and (many := asked[self.counts[asked] != 1.0]).size:
            raise InputError(
                f"a labelled row stands for itself alone; got {self.counts[many[0]]} in counts at row {many[0]}. "
                "Set it to 1, and let the rows without a label stand for the others."
            )
        if self.strata is not None:
            self._check_strata(self.strata)

    def _check_strata(self, strata: Strata) -> None:
        if strata.n != self.n or len(strata.of) != self.held:
            raise InputError(
                f"strata must be those of the {self.n} rows of the pool, of which {self.held} are held; got {strata.n} "
                f"and {len(strata.of)}. Align them."
            )
        since = np.array([part.since for part in strata.parts])
        for k, r in enumerate(self.rounds):
            for i in (rows := np.concatenate(r[:2]))[since[strata.of[rows]] > k][:1]:
                raise InputError(f"row {i} was asked for in round {k}, before it was in the pool. Check since.")

    @property
    def m(self) -> int:
        return len(self.z)

    @property
    def held(self) -> int:
        """The number of rows of the pool that arrays hold: all n of them, or a sample that stands for them."""
        return self.n if self.counts is None else len(self.counts)

    @cached_property
    def all_counts(self) -> Floats | None:
        """The number of rows that each row of log and pool stands for; None if every row is held."""
        if self.counts is None and self.log_counts is None:
            return None
        log = np.ones(self.m) if self.log_counts is None else self.log_counts
        return np.concatenate([log, np.ones(self.n) if self.counts is None else self.counts])

    @property
    def log(self) -> Revealed:
        return Revealed(self.z, self.q0, self.log_counts)

    @cached_property
    def labelled(self) -> Bools:
        """Which of the rows of log and pool have a label."""
        mask = np.zeros(self.m + self.held, dtype=bool)
        mask[: self.m] = self.z
        for r in self.rounds:
            mask[self.m + np.concatenate(r[:2])] = True
        return mask

    @property
    def complete(self) -> bool:
        """Whether every row of the pool has a label."""
        return self.n > 0 and bool(self.labelled[self.m :].all())

    @cached_property
    def draws(self) -> int:
        """The number of drawn rows that are answered."""
        return sum(len(r.drawn) for r in self.rounds)

    @property
    def measures_pool(self) -> bool:
        """Whether the pool's labels say anything about the pool as a whole."""
        return (self.draws > 0 and self.unmeasured == 0) or self.complete

    @property
    def unmeasured(self) -> int:
        """The number of rows that came to the pool later, where no drawn label was answered since."""
        if self.strata is None:
            return 0
        last = max((k for k, r in enumerate(self.rounds) if len(r.drawn)), default=-1)
        return sum(part.rows for part in self.strata.parts[1:] if part.since > last)

    @cached_property
    def _strata(self) -> Strata:
        """The strata; a pool that never grew has one."""
        return self.strata or Strata((Part(self.n),), np.zeros(self.held, dtype=np.int64))

    @cached_property
    def _epochs(self) -> Ints:
        return self._strata.epochs(len(self.rounds))

    @cached_property
    def rest(self) -> Ints:
        """r_k: the number of rows that round k drew from, all those not asked for before and not chosen in it."""
        chosen = np.array([len(r.chosen) + r.chosen_lost for r in self.rounds], dtype=np.int64)
        drawn = np.array([r.asked for r in self.rounds], dtype=np.int64)
        return self._strata.sizes(len(self.rounds)) - np.cumsum(chosen) - np.cumsum(drawn) + drawn

    @cached_property
    def _without_lost(self) -> Floats:
        """How much more each drawn row of a round stands for while none of those asked for earlier can stand in.

        While no chosen row was answered since the pool last grew, no row can stand for the chosen ones. They count as
        if they had not been chosen. The same goes for drawn rows of a time in which none was answered.
        """
        chosen = {epoch for r, epoch in zip(self.rounds, self._epochs, strict=True) if len(r.chosen) and not r.before}
        drawn = {epoch for r, epoch in zip(self.rounds, self._epochs, strict=True) if len(r.drawn)}
        lost = [
            (r.chosen_lost * (epoch not in chosen), r.drawn_lost * (epoch not in drawn))
            for r, epoch in zip(self.rounds, self._epochs, strict=True)
        ]
        now, later = np.array(lost, dtype=np.int64).reshape(-1, 2).T
        # r_k leaves out the rows chosen in round k, but not those drawn in it. So what it lacks are all chosen
        # rows lost up to this round, and the drawn rows lost before it.
        return np.asarray((self.rest + np.cumsum(now) + np.cumsum(later) - later) / np.maximum(self.rest, 1))

    def stand_for(self, k: int) -> Floats:
        """The number of rows of the pool that each answered drawn row of round k stands for."""
        r = self.rounds[k]
        lost = r.asked / max(len(r.drawn), 1)
        return np.asarray(r.stand_for * lost * self._without_lost[k])

    def spreads(self, even: float) -> Floats:
        """The variance that one draw of each round was expected to leave in the pool's total.

        `even` is the variance of a label, for rounds that drew evenly and recorded none: r_k^2 times that.
        """
        known = [np.nan if r.spread is None else r.spread for r in self.rounds]
        return np.where(np.isnan(known), self.rest.astype(np.float64) ** 2 * even, known)

    def _worth(self, even: float, stratum: int) -> Floats:
        """What each round is worth for a stratum: its number of draws over the spread that one leaves there."""
        # lambda_k^s is proportional to a_k / (V_k n_s / n_k), and 0 for rounds before the rows came (E4).
        part, k = self._strata.parts[stratum], np.arange(len(self.rounds))
        a = np.array([len(r.drawn) for r in self.rounds], dtype=np.float64) * (k >= part.since)
        return np.asarray(a / np.maximum(self.spreads(even) * (part.rows / self._strata.sizes(len(k))), 1e-300))

    def round_shares(self, even: float, stratum: int = 0) -> Floats:
        """lambda: how much every round counts, in proportion to its number of draws over the spread of one.

        Both are known before the labels, so no round counts for more because it happened to show few errors. For rows
        that came to the pool later, only rounds count that could ask for them.
        """
        worth = self._worth(even, stratum)
        return worth / worth.sum() if worth.sum() > 0.0 else worth

    def _all_shares(self, even: float) -> Floats:
        """The shares of the rounds: a row for each stratum, a column for each round."""
        return np.array([self.round_shares(even, stratum) for stratum in range(len(self._strata.parts))])

    def standing(self) -> Iterator[tuple[StandIn, StandIn]]:
        """For each round, the rows that stand for those it chose and for those it drew (`_stands`)."""
        before, epochs = sum(r.before for r in self.rounds), self._epochs.tolist()
        chosen = _stands([r.chosen for r in self.rounds], [r.chosen_lost for r in self.rounds], epochs, before)
        drawn = _stands([r.drawn for r in self.rounds], [r.drawn_lost for r in self.rounds], epochs)
        return zip(chosen, drawn, strict=True)

    def pool_weights(self, even: float) -> Floats:
        """The weight of every pool row in sum_k lambda_k T_k / n.

        ::

            T_k = sum over rows asked for before k or chosen in k + sum over rows drawn in k, times what they stand for

        Given the earlier rounds, T_k is unbiased for the pool's total. Where asked rows were lost, answered ones stand
        for them (`standing`). If the pool grew, every stratum has a T_k and shares of its own (docs/theory.md).

        >>> picked = Picked(np.array([3]), np.array([0]), np.array([3.0]))
        >>> Design(np.zeros(0), np.zeros(0), 4, (picked,)).pool_weights(0.25).tolist()
        [0.75, 0.0, 0.0, 0.25]
        """
        if self.complete:
            return np.full(self.n, 1.0 / self.n)
        w, of = np.zeros(self.held), self._strata.of
        shares = self._all_shares(even)
        # A row of K_k counts fully in T_k and in every later T (E2). So a chosen row of round k has the
        # weight lambda_k + lambda_k+1 + ..., which is `after`. A drawn row has s_j lambda_k, because
        # others of its round could have been drawn instead (E1), and lambda_k+1 + ... from then on.
        after = shares.sum(axis=1)
        for k, (r, share, (chosen, drawn)) in enumerate(zip(self.rounds, shares.T, self.standing(), strict=True)):
            w[chosen.rows] += chosen.each * after[of[chosen.rows]]
            w[r.drawn] += self.stand_for(k) * share[of[r.drawn]]
            after = after - share
            w[drawn.rows] += drawn.each * after[of[drawn.rows]]
        return w / self.n

    def anticipated(self, expected: Floats, even: float) -> float:
        """The variance that the draws were expected to leave, from the expected squares of what the labels add.

        It is infinite if there are no drawn labels, or none since the pool grew.
        """
        if self.complete:
            return 0.0
        # V_k is the spread of labels, whose variance is `even` on average (E3). That of x is taken to be larger
        # or smaller in proportion. The inverse of `worth` is then what all draws leave in a stratum (E4), and
        # the totals of strata add up.
        variance = 0.0
        for stratum in range(len(self._strata.parts)):
            worth = float(self._worth(even, stratum).sum())
            if not worth > 0.0:
                return math.inf
            variance += self._mean_in(stratum, expected) / even / worth
        return variance / self.n**2

    def _mean_in(self, stratum: int, x: Floats) -> float:
        """The mean over the rows of a stratum; over all rows, if a sample of the pool has none of it."""
        inside = self._strata.inside(stratum)
        if inside.all() or not inside.any():
            return mean_of(x, self.counts)
        return mean_of(x[inside], None if self.counts is None else self.counts[inside])

    def moments(self, x: Floats, expected: Expected, even: float) -> Moments:
        """The larger of the variances that the drawn labels show and that the model expects of them.

        Where no drawn label happened to be wrong, the labels alone would show no variance at all.
        """
        return max(self.of_draws(Expected(x**2, x**3), even), self.of_draws(expected, even))

    def of_draws(self, label: Expected, even: float) -> Moments:
        """The variance and the third cumulant of sum_k lambda_k T_k / n, given what the label of each row adds.

        A row that stands for u rows was there with chance 1 / u. Then the variance of u x is (u - 1) x^2, its third
        cumulant (u - 1) (u - 2) x^3, and each such row stands for u of them. With u = s_j these sums are E7 and E8
        of docs/theory.md.
        """
        square, cube, shares, of = *label, self._all_shares(even), self._strata.of
        # Rows that were asked for and lost make `each` larger than 1: those that stand for them vary like drawn
        # rows. A chosen row that was answered has u = 1 and adds nothing. Shares as in `pool_weights`.
        variance, third, after = 0.0, 0.0, shares.sum(axis=1)
        for k, (share, (chosen, drawn)) in enumerate(zip(shares.T, self.standing(), strict=True)):
            later = after - share
            parts = (after, chosen.each, chosen.rows), (share, self.stand_for(k), self.rounds[k].drawn)
            for shares_of, u, rows in (*parts, (later, drawn.each, drawn.rows)):
                part = shares_of[of[rows]]
                spread = u * np.maximum(u - 1.0, 0.0) * part**2
                variance += float((spread * square[rows]).sum())
                third += float((spread * part * (u - 2.0) * cube[rows]).sum())
            after = later
        return Moments(variance / self.n**2, third / self.n**3)

    def of_rows(self, expected: Floats) -> float:
        """The variance that is left if every label of the pool is known, because the pool itself is a sample."""
        return mean_of(expected, self.counts) / self.n if self.n else 0.0
