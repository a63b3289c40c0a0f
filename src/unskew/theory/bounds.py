"""The constants and radii of Algorithm 1. docs/theory.md derives them and lists where text and proofs differ."""

import math

import numpy as np

from unskew.rows import Floats

GAMMA_0 = 8 / 3 + 2 * math.sqrt(20 / 3)
"""Corollary 15, first part, and Delta_k: 2 (4/3 + sqrt(20/3)), about 7.83."""

GAMMA_1 = 28 / 3
"""Corollary 15, second part: 2 (14/3), about 9.33."""

GAMMA_2 = 4 * GAMMA_0 + 2 * GAMMA_1 + 4 * GAMMA_0 * math.sqrt(3 * GAMMA_1 + 14 / 3) + 8 * GAMMA_0**2
"""Lemma 17, about 720. The coefficient of sqrt(sigma nu), 2 gamma_1 + 4 gamma_0 sqrt(8 + gamma_1), is smaller."""

C_0 = 3 * math.log2(24) * GAMMA_1
"""Theorem 1, about 128. The output minimises over V_K, so gamma_1 is enough where the proof uses gamma_2."""

C_1 = 4 * math.log(48) / math.log(4) * GAMMA_2
"""Theorem 3, about 8037."""


def delta_k(delta: float, k: int) -> float:
    """Alg. 1, line 5: delta_k = delta / ((k + 1)(k + 2)); they sum to delta.

    >>> delta_k(0.06, 1)
    0.01
    """
    return delta / ((k + 1) * (k + 2))


def sigma(size: int, delta: float, m_k: float, n_k: float, xi_k: float) -> float:
    """Alg. 1, line 5: log(|H| / delta) / (m_k xi_k + n_k); infinite for an empty segment.

    >>> round(sigma(100, 0.1, m_k=50, n_k=10, xi_k=0.2), 4)
    0.3454
    """
    least = m_k * xi_k + n_k
    return math.log(size / delta) / least if least > 0.0 else math.inf


def Delta(sigma_k: float, rho: Floats, gamma_0: float = GAMMA_0) -> Floats:
    """Alg. 1, line 5: Delta_k(h, h') = gamma_0 (sigma + sqrt(sigma rho(h, h'))), with rho on the segment's rows.

    >>> Delta(0.25, np.array([0.0, 1.0]), gamma_0=2.0).tolist()
    [0.5, 1.5]
    """
    if math.isinf(sigma_k):
        return np.full(np.shape(rho), np.inf)
    allowed: Floats = gamma_0 * (sigma_k + np.sqrt(sigma_k * rho))
    return allowed
