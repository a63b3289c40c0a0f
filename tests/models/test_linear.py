"""`Descent` and `LinearClassifier`: dense against CSR, blocks and weights, and every refusal."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from unskew.descent import CLOCKS, LOSSES, Descent
from unskew.errors import InputError
from unskew.models.linear import LinearClassifier

any_loss = pytest.mark.parametrize("loss", LOSSES)


@pytest.fixture
def sample():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (120, 6)) * (rng.random((120, 6)) < 0.7)
    y = np.where(X @ [1, -2, 0.5, 0, 1, 0.3] > 0, "yes", "no")
    return X, y, rng.uniform(0.5, 20, 120)


@any_loss
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_dense_and_csr_learn_the_same(sample, loss, clock, fit_intercept):
    X, y, v = sample
    models = [
        LinearClassifier(loss=loss, clock=clock, fit_intercept=fit_intercept, passes=2, random_state=1).fit(rows, y, v)
        for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X), sparse.coo_array(X))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, models[0].intercept_, rtol=1e-9, atol=1e-12)
        assert model.t_ == pytest.approx(models[0].t_)
        np.testing.assert_allclose(
            model.decision_function(sparse.csr_array(X)), models[0].decision_function(X), rtol=1e-9
        )
    assert models[0].score(X, y) > 0.9


@any_loss
def test_blocks_are_one_pass(sample, loss):
    X, y, v = sample
    whole = LinearClassifier(loss=loss, shuffle=False).fit(X, y, v)
    blocks = LinearClassifier(loss=loss)
    for lo, hi in [(0, 1), (1, 50), (50, 51), (51, 120)]:
        blocks.partial_fit(X[lo:hi], y[lo:hi], classes=["yes", "no"], sample_weight=v[lo:hi])
    np.testing.assert_array_equal(blocks.coef_, whole.coef_)
    assert blocks.t_ == whole.t_ == pytest.approx(v.sum())


def test_the_clock_counts_weight_or_rows(sample):
    X, y, v = sample
    v[:20] = 0.0
    assert LinearClassifier(passes=3).fit(X, y, v).t_ == pytest.approx(3 * v.sum())
    assert LinearClassifier(passes=3, clock="rows").fit(X, y, v).t_ == 300


@any_loss
@pytest.mark.parametrize("clock", CLOCKS)
def test_rows_count_as_a_weighted_set_when_shuffled(sample, loss, clock):
    X, y, _ = sample
    k = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), k))
    weighted = LinearClassifier(loss=loss, clock=clock, random_state=3).fit(X, y, sample_weight=k)
    repeated = LinearClassifier(loss=loss, clock=clock, random_state=3).fit(X[again], y[again])
    np.testing.assert_allclose(repeated.coef_, weighted.coef_, rtol=1e-9)
    other = LinearClassifier(loss=loss, clock=clock, random_state=4).fit(X, y, sample_weight=k)
    assert not np.allclose(other.coef_, weighted.coef_)


def test_equal_rows_of_opposite_labels_stay_apart():
    model = LinearClassifier(random_state=0).fit([[1.0], [1.0], [1.0]], [0, 1, 1])
    assert model.t_ == 3
    rows = LinearClassifier(clock="rows", random_state=0).fit([[1.0], [1.0], [1.0]], [0, 1, 1])
    assert rows.t_ == 2


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0, 1), (3, 7), ("bad", "good"), (False, True), (0.0, 1.0)])
def test_any_two_labels(sample, low, high):
    X, y, _ = sample
    labels = np.where(y == "yes", high, low)
    model = LinearClassifier(random_state=0).fit(X, labels)
    assert model.classes_.tolist() == [low, high]
    plain = LinearClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X) == high, plain.predict(X) == "yes")


def test_a_score_of_zero_is_the_positive_class():
    model = LinearClassifier().fit([[1.0, 0.0], [-1.0, 0.0]], ["a", "b"])
    assert model.decision_function([[0.0, 5.0]]).tolist() == [0.0]
    assert model.predict([[0.0, 5.0]]).tolist() == ["b"]


def test_a_descent_becomes_a_classifier_of_its_own(sample):
    X, y, v = sample
    descent = Descent(6, 0.5, clock="rows", loss="hinge", intercept=True)
    signs = np.where(y == "yes", 1.0, -1.0)
    descent.run(X, signs, v, np.arange(60))
    model = LinearClassifier.from_descent(descent, np.array(["no", "yes"]))
    assert model.get_params()["loss"] == "hinge"
    assert (model.clock, model.eta, model.fit_intercept, model.t_) == ("rows", 0.5, True, 60.0)
    np.testing.assert_array_equal(np.append(model.coef_, model.intercept_), descent.w)
    before = model.decision_function(X)
    np.testing.assert_array_equal(before, descent.look(X)[0])
    descent.run(X, signs, v, np.arange(60, 120))
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.partial_fit(X[60:], y[60:], sample_weight=v[60:])
    np.testing.assert_allclose(model.decision_function(X), descent.look(X)[0], rtol=1e-12)


def test_a_descent_counts_its_errors_and_starts_again():
    descent = Descent(1, 1.0)
    X, y, v = np.array([[1.0], [-1.0], [2.0]]), np.array([1.0, 1.0, -1.0]), np.array([1.0, 10.0, 100.0])
    assert descent.errors(X, y, v) == 111.0
    descent.run(X, y, v, np.array([0]))
    assert descent.errors(X, y, v) == 110.0
    assert descent.a == pytest.approx(0.5**0.5)
    descent.reset()
    assert (descent.t, descent.w.tolist(), descent.a) == (0.0, [0.0], 1.0)


@any_loss
def test_pickling(sample, loss):
    X, y, v = sample
    model = LinearClassifier(loss=loss, fit_intercept=True).fit(X, y, v)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(X), model.decision_function(X))
    assert twin.t_ == model.t_
    twin.partial_fit(X, y)


def refusal(fit, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        fit(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_refusals_name_the_value_and_the_remedy():
    X, y = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]]), [0, 1, 1]
    fit = LinearClassifier().fit
    nan = X.copy()
    nan[2, 1] = np.nan
    assert "got nan at row 2, column 1. Impute or drop" in refusal(fit, nan, y)
    assert "got nan at row 2, column 1. Impute or drop" in refusal(fit, sparse.csr_array(nan), y)
    assert "got inf at row 0, column 0" in refusal(fit(X, y).predict, [[np.inf, 1.0]])
    assert "two classes; got 3: 0, 1, 2. Merge classes" in refusal(fit, X, [0, 1, 2])
    assert "two classes; got one class: 7. Add rows" in refusal(fit, X, [7, 7, 7])
    assert "got one class: 1" in refusal(fit, X, y, sample_weight=[0, 1, 1])
    assert "[3, 2]. Align them" in refusal(fit, X, [0, 1])
    assert "got -2.0 at row 1. Correct or drop" in refusal(fit, X, y, sample_weight=[1, -2, 1])
    assert "got nan at row 0" in refusal(fit, X, y, sample_weight=[np.nan, 1, 1])
    assert "one value per row of X; got shape (2,) for 3 rows. Align them" in refusal(fit, X, y, sample_weight=[1, 1])
    assert "zero for every row" in refusal(fit, X, y, sample_weight=[0, 0, 0])
    assert "at most 1e+100 in size; got 1e+200 at row 1, column 0. Scale the feature" in refusal(
        fit(X, y).predict, [[1.0, 1.0], [1e200, 1.0]]
    )


def test_a_refused_fit_leaves_the_model_unfitted():
    model = LinearClassifier(loss="hing")
    refusal(model.fit, [[1.0], [-1.0]], [0, 1])
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


def test_refusals_of_parameters():
    X, y = [[1.0], [-1.0]], [0, 1]
    assert "did you mean 'hinge'?" in refusal(LinearClassifier(loss="hing").fit, X, y)
    assert "Known: weight, rows" in refusal(LinearClassifier(clock="sun").fit, X, y)
    for eta in (0.0, -1.0, np.nan, np.inf):
        assert f"eta must be positive and finite; got {eta}" in refusal(LinearClassifier(eta=eta).fit, X, y)
    for passes in (0, 1.5):
        assert f"got {passes}" in refusal(LinearClassifier(passes=passes).fit, X, y)


def test_refusals_of_further_rows():
    model = LinearClassifier()
    assert "got one class: 1" in refusal(model.partial_fit, [[1.0]], [1])
    model.partial_fit([[1.0]], [1], classes=[0, 1])
    assert "labels must be 0 or 1; got 2 at position 0" in refusal(model.partial_fit, [[1.0]], [2])
    assert "classes must stay [0, 1]; got [0, 2]" in refusal(model.partial_fit, [[1.0]], [1], classes=[0, 2])
    weights = np.array([0.0, 1.0])
    for X in (np.array([[1.0], [np.nan]]), np.array([[1.0], [-np.inf]])):
        assert "at row 1, column 0" in refusal(model.partial_fit, X, np.array([1, 0]), sample_weight=weights)
    assert "[2, 1]. Align them" in refusal(model.partial_fit, np.ones((2, 1)), np.array([1]))
    assert model.t_ == 1.0
    assert np.isfinite(model.coef_).all()


@any_loss
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_value_anywhere_is_found_and_nothing_is_learned_from_its_block(sample, loss, value):
    X, y, v = sample
    for cell in [(0, 0), (60, 3), (119, 5)]:
        model = LinearClassifier(loss=loss).partial_fit(X, y, sample_weight=v)
        before = model.coef_
        bad = X.copy()
        bad[cell] = value
        for rows in (bad, sparse.csr_array(bad)):
            assert f"row {cell[0]}, column {cell[1]}" in refusal(model.partial_fit, rows, y, sample_weight=v)
        np.testing.assert_array_equal(model.coef_, before)


def test_short_and_long_way_in_agree(sample):
    X, y, v = sample
    models = []
    for rows in (X, np.asfortranarray(X), X.tolist()):
        model = LinearClassifier()
        for _ in range(2):
            model.partial_fit(rows, y, sample_weight=v)
        models.append(model)
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].coef_, models[2].coef_)
