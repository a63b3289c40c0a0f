"""A small population and one repeat of an experiment on it, for the tests of methods."""

import numpy as np

from unskew.experiments.simulation import simulate


def population(rows=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, d))
    y = np.where(X @ np.array([1.0, -0.5, 0.3, 0.0]) > 0, 1.0, -1.0)
    y[rng.random(rows) < 0.1] *= -1.0
    return X, y


def scene(seed=0, policy="uniform", fraction=0.5, rows=600):
    X, y = population(rows, seed=seed)
    return simulate(X, y, policy, fraction, np.random.default_rng(seed))
