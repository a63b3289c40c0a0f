"""Trees: what the forest says, and what it says about a labelled row without that row's label."""

import pickle

import numpy as np
import pytest
from scipy.special import logit
from sklearn.ensemble import ExtraTreesClassifier

from unskew.models import trees as module
from unskew.models.trees import TREES, Trees


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=300) > 0.0, rng.uniform(0.5, 2.0, 300)


def test_a_forest_is_the_mean_of_its_trees(sample):
    X, positive, v = sample
    found = Trees(X, positive, v, seed=0)
    leaves = [tree.value[:, 0, 0][tree.apply(X.astype(np.float32))] for tree in found.trees]
    assert len(leaves) == TREES
    shares = (TREES * np.mean(leaves, axis=0) + 0.5) / (TREES + 1.0)
    np.testing.assert_allclose(found.log_odds(X), logit(shares), rtol=1e-12)
    assert found.log_odds(X[:0]).shape == (0,)


def test_the_trees_are_as_good_as_those_of_scikit_learn(sample):
    X, positive, v = sample
    new = np.random.default_rng(1).normal(size=(4000, 6))
    truth = new[:, 0] * new[:, 1] > 0.0
    forests = [ExtraTreesClassifier(TREES, bootstrap=True, max_features=0.5, random_state=seed) for seed in range(4)]
    theirs = np.mean([forest.fit(X, positive, v).score(new, truth) for forest in forests])
    ours = np.mean([(Trees(X, positive, v, seed=seed).log_odds(new) > 0.0) == truth for seed in range(4)])
    assert ours == pytest.approx(theirs, abs=0.02)


def test_out_of_bag_does_not_see_the_label():
    """Labels are coin flips: a forest remembers those it has seen, and can only guess the others."""
    rng = np.random.default_rng(2)
    X, positive = rng.normal(size=(600, 3)), rng.random(600) < 0.5
    found = Trees(X, positive, np.ones(600), seed=0)
    assert np.mean((found.log_odds(X) > 0.0) == positive) > 0.95
    assert np.mean((found.out_of_bag > 0.0) == positive) == pytest.approx(0.5, abs=0.07)


def test_out_of_bag_is_as_good_as_on_new_rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (2400, 4))
    positive = (X[:, 0] > 0.2) ^ (X[:, 1] > -0.3) ^ (rng.random(2400) < 0.1)
    right = []
    for k in range(0, 2400, 400):
        found = Trees(X[k : k + 400], positive[k : k + 400], np.ones(400), seed=k)
        others = np.r_[:k, k + 400 : 2400]
        new = np.mean((found.log_odds(X[others]) > 0.0) == positive[others])
        right.append((np.mean((found.out_of_bag > 0.0) == positive[k : k + 400]), new))
    own, new = np.mean(right, axis=0)
    assert own == pytest.approx(new, abs=0.02)


def test_the_same_labels_give_the_same_trees_and_another_seed_gives_others(sample):
    one, again, other = (Trees(*sample, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.log_odds(sample[0]), again.log_odds(sample[0]))
    np.testing.assert_array_equal(one.out_of_bag, again.out_of_bag)
    assert not np.array_equal(one.log_odds(sample[0]), other.log_odds(sample[0]))
    assert pickle.dumps(one) == pickle.dumps(again)
    kept = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(kept.log_odds(sample[0]), one.log_odds(sample[0]))


def test_a_heavy_label_decides_its_leaves():
    X, positive = np.zeros((40, 1)), np.arange(40) < 10
    light, heavy = (Trees(X, positive, np.where(positive, w, 1.0), seed=0).log_odds(X[:1])[0] for w in (1.0, 30.0))
    assert light < 0.0 < heavy


def test_many_labels_are_sampled(monkeypatch, sample):
    monkeypatch.setattr(module, "DRAWS", 50)
    found = Trees(*sample, seed=0)
    assert max(tree.n_node_samples[0] for tree in found.trees) <= 50
    assert np.mean((found.out_of_bag > 0.0) == sample[1]) > 0.6


def test_numbers_too_large_for_single_precision(sample):
    """Trees see single precision only; a column of huge numbers is cut where it was."""
    X, positive, v = sample
    huge = np.column_stack([X[:, 0], 1e60 * X[:, 1]])
    found = Trees(huge, positive, v, seed=0)
    assert np.mean((found.log_odds(huge) > 0.0) == positive) > 0.95


def test_one_label_of_each_class():
    found = Trees(np.array([[0.0], [1.0]]), np.array([True, False]), np.ones(2), seed=0)
    assert np.isfinite(found.out_of_bag).all()
    first, second = found.log_odds(np.array([[0.0], [1.0]]))
    assert first > 0.0 > second
