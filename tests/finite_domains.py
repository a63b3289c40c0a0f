"""Finite domains, and samples of a log and a stream from them: what the tests of `ExactIDBAL` share."""

from typing import NamedTuple

import numpy as np

from unskew import ExactIDBAL, LoggedData, run
from unskew.theory import Domain


class Sample(NamedTuple):
    """m log rows and n stream rows of a domain; `x` are points, `y` all labels, `z` the log's reveal bits."""

    domain: Domain
    m: int
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray

    @property
    def q0(self):
        return self.domain.Q0[self.x]

    @property
    def log(self):
        m = self.m
        return LoggedData(self.x[:m, None], self.y[:m], self.z, self.q0[:m], classes=(False, True))

    def learn(self, method=None, **options):
        points = (np.arange(len(self.domain.p))[:, None], self.domain.Q0)
        method = method or ExactIDBAL(self.domain.H, **{"domain": points, **options})
        return run(method, self.log, (self.x[self.m :, None], self.q0[self.m :]), self.y[self.m :])


def draw(domain, m, n, seed):
    rng = np.random.default_rng(seed)
    x = rng.choice(len(domain.p), m + n, p=domain.p)
    return Sample(domain, m, x, rng.random(m + n) < domain.eta[x], rng.random(m) < domain.Q0[x[:m]])


def random_domain(seed, points=6, size=12):
    rng = np.random.default_rng(seed)
    H = np.unique(rng.integers(2, size=(size, points)), axis=0)
    return Domain(rng.dirichlet(np.ones(points)), rng.choice([0.1, 0.3, 0.9], points), rng.uniform(0.1, 1, points), H)


EASY = Domain(  # thresholds on six points and their opposites; the fourth is best, with nu = 0.1
    np.full(6, 1 / 6), [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], [0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    [(np.arange(6) >= c) ^ flip for c in range(6) for flip in (False, True)],
)  # fmt: skip
