"""A population with a fixed classifier, and simulated campaigns on it: shared by the tests of estimates."""

import numpy as np

from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.stream_design import StreamDesign
from unskew.hashing import exponentials
from unskew.sampling.draws import doubt, race, spread, stand_for

NONE = np.zeros(0, dtype=np.int64)
NO_LOG = np.zeros(0, dtype=bool), np.zeros(0)


def drawn_round(rng, left, chosen, k, wrong):
    """A round that chose these rows and drew k of the others in proportion to doubt, all answered."""
    rest = np.setdiff1d(left, chosen)
    w = doubt(wrong[rest])
    found = race(w, exponentials(int(rng.integers(2**63)), rest), k)
    return Picked(chosen, rest[found.rows], stand_for(found.p), spread=spread(wrong[rest], w))


def answered(picked, chosen, drawn):
    """The round as it is when only these of its rows are answered: a mask for each kind."""
    return Picked(
        picked.chosen[chosen],
        picked.drawn[drawn],
        picked.stand_for[drawn],
        int((~chosen).sum()),
        int((~drawn).sum()),
        picked.spread,
    )


def three_in_ten_skipped(rounds, rng):
    return [answered(r, rng.random(len(r.chosen)) >= 0.3, rng.random(len(r.drawn)) >= 0.3) for r in rounds]


def last_round_open(rounds, rng):
    last = rounds[-1]
    return [*rounds[:-1], answered(last, np.zeros(len(last.chosen), bool), np.zeros(len(last.drawn), bool))]


def first_round_loses_12_of_15(rounds, rng):
    first = rounds[0]
    kept = np.isin(np.arange(len(first.chosen)), rng.permutation(len(first.chosen))[:3])
    return [answered(first, kept, np.ones(len(first.drawn), bool)), *rounds[1:]]


def second_round_loses_all_it_chose(rounds, rng):
    second = rounds[1]
    none, all_ = np.zeros(len(second.chosen), bool), np.ones(len(second.drawn), bool)
    return [rounds[0], answered(second, none, all_), *rounds[2:]]


class Population:
    """Twenty thousand rows, a fixed classifier of error about 0.15, a log that likes one side of it."""

    def __init__(self, noise=0.08):
        rng = np.random.default_rng(5)
        self.x = rng.uniform(-1, 1, 20_000)
        self.y = np.where(rng.random(20_000) < noise, -1.0, 1.0) * np.where(self.x > 0.15, 1.0, -1.0)
        self.margin = 5.0 * self.x
        self.q0 = np.clip(0.5 + 0.6 * self.x, 0.1, 0.9)

    def truth(self, measure):
        says, is_ = self.margin >= 0, self.y > 0
        kinds = {"error": says != is_, "precision": is_[says], "recall": says[is_]}
        return np.logaddexp(0, -self.y * self.margin).mean() if measure == "log_loss" else kinds[measure].mean()

    def campaign(self, rng, m=200, n=600, rounds=4, chosen=15, drawn=15, lose=None, log="given", claimed=None):
        """Rows of log and pool; some rounds; `claimed` are the propensities that the log says it has."""
        at = rng.choice(len(self.x), m + n, replace=False)
        z = rng.random(m) < self.q0[at[:m]]
        margin, left, so_far = self.margin[at[m:]], np.arange(n), []
        wrong = 1 / (1 + np.exp(np.abs(margin)))
        for _ in range(rounds):
            picked = left[np.argsort(np.abs(margin[left]), kind="stable")[:chosen]]
            so_far.append(drawn_round(rng, left, picked, drawn, wrong))
            left = np.setdiff1d(left, np.concatenate(so_far[-1][:2]))
        if lose:
            so_far = lose(so_far, rng)
        return self._everyone(at, Design(z, self._claimed(at[:m], claimed), n, tuple(so_far)), log)

    def stream(self, rng, m=200, n=600, log="given", claimed=None):
        """Rows of a log and of a stream, which is asked where the margin is small, and one row in ten elsewhere."""
        at = rng.choice(len(self.x), m + n, replace=False)
        z = rng.random(m) < self.q0[at[:m]]
        p = np.where(np.abs(self.margin[at[m:]]) < 0.5, 1.0, 0.1)
        design = StreamDesign(z, self._claimed(at[:m], claimed), n, asked=rng.random(n) < p, p=p)
        return self._everyone(at, design, log)

    def _claimed(self, rows, claimed):
        return (self.q0 if claimed is None else claimed)[rows]

    def _everyone(self, at, design, log):
        return Everyone(design, self.margin[at], np.where(design.labelled, self.y[at], 0.0), log)


def held(found, truth):
    return float(np.mean([e.low <= truth <= e.high for e in found]))
