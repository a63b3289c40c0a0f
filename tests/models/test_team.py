"""The team: weights from honest predictions, members left out, what it hands on to the loop."""

from copy import copy, deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from unskew import Unskew
from unskew.errors import InputError
from unskew.models import stacking
from unskew.models import team as module
from unskew.models.bayes import BayesianLogistic
from unskew.models.scores import LogOdds
from unskew.models.stacking import stacked
from unskew.models.team import ENOUGH, Team
from unskew.models.trees import Trees

CLASSES = np.array([-1.0, 1.0])


def drawn(truth, n=300, seed=0):
    """Rows in four columns, and labels by this rule."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, 4))
    return X, np.where(truth(X), 1.0, -1.0)


def line(X):
    return X @ [1.0, -2.0, 0.5, 0.0] > 0.1


def stripes(X):
    return np.round(3.0 * X[:, 0]) % 2.0 == 0.0


def taught(truth, n=300, **parameters):
    X, y = drawn(truth, n)
    team = Team(random_state=0, **parameters).prepare(X, CLASSES)
    team.update(X, y, np.ones(n), choose=True)
    return team, X, y


def test_a_linear_truth_leaves_out_the_trees_and_stripes_need_them():
    straight, steps = taught(line)[0], taught(stripes)[0]
    assert straight.names_ == steps.names_ == ["BayesianLogistic", "Trees"]
    assert straight.weights_[1] == 0.0 < steps.weights_[0] < steps.weights_[1]
    X, y = drawn(stripes, 2000, seed=1)
    alone = [np.mean(steps.alone(k).predict(X) == y) for k in (0, 1)]
    assert alone[0] < 0.7 < 0.8 < np.mean(steps.predict(X) == y)


def test_a_member_without_weight_is_not_asked(monkeypatch):
    team, X, _ = taught(line)
    said = team.log_odds(X)

    def asked(*_):
        raise AssertionError("the trees were asked")

    monkeypatch.setattr(Trees, "log_odds", asked)
    np.testing.assert_array_equal(team.log_odds(X), said)


def test_log_odds_are_the_weighted_sum_of_the_members():
    team, X, _ = taught(stripes)
    logistic, trees = team.members_
    expected = team.weights_[0] * logistic.log_odds(X) + team.weights_[1] * trees.log_odds(X)
    np.testing.assert_allclose(team.log_odds(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(team.predict(X), np.where(expected >= 0.0, 1.0, -1.0))
    np.testing.assert_allclose(np.log(team.predict_proba(X)[:, 1] / team.predict_proba(X)[:, 0]), expected, rtol=1e-9)
    for k, member in enumerate(team.members_):
        np.testing.assert_allclose(team.alone(k).log_odds(X), member.log_odds(X), rtol=1e-12)


def test_weights_are_the_best_ones():
    """Against a fine grid, with the pull towards the first weights."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    honest, v = y * [[0.6], [0.9]] + rng.normal(size=(2, 200)), rng.uniform(0.5, 2.0, 200)

    def loss(a):
        fit = v @ np.logaddexp(0.0, -y * (a @ honest))
        return fit + stacking.PULL * ((a[0] - stacking.FIRST) ** 2 + (a[1] - 1.0 + stacking.FIRST) ** 2)

    found = stacked(honest, y, v, LogOdds())
    steps = np.linspace(0.0, 3.0, 61)
    assert loss(found) <= min(loss(np.array([a, b])) for a in steps for b in steps)


def test_a_member_that_hardly_helps_gets_no_weight_and_the_first_always_stays():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    good, noise = 2.0 * y + rng.normal(size=400), rng.normal(size=(3, 400))
    assert stacked(np.array([good, *noise]), y, np.ones(400), LogOdds())[1:].tolist() == [0.0, 0.0, 0.0]
    some = stacked(np.array([noise[0], good, noise[1]]), y, np.ones(400), LogOdds())
    assert some[1] > 1.0 and some[2] == 0.0
    assert stacked(noise[:1], y, np.ones(400), LogOdds()).shape == (1,)
    assert stacked(np.array([-good, noise[0]]), y, np.ones(400), LogOdds()).tolist() == [
        1.0,
        0.0,
    ]  # somebody must decide


