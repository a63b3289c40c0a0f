"""Propensities up to scale, from telling a log of labelled rows from a pool."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.sampling import density_ratio as module
from unskew.sampling.density_ratio import against_pool, density_ratio


def world(m: int = 3000, n: int = 1000, seed: int = 0):
    """Rows picked from a population, a pool of it, and the rule by which rows were picked."""
    rng = np.random.default_rng(seed)

    def Q0(X):
        return 0.9 / (1.0 + np.exp(1.5 - 2.0 * X[:, 0]))

    everyone, pool = rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
    return everyone[rng.random(m) < Q0(everyone)], pool, Q0


def test_the_order_and_the_ratios_are_those_of_the_true_propensities():
    picked, pool, Q0 = world()
    found = density_ratio(picked, pool, random_state=0)
    for given, true in ((found.q0, Q0(picked)), (found.Q0(pool), Q0(pool))):
        assert spearmanr(given, true).statistic > 0.95
        gap = np.log(given / true)
        assert np.abs(gap - np.median(gap)).mean() < 0.25
    assert found.q0.min() >= found.floor and found.q0.max() == 1.0


def test_weights_from_it_undo_the_selection():
    """The weighted mean of the picked rows is that of everyone, which is 0; unweighted it is far from it."""
    picked, pool, _ = world(m=6000)
    q0 = density_ratio(picked, pool, model=LogisticRegression(), random_state=0).q0
    assert picked[:, 0].mean() > 0.5
    assert abs(np.average(picked[:, 0], weights=1.0 / q0)) < 0.15


def test_a_log_that_is_a_sample_of_everyone_gets_about_equal_propensities():
    rng = np.random.default_rng(0)
    found = density_ratio(
        rng.normal(size=(600, 2)), rng.normal(size=(900, 2)), model=LogisticRegression(), random_state=0
    )
    assert found.q0.min() > 0.5


def test_long_tables_are_sampled_and_every_row_gets_a_propensity(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FITTED_ROWS", 300)
    picked, pool, Q0 = world()
    one, same = (density_ratio(picked, pool, model=LogisticRegression(), random_state=0) for _ in range(2))
    assert (one.fold >= 0).sum() == 300 and one.q0.shape == one.fold.shape == (len(picked),)
    assert spearmanr(one.q0, Q0(picked)).statistic > 0.9 and np.array_equal(one.q0, same.q0)


@pytest.mark.parametrize(("m", "n"), [(5, 500), (500, 5)])
def test_with_few_rows_every_propensity_is_one(m: int, n: int):
    rng = np.random.default_rng(0)
    found = density_ratio(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)))
    assert (found.q0 == 1.0).all() and (found.Q0(rng.normal(size=(3, 2))) == 1.0).all()


def test_other_columns_are_refused():
    with pytest.raises(InputError, match="the log's 2 features; got 3"):
        density_ratio(np.zeros((20, 2)), np.zeros((20, 3)))


def test_the_log_keeps_everything_but_its_propensities():
    picked, pool, _ = world(m=300)
    y = np.where(picked[:, 1] > 0, "yes", "no").astype(object)
    y[0] = None
    log = LoggedData(picked, y, q0_estimated=True, features=["a", "b"])
    found, _ = against_pool(log, pool[:200], random_state=0)
    assert found.only_labelled and found.features == ("a", "b") and found.classes.tolist() == ["no", "yes"]
    assert np.array_equal(found.y, log.y) and np.array_equal(found.z, log.z) and found.q0.min() < 0.5
