"""Margins of labelled rows that do not know their own label: in closed form, and by cross-fitting."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from unskew.errors import InputError
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.laplace import leave_one_out, posterior


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_agrees_with_refits(weighted):
    rng = np.random.default_rng(3)
    F = np.column_stack([np.ones(60), rng.normal(size=(60, 4))])
    y = np.where(rng.random(60) < 1 / (1 + np.exp(-1.5 * F[:, 1])), 1.0, -1.0)
    v, precision = rng.uniform(0.2, 2.0, 60) if weighted else np.ones(60), np.full(5, 0.25)
    found = posterior(F, y, v, precision)
    near, variance = leave_one_out(F, y, v, found)
    kept = ~np.eye(60, dtype=bool)
    exact = np.array([posterior(F[k], y[k], v[k], precision).mean(F[i : i + 1])[0] for i, k in enumerate(kept)])
    moved = np.abs(exact - found.mean(F))
    assert moved.max() > 0.3
    assert np.abs(near - exact).mean() < 0.1 * moved.mean()
    assert np.corrcoef(near, exact)[0, 1] > 0.999
    refits = [posterior(F[k], y[k], v[k], precision).deviation(F[i : i + 1])[0] ** 2 for i, k in enumerate(kept)]
    assert np.corrcoef(variance, refits)[0, 1] > 0.95
    assert (variance > found.deviation(F) ** 2).all()


def test_cross_fitting_does_not_see_the_label():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 2)), np.where(rng.random(200) < 0.5, 1.0, -1.0)  # nothing to learn
    tree = DecisionTreeClassifier(random_state=0)  # remembers every label it has seen
    own = cross_fitted_margins(tree, X, y, np.ones(200), folds=10)
    assert tree.fit(X, y).score(X, y) == 1.0
    assert np.mean((own >= 0) == (y > 0)) == pytest.approx(0.5, abs=0.12)
    with pytest.raises(InputError, match="folds must be between 2 and the 3 labelled rows; got 5"):
        cross_fitted_margins(tree, X[:3], y[:3], np.ones(3))
    with pytest.raises(InputError, match="both classes; got one in"):
        cross_fitted_margins(tree, X[:20], np.ones(20), np.ones(20))