def test_held_out_does_not_see_the_label():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(400, 3)), np.where(rng.random(400) < 0.5, 1.0, -1.0)  # nothing to learn
    team = Team([RandomForestClassifier(20)], random_state=0).prepare(X, CLASSES)
    team.update(X, y, np.ones(400), choose=True)
    for k in range(3):
        assert np.mean(team.alone(k).held_out(X, y, np.ones(400)) * y > 0.0) == pytest.approx(0.5, abs=0.08)


def test_slow_members_wait_until_labels_have_grown_by_a_tenth():
    X, y = drawn(stripes, 400)
    team, v = Team(random_state=0).prepare(X, CLASSES), np.ones(400)
    team.update(X[:300], y[:300], v[:300], choose=True)
    trees = team.members_[1]
    team.update(X[:329], y[:329], v[:329], choose=False)
    assert team.members_[1] is trees
    newer = team.alone(1).held_out(X[:329], y[:329], v[:329])[300:]
    np.testing.assert_array_equal(newer, trees.log_odds(X[300:329]))  # it has not seen their labels
    team.update(X[:330], y[:330], v[:330], choose=False)
    assert team.members_[1] is not trees
    np.testing.assert_array_equal(team.alone(1).held_out(X[:330], y[:330], v[:330]), team.members_[1].out_of_bag)


def test_members_without_weight_are_tried_again_less_often():
    X, y = drawn(line, 400)
    team, v = Team(random_state=0).prepare(X, CLASSES), np.ones(400)
    team.update(X[:300], y[:300], v[:300], choose=True)
    trees = team.members_[1]
    for n, waits in ((389, True), (390, False)):
        team.update(X[:n], y[:n], v[:n], choose=False)
        assert (team.members_[1] is trees) == waits


@pytest.mark.parametrize("labels", [0, 1, ENOUGH - 1])
def test_few_labels_leave_the_logistic_regression_alone(labels):
    X, y = drawn(line, 50)
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X[:labels], y[:labels], np.ones(labels), choose=labels >= 4)
    assert team.names_ == ["BayesianLogistic"] and team.weights_.tolist() == [1.0]
    np.testing.assert_allclose(team.log_odds(X), team.members_[0].log_odds(X), rtol=1e-12)
    assert team.held_out(X[:labels], y[:labels], np.ones(labels)).shape == (labels,)
    assert len(team.wanted(X, 5, np.random.default_rng(0))) == 5


def test_one_class_leaves_the_logistic_regression_alone():
    X = drawn(line, 50)[0]
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X, np.ones(50), np.ones(50), choose=True)
    assert team.names_ == ["BayesianLogistic"] and np.mean(team.predict_proba(X)[:, 1]) > 0.9


def test_margins_keep_the_spread_of_the_logistic_regression_and_the_probability_of_the_team():
    team, X, _ = taught(stripes)
    belief, own = team.belief(X[:40]), team.members_[0].belief(X[:40])
    s = belief.deviation()
    np.testing.assert_allclose(s, own.deviation(), rtol=1e-12)
    np.testing.assert_allclose(belief.mu / np.sqrt(1.0 + np.pi / 8.0 * s**2), team.log_odds(X[:40]), rtol=1e-9)
    wanted = team.wanted(X, 8, np.random.default_rng(0))
    assert len(set(wanted.tolist())) == 8
    assert np.abs(team.log_odds(X)[wanted]).mean() < np.abs(team.log_odds(X)).mean()


