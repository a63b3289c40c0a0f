"""Whether given propensities fit who was labelled: right ones are hardly ever refuted."""

import numpy as np

from unskew.data import LoggedData
from unskew.models.bayes import BayesianLogistic
from unskew.sampling.diagnostics import balance, balance_of_doubt


def p_values(seed: int, signal: float) -> tuple[float, float]:
    """Both tests, on a log with right propensities and a model that knows only the log."""
    rng = np.random.default_rng([seed, int(10 * signal)])
    X = rng.normal(size=(200, 2))
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-signal * X[:, 0])), 1.0, -1.0)
    log = LoggedData(X, y, rng.random(200) < 0.4, 0.4, classes=(-1.0, 1.0))
    model, v = BayesianLogistic(random_state=0).prepare(X, log.classes), np.ones(int(log.z.sum()))
    model.update(log.revealed_X, log.revealed_y, v, choose=True)
    margin = model.log_odds(X)
    margin[log.z] = model.held_out(log.revealed_X, log.revealed_y, v)
    return balance(log), balance_of_doubt(log, margin)


def test_right_propensities_are_hardly_ever_refuted() -> None:
    """A model that knows nothing says nearly the same of all rows, but a little less of each label it leaves out."""
    found = np.array([p_values(seed, signal) for signal in (0.0, 0.5, 3.0) for seed in range(60)])
    assert (found < 0.001).sum() <= 2  # 0.36 are expected of 360
    assert 0.02 < (found < 0.1).mean() < 0.18
