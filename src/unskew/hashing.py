"""Random numbers that belong to a row: hashed from a seed and the row's key, wherever and whenever the row is seen."""

import numpy as np

from unskew.rows import Floats, Ints, Keys


def exponentials(seed: int, keys: Keys | Ints) -> Floats:
    """A number from the exponential distribution for each key, by a hash of seed and key (Steele et al. 2014).

    >>> bool(np.isclose(exponentials(7, np.arange(100_000)).mean(), 1.0, atol=0.01))
    True
    >>> exponentials(7, np.array([5, 3])).tolist() == exponentials(7, np.arange(10))[[5, 3]].tolist()
    True
    """
    mask = (1 << 64) - 1
    step, first, second = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
    z = np.asarray(keys).astype(np.uint64) + np.uint64(1)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is meant
        for salt in (seed & mask, (seed >> 64) & mask):
            z = z * step + np.uint64(salt)
            z = (z ^ (z >> np.uint64(30))) * first
            z = (z ^ (z >> np.uint64(27))) * second
            z = z ^ (z >> np.uint64(31))
    uniform = ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(-np.log(uniform))