def test_a_copy_does_not_learn_with_the_team():
    X, y = drawn(stripes, 400)
    team = Team(random_state=0).prepare(X, CLASSES)
    team.update(X[:100], y[:100], np.ones(100), choose=True)
    handed_out, said = copy(team), team.log_odds(X)
    before = deepcopy(handed_out)
    team.update(X, y, np.ones(400), choose=True)
    np.testing.assert_array_equal(handed_out.log_odds(X), said)
    np.testing.assert_array_equal(before.log_odds(X), said)
    assert not np.array_equal(team.log_odds(X), said)


@pytest.mark.parametrize("fails", ["Trees", "stacked", "fit_weighted", "cross_fitted_margins"])
def test_a_failed_update_leaves_the_team_as_it_was(monkeypatch, fails):
    X, y = drawn(stripes, 400)
    team = Team([LogisticRegression()], random_state=0).prepare(X, CLASSES)
    team.update(X[:100], y[:100], np.ones(100), choose=True)
    twin, said = copy(team), team.log_odds(X)

    def runs_out(*_, **__):
        raise MemoryError

    monkeypatch.setattr(module, fails, runs_out)
    with pytest.raises(MemoryError):
        team.update(X, y, np.ones(400), choose=True)
    monkeypatch.undo()
    np.testing.assert_array_equal(team.log_odds(X), said)
    for one in (team, twin):
        one.update(X, y, np.ones(400), choose=True)
    np.testing.assert_array_equal(team.log_odds(X), twin.log_odds(X))


def test_another_member_is_judged_like_the_rest():
    X, y = drawn(lambda X: stripes(X) ^ (X[:, 1] > 0.5), 300)
    forest = RandomForestClassifier(30)
    team = Team([forest], random_state=0).prepare(X, CLASSES)
    team.update(X, y, np.ones(300), choose=True)
    assert team.names_ == ["BayesianLogistic", "Trees", "RandomForestClassifier"] and len(team.weights_) == 3
    assert not hasattr(forest, "estimators_") and forest.random_state is None
    again = Team([forest], random_state=0).prepare(X, CLASSES)
    again.update(X, y, np.ones(300), choose=True)
    np.testing.assert_array_equal(team.log_odds(X), again.log_odds(X))
    assert np.abs(team.alone(2).log_odds(X)).max() <= np.log(301.0)


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ([KNeighborsClassifier()], "must take sample_weight in fit; KNeighborsClassifier does not"),
        (LogisticRegression(), r"others must be a list of classifiers; got LogisticRegression\(\). Write Team\("),
    ],
)
def test_what_cannot_be_a_member_is_refused_at_once(others, says):
    X, y = drawn(line, 50)
    with pytest.raises(InputError, match=says):
        Team(others).fit(X, y)
    with pytest.raises(InputError, match=says):
        Unskew(model=Team(others))


@pytest.mark.parametrize("columns", [4, 450])
def test_dense_and_sparse_rows_give_the_same_team(columns):
    X = sparse.random_array((120, columns), density=0.3, random_state=0, format="csr")
    y = X[:, [0]].toarray()[:, 0] > 0.2
    dense, csr = (Team(random_state=0).fit(rows, y) for rows in (X.toarray(), X))
    np.testing.assert_allclose(dense.log_odds(X.toarray()), csr.log_odds(X), rtol=1e-9, atol=1e-12)


def test_a_fit_is_that_of_a_weighted_set():
    X, y = drawn(stripes, 120)
    k = np.random.default_rng(1).integers(1, 4, 120)
    weighted = Team(random_state=0).fit(X, y, k)
    repeated = Team(random_state=0).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_array_equal(weighted.log_odds(X), repeated.log_odds(X))


def test_a_bayesian_logistic_lends_its_spread_to_other_log_odds():
    X, y = drawn(line, 200)
    model = BayesianLogistic(random_state=0).fit(X, y)
    near, rng = model.wanted(X, 6, np.random.default_rng(0)), np.random.default_rng(0)
    assert near.tolist() == model.wanted(X, 6, rng, log_odds=model.log_odds(X)).tolist()
    turned = model.log_odds(np.roll(X, 1, axis=1))
    assert near.tolist() != model.wanted(X, 6, rng, log_odds=turned).tolist()
