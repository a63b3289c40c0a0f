"""All classifiers keep scikit-learn's contract, and work inside its tools."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from unskew.descent import LOSSES
from unskew.models.bayes import BayesianLogistic
from unskew.models.linear import LinearClassifier
from unskew.models.team import Team


@parametrize_with_checks(
    [
        BayesianLogistic(),
        Team(),
        *(LinearClassifier(loss=loss) for loss in LOSSES),
        LinearClassifier(loss="squared", clock="rows", fit_intercept=True, passes=2),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


ESTIMATORS = {
    "bayes": (BayesianLogistic(frequencies=10, random_state=0), {"frequencies": [2, 10]}),
    "team": (Team(random_state=0), {"others": [[], [LinearClassifier(random_state=0)]]}),
    "linear": (LinearClassifier(random_state=0), {"eta": [0.1, 10.0], "loss": ["squared", "logistic"]}),
}


@pytest.fixture(params=list(ESTIMATORS))
def named(request):
    return request.param


@pytest.fixture
def estimator(named):
    return clone(ESTIMATORS[named][0])


@pytest.fixture
def sample():
    """A noisy line; where the weight is 0, the label is the opposite of what the line says."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    line = X @ [2.0, -1.0, 0.0] > 0
    misleading = rng.random(400) < 0.75
    y = np.where(line ^ misleading, "yes", "no")
    return X, y, np.where(misleading, 0.0, 1.0), np.where(line, "yes", "no")


def test_cross_validation(estimator, sample):
    X, _, _, truth = sample
    assert cross_val_score(estimator, X, truth, cv=4).min() > 0.8


def test_grid_search(named, estimator, sample):
    X, _, _, truth = sample
    search = GridSearchCV(estimator, ESTIMATORS[named][1], cv=3).fit(X, truth)
    assert search.best_score_ > 0.85 and set(search.best_params_) == set(ESTIMATORS[named][1])
    assert type(search.best_estimator_) is type(estimator) and search.score(X, truth) > 0.9


def test_pipeline(estimator, sample):
    X, _, _, truth = sample
    scaled = make_pipeline(StandardScaler(), estimator).fit(1e3 * X + 7.0, truth)
    assert scaled.score(1e3 * X + 7.0, truth) > 0.9
    assert scaled.decision_function(1e3 * X).shape == (400,) and scaled.classes_.tolist() == ["no", "yes"]
    assert clone(scaled).get_params().keys() == scaled.get_params().keys()


def test_weights_reach_fit_and_score_by_metadata_routing(estimator, sample):
    """Without the weights the labels teach the opposite, so a weight that gets lost on its way is seen."""
    X, y, v, truth = sample
    assert clone(estimator).fit(X, y).score(X, truth) < 0.5
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = Pipeline([("scale", StandardScaler().set_fit_request(sample_weight=False)), ("learn", asks)])
        for learner in (asks, pipeline):
            found = cross_validate(
                learner, X, y, params={"sample_weight": v}, cv=4, return_estimator=True, return_indices=True
            )
            for fitted, held_out in zip(found["estimator"], found["indices"]["test"], strict=True):
                assert fitted.score(X[held_out], truth[held_out]) > 0.8
            assert found["test_score"].min() > 0.8, "the score is weighted too"
            assert learner.fit(X, y, sample_weight=v).score(X, truth) > 0.9
        search = GridSearchCV(asks, {}, cv=3).fit(X, y, sample_weight=v)
        assert search.best_estimator_.score(X, truth) > 0.9
        ignores = clone(estimator).set_fit_request(sample_weight=False)
        plain = cross_validate(ignores, X, y, cv=4, return_estimator=True)["estimator"]
        assert all(fitted.score(X, truth) < 0.5 for fitted in plain)


def test_rows_count_as_a_weighted_set(estimator, sample):
    """Repeated, removed and reordered rows, dense or sparse, give the model that integer weights give."""
    X, y, _, _ = sample
    k = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), k))
    weighted = clone(estimator).fit(X, y, sample_weight=k)
    for rows in (X[again], sparse.csr_array(X[again]), sparse.coo_array(X[again])):
        repeated = clone(estimator).fit(rows, y[again])
        np.testing.assert_allclose(repeated.decision_function(X), weighted.decision_function(X), rtol=1e-9, atol=1e-12)
    plain = clone(estimator).fit(X, y)
    assert not np.allclose(plain.decision_function(X), weighted.decision_function(X), rtol=1e-3)


def test_a_pickle_is_the_same_model(estimator, sample):
    X, _, _, truth = sample
    model = estimator.fit(X, truth)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_a_second_fit_forgets_the_first(estimator, sample):
    X, y, _, truth = sample
    once = clone(estimator).fit(X, truth).decision_function(X)
    np.testing.assert_array_equal(estimator.fit(X[:, ::-1], y).fit(X, truth).decision_function(X), once)


def test_names_of_features(estimator, sample):
    X, _, _, truth = sample
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator.fit(frame, truth)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    assert np.array_equal(model.predict(frame), estimator.fit(X, truth).predict(X))
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2])


def test_no_rows_to_classify(estimator, sample):
    X, _, _, truth = sample
    assert estimator.fit(X, truth).predict(X[:0]).shape == (0,)
