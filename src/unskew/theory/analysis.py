"""Algorithm 1 on a finite domain: the paper's bounds on its error and on the number of labels, as numbers."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unskew.errors import InputError
from unskew.rows import Bools
from unskew.theory.bounds import C_0, C_1, GAMMA_2, delta_k
from unskew.theory.domain import Domain


@dataclass(frozen=True)
class Analysis:
    """Algorithm 1 on a domain with m logged rows, n = 2^K - 1 stream rows and confidence delta.

    >>> X = Domain(p=[0.5, 0.5], eta=[0.0, 1.0], Q0=0.5, H=[[0, 0], [0, 1], [1, 1]])
    >>> run = Analysis(X, m=30_000, n=1023, delta=0.05)
    >>> run.K, round(run.alpha), run.epsilon[2] > run.epsilon[1], round(run.consistency(), 3)
    (10, 20, True, 0.051)
    """

    domain: Domain
    m: int
    n: int
    delta: float

    def __post_init__(self) -> None:
        if self.n < 1 or (self.n + 1) & self.n:
            below = 2 ** max(int(self.n + 1).bit_length() - 1, 1) - 1
            raise InputError(f"n must be 2^K - 1, as the bounds assume; got {self.n}. Take n = {below}.")
        if not (self.m >= 1 and 0.0 < self.delta <= 1.0):
            raise InputError(f"m must be at least 1 and delta in (0, 1]; got m = {self.m}, delta = {self.delta}.")

    @property
    def K(self) -> int:
        """The number of stream segments, log2(n + 1)."""
        return self.n.bit_length()

    @property
    def alpha(self) -> float:
        """The number of logged rows per stream row in each segment, 2m / 3n."""
        return 2.0 * self.m / (3.0 * self.n)

    def n_k(self, k: int) -> int:
        """Stream rows of segment k: n_0 = 0, n_k = 2^(k-1)."""
        return 2 ** (k - 1) if k else 0

    def m_k(self, k: int) -> float:
        """Logged rows of segment k: m_0 = m/3, m_k = alpha n_k."""
        return self.alpha * self.n_k(k) if k else self.m / 3.0

    def zeta_k(self, k: int, region: Bools) -> float:
        """zeta_k = sup over DIS_{k-1} of log(2|H| / delta_k) / (m_{k-1} Q0(x) + n_{k-1}).

        Lemma 18 needs only delta_{k-1}. The printed delta_k is smaller, so the lemma still holds.
        """
        L = math.log(2.0 * len(self.domain.H) / delta_k(self.delta, k))
        return self._supremum(region, self.m_k(k - 1), self.n_k(k - 1)) * L

    @cached_property
    def epsilon(self) -> tuple[float, ...]:
        """As printed, epsilon_k = gamma_2 zeta_k + gamma_2 sqrt(zeta_k nu) for k = 0, ..., K; epsilon_0 is infinite."""
        return self._radii(nested=False)

    @cached_property
    def nested_epsilon(self) -> tuple[float, ...]:
        """The same recursion, but each epsilon_k is the smallest so far.

        The printed ones are not monotone, because m_0 = m/3 is larger than m_1 = alpha. But the proof of Theorem 3
        uses that DIS_k is within DIS_1 and that epsilon_k >= epsilon_K. The sets V_k are nested, so the smallest
        radius so far bounds V_k as well. With it, both steps are correct.
        """
        return self._radii(nested=True)

    def DIS(self, k: int) -> Bools:
        """The points on which B(h*, 2 nu + epsilon_k) disagrees; all for k = 0. Contains D_k on the good event."""
        return self._dis(self.epsilon[k])

    @property
    def zeta(self) -> float:
        """The largest weight of a stream segment, up to scale: sup over DIS_1 of 1 / (alpha Q0(x) + 1)."""
        return self._supremum(self.DIS(1), self.alpha, 1.0)

    def consistency(self) -> float:
        """Theorem 1: with probability at least 1 - delta, the output has l(h) - nu of at most this.

        ::

            c_0 s + c_0 sqrt(s nu),    s = sup over DIS_K of log(K |H| / delta) / (m Q0(x) + n)
        """
        s = self._supremum(self.DIS(self.K), self.m, self.n) * self._log
        return C_0 * s + C_0 * math.sqrt(s * self.domain.nu)

    def labels(self) -> float:
        """Theorem 3: with probability at least 1 - delta, at most this number of labels is queried.

        ::

            c_1 theta~(2 nu + epsilon_K, alpha) (n nu + zeta K L + K sqrt(n nu zeta L)) + 2 + 2 sum_k log(4 / delta_k)

        with L = log(K |H| / delta), K in place of the text's log n, and `nested_epsilon`. The text drops the last two
        terms, but where theta~ zeta is small, no c_1 can absorb them.
        """
        nu, n, K, zeta, L = self.domain.nu, self.n, self.K, self.zeta, self._log
        theta = self.domain.theta_tilde(2.0 * nu + self.nested_epsilon[-1], self.alpha)
        rest = 2.0 + 2.0 * sum(math.log(4.0 / delta_k(self.delta, k)) for k in range(K))
        return C_1 * theta * (n * nu + zeta * K * L + K * math.sqrt(n * nu * zeta * L)) + rest

    def _radii(self, *, nested: bool) -> tuple[float, ...]:
        nu, radii = self.domain.nu, [math.inf]
        for k in range(1, self.K + 1):
            zeta_k = self.zeta_k(k, self._dis(radii[-1]))
            epsilon_k = GAMMA_2 * zeta_k + GAMMA_2 * math.sqrt(zeta_k * nu)
            radii.append(min(epsilon_k, radii[-1]) if nested else epsilon_k)
        return tuple(radii)

    def _dis(self, epsilon: float) -> Bools:
        X = self.domain
        if math.isinf(epsilon):
            return np.ones(X.p.shape, dtype=bool)
        return X.dis(X.ball(X.h_star, 2.0 * X.nu + epsilon))

    def _supremum(self, region: Bools, m: float, n: float) -> float:
        """The supremum over the region of 1 / (m Q0(x) + n); 0 if the region is empty."""
        if not region.any():
            return 0.0
        least = m * float(self.domain.Q0[region].min()) + n
        return 1.0 / least if least > 0.0 else math.inf

    @property
    def _log(self) -> float:
        return math.log(self.K * len(self.domain.H) / self.delta)


class Requirements(NamedTuple):
    """The number of labels that each way of learning needs for error nu + epsilon, without constants and logarithms."""

    ours: float
    passive_is: float
    passive_mis: float
    dbal_is: float
    dbal_mis: float
    past_policy: float


def requirements(domain: Domain, m: int, epsilon: float, delta: float) -> Requirements:
    """The comparison in the Remarks: label bounds for error nu + epsilon after m logged rows, up to O~.

    ::

        ours           nu theta~   (B - m xi)         B  = (nu + epsilon) / epsilon^2 log(|H| / delta)
        passive, IS    1 / xi_0    (B - m xi_0)       xi = inf over DIS(B(h*, 2 nu + epsilon)) of Q0
        passive, MIS               (B - m xi)         xi_0 = inf of Q0
        DBAL, IS       nu theta / xi_0 (B - m xi_0)   theta = theta(2 nu), theta~ = theta~(2 nu, alpha)
        DBAL, MIS      nu theta    (B - m xi)         alpha = 2m / 3n, n = B - m xi
        past policy    E[Q0] / xi_0 (B - m xi_0)

    They are 0 if the log alone is enough. The first is only the leading term: for nu = 0 it is 0, while Theorem 3
    still needs about theta~ zeta log n log(|H| / delta).

    Examples
    --------
    >>> X = Domain(p=[0.5, 0.3, 0.2], eta=[0.1, 0.9, 0.9], Q0=[0.1, 0.5, 0.9], H=[[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    >>> [round(v) for v in requirements(X, m=30, epsilon=0.2, delta=0.05)]
    [3, 277, 16, 44, 3, 105]
    """
    if not (epsilon > 0.0 and 0.0 < delta <= 1.0 and m >= 1):
        raise InputError(
            f"epsilon must be positive, delta in (0, 1], m at least 1; got {epsilon}, {delta}, {m}. Correct the value."
        )
    nu, Q0 = domain.nu, domain.Q0
    B = (nu + epsilon) / epsilon**2 * math.log(len(domain.H) / delta)
    region = domain.dis(domain.ball(domain.h_star, 2.0 * nu + epsilon))
    xi_0, xi = float(Q0.min()), float(Q0[region].min(initial=1.0))
    if xi_0 <= 0.0:
        raise InputError(f"Q0 must be positive for the bounds with 1 / xi_0; got {xi_0}. Raise it to a floor.")
    n, n_0 = max(B - m * xi, 0.0), max(B - m * xi_0, 0.0)
    theta_tilde = domain.theta_tilde(2.0 * nu, 2.0 * m / (3.0 * n)) if n > 0.0 else 0.0
    theta = domain.theta(2.0 * nu)
    return Requirements(
        ours=nu * theta_tilde * n,
        passive_is=n_0 / xi_0,
        passive_mis=n,
        dbal_is=nu * theta / xi_0 * n_0,
        dbal_mis=nu * theta * n,
        past_policy=float(domain.p @ Q0) / xi_0 * n_0,
    )
