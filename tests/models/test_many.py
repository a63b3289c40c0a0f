"""Models for more than two classes."""

import pickle
from importlib import import_module

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from unskew.errors import InputError
from unskew.estimation.calibration import Calibration
from unskew.estimation.everyone import Everyone
from unskew.models.bayes import BayesianLogistic
from unskew.models.committee import BootstrapCommittee
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.scores import class_scores, gaps
from unskew.models.team import Team
from unskew.models.trees import Trees

CLASSES = np.array(["ash", "beech", "cedar", "oak"])


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 1.0 + 2.0 * (X[:, 0] > 0) + (X[:, 1] > 0.3)


def test_each_class_has_the_posterior_of_two_classes():
    """With the prior held, the scores of a class come from the posterior of two: this class and the rest."""
    X, y = rows(80)
    many = BayesianLogistic(random_state=np.random.default_rng(5)).prepare(X, CLASSES)
    many.update(X, y, np.ones(80), choose=False)
    scores, honest = many.log_odds(X), many.held_out(X, y, np.ones(80))
    each, each_honest = np.empty((80, 4)), np.empty((80, 4))
    for k in range(4):
        two = BayesianLogistic(random_state=np.random.default_rng(5)).prepare(X, np.array([0, 1]))
        sign = np.where(y == k + 1, 1.0, -1.0)
        two.update(X, sign, np.ones(80), choose=False)
        each[:, k], each_honest[:, k] = two.log_odds(X), two.held_out(X, sign, np.ones(80))
    a = many.sharpness_
    np.testing.assert_allclose(scores, log_softmax(a * each, axis=1), atol=1e-9)
    np.testing.assert_allclose(honest, log_softmax(a * each_honest, axis=1), atol=1e-9)
    losses = [-log_softmax(b * each_honest, axis=1)[np.arange(80), y.astype(int) - 1].sum() for b in (a, 1.0)]
    assert a != 1.0 and losses[0] < losses[1]


def test_a_team_of_trees_and_logistic_regression_learns_all_classes():
    X, y = rows(700)
    team = Team(random_state=0).fit(X[:300], CLASSES[y[:300].astype(int) - 1])
    truth = CLASSES[y[300:].astype(int) - 1]
    assert team.classes_.tolist() == CLASSES.tolist() and team.score(X[300:], truth) > 0.93
    p = team.predict_proba(X[300:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(team.predict(X[300:]), CLASSES[p.argmax(axis=1)])
    assert team.names_ == ["BayesianLogistic", "Trees"] and (team.weights_ >= 0.0).all()
    again = pickle.loads(pickle.dumps(team))
    assert np.array_equal(again.predict_proba(X), team.predict_proba(X))


def test_predictions_without_the_own_label_are_honest():
    """Labels that are pure chance cannot be predicted, and held-out scores do not claim to."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), 1.0 + rng.integers(4, size=200)
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X, y, np.ones(200), choose=True)
    right = np.mean(team.held_out(X, y, np.ones(200)).argmax(axis=1) + 1.0 == y)
    assert right < 0.4  # a quarter, by chance


def test_trees_say_the_same_after_a_pickle_and_know_what_they_have_not_seen():
    X, y = rows(200)
    trees = Trees(X, y, np.ones(200), 4, seed=3)
    again = pickle.loads(pickle.dumps(trees))
    assert np.array_equal(again.log_odds(X), trees.log_odds(X))
    assert np.mean(trees.log_odds(X).argmax(axis=1) + 1 == y) > np.mean(trees.out_of_bag.argmax(axis=1) + 1 == y) > 0.8


def test_a_batch_is_not_one_row_many_times():
    """Of ten copies of the most useful row, one is asked for first, and then others."""
    X, y = rows(300)
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X[:40], y[:40], np.ones(40), choose=True)
    rng = np.random.default_rng(0)
    first = team.wanted(X[40:], 1, rng)[0]
    copies = np.concatenate([np.tile(X[40:][first], (10, 1)), np.delete(X[40:], first, axis=0)])
    assert np.sum(team.wanted(copies, 5, rng) < 10) <= 2


@pytest.mark.parametrize("model", [RandomForestClassifier(20), LogisticRegression(), LinearSVC()])
def test_a_committee_of_any_classifier(model):
    X, y = rows(300)
    committee = BootstrapCommittee(model, random_state=0).prepare(X, CLASSES)
    committee.update(X[:1], y[:1], np.ones(1), choose=False)  # one class: the stand-in
    assert committee.log_odds(X).shape == (300, 4)
    committee.update(X[:120], y[:120], np.ones(120), choose=True)
    scores = committee.log_odds(X[120:])
    assert np.mean(scores.argmax(axis=1) + 1.0 == y[120:]) > 0.75
    chosen = committee.wanted(X[120:], 7, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 7
    assert gaps(scores)[2][chosen].mean() < gaps(scores)[2].mean()
    assert committee.held_out(X[:120], y[:120], np.ones(120)).shape == (120, 4)


def test_a_class_that_a_classifier_has_not_seen_is_possible():
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["ash", "oak", "ash"])
    scores = class_scores(model, np.array([[0.5]]), CLASSES, 3)
    assert np.isfinite(scores).all() and scores[0, 1] == scores[0, 2] < scores[0, 0]
    np.testing.assert_allclose(np.exp(scores).sum(), 1.0)


def test_a_fold_with_one_class_outside_it_has_a_share():
    found = cross_fitted_margins(LogisticRegression(), np.eye(2), np.array([1.0, 2.0]), np.ones(2), 2, K=4)
    assert found.argmax(axis=1).tolist() == [1, 0] and np.isfinite(found).all()


@pytest.mark.parametrize("model", [Team(random_state=0), BayesianLogistic(random_state=0)])
def test_a_model_is_fitted_to_two_classes_or_more(model):
    X, y = rows(300)
    for classes in (2, 3, 4):
        some = y <= classes
        fitted = clone(model).fit(X[some], CLASSES[y[some].astype(int) - 1])
        assert fitted.classes_.tolist() == CLASSES[:classes].tolist()
        assert fitted.predict_proba(X).shape == (300, classes)
        assert fitted.score(X[some], CLASSES[y[some].astype(int) - 1]) > 0.9
    with pytest.raises(InputError, match="y must show at most 100 classes; got 101. Merge rare classes"):
        clone(model).fit(np.arange(303.0)[:, None], np.arange(303) % 101)
    with pytest.raises(InputError, match="y must show two classes; got one class: 1"):
        clone(model).fit(X, np.ones(300, dtype=int))


def test_a_belief_is_about_two_classes():
    X, y = rows(60)
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X, y, np.ones(60), choose=True)
    with pytest.raises(InputError, match="a belief is about two classes; the model has 4"):
        team.belief(X)
    assert team.screen(X) is None


@pytest.mark.parametrize(
    ("place", "name", "now"),
    [
        ("unskew.models.many", "ManyTeam", Team),
        ("unskew.models.many.team", "ManyTeam", Team),
        ("unskew.models.many.trees", "ManyTrees", Trees),
        ("unskew.models.many.committee", "ManyCommittee", BootstrapCommittee),
        ("unskew.models.many.scores", "gaps", gaps),
        ("unskew.estimation.many", "ManyEveryone", Everyone),
        ("unskew.estimation.calibration", "ManyCalibration", Calibration),
    ],
)
def test_old_names_work_with_a_warning(place, name, now):
    module = import_module(place)
    with pytest.warns(DeprecationWarning, match=f"{name} is now .*{now.__name__}. The old name goes"):
        assert getattr(module, name) is now
    assert not hasattr(module, "Nothing")
