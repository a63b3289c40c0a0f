"""Methods with more than two classes: `Unskew` takes them, those of the paper refuse them by name."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from unskew import LoggedData, StoppingRule, Unskew
from unskew.errors import InputError
from unskew.estimation.costs import Costs
from unskew.methods.pools.yardsticks import MarginSampling
from unskew.methods.registry import EXPERIMENT_METHODS, POOL_METHODS, method_named
from unskew.models.bayes import BayesianLogistic
from unskew.models.team import Team


def world(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.array(["low", "middle", "high"])[
        (X[:, 0] + 0.3 * rng.normal(size=n) > -0.5).astype(int) + (X[:, 0] > 0.5)
    ]


def log_of(n=200, seed=0):
    X, y = world(n, seed)
    q0 = np.where(X[:, 1] > 0, 0.5, 0.1)
    return LoggedData(X, y, np.random.default_rng(seed).random(n) < q0, q0)


@pytest.mark.parametrize("name", [name for name in EXPERIMENT_METHODS if name not in POOL_METHODS])
def test_methods_on_streams_refuse_more_than_two_classes_by_name(name):
    with pytest.raises(InputError, match=f"{name} takes two classes; the log has 3 classes. Use Unskew"):
        method_named(name)(random_state=0).start(log_of())


@pytest.mark.parametrize("name", POOL_METHODS)
def test_methods_on_pools_take_them(name):
    pool, answer = world(300, 1)
    method = method_named(name)(random_state=0).start(log_of(), pool)
    for _ in range(2):
        asked = method.ask(15)
        assert len(set(asked.positions.tolist())) == 15
        method.tell(answer[asked])
    new, truth = world(400, 2)
    assert np.mean(method.predict(new) == truth) > 0.75
    assert set(method.infer(new)) <= {1.0, 2.0, 3.0}


def test_estimates_of_all_classes_and_of_one():
    pool, answer = world(400, 1)
    method = Unskew(random_state=0).start(log_of(), pool)
    for _ in range(3):
        asked = method.ask(20)
        method.tell({int(k): answer[k] for k in asked.positions})
    found = method.error()
    assert 0.0 < found.low < found.value < found.high < 0.4 and found.positives is None
    assert 0.5 < method.error("recall", of="middle").value <= 1.0
    assert method.error("log_loss").value < 0.8
    assert method.labels_for(0.05).labels is not None
    start = Unskew(random_state=0).start(log_of(), pool)
    assert method.error(against=start.model_).measure == "difference in error"
    with pytest.raises(InputError, match="labels must be one of"):
        method.error("recall", of="none")


def test_the_same_seed_asks_for_the_same_rows():
    pool, _ = world(300, 1)
    one, two = (Unskew(random_state=4).start(log_of(), pool).ask(20) for _ in range(2))
    assert one.positions.tolist() == two.positions.tolist() and np.array_equal(one.probability, two.probability)


def test_a_skipped_row_and_a_wrong_answer():
    pool, answer = world(100, 1)
    method = Unskew(random_state=0).start(log_of(), pool)
    asked = method.ask(6)
    with pytest.raises(InputError, match="got 'lower' at position 0. Correct it, or pass None"):
        method.tell(["lower", *answer[asked][1:]])
    assert method.tell([None, *answer[asked][1:]]).labels_ == 5


def test_a_start_without_a_label():
    X, _ = world(50)
    log = LoggedData(X, [None] * 50, q0=0.1, classes=["low", "middle", "high"])
    pool, answer = world(200, 1)
    method = Unskew(random_state=0).start(log, pool)
    asked = method.ask(20)
    assert asked.drawn.all()
    assert 0.0 <= method.tell(answer[asked]).error().value < 0.6


@pytest.mark.parametrize("model", [RandomForestClassifier(10, random_state=0), Team(), BayesianLogistic()])
def test_ones_own_model(model):
    pool, answer = world(200, 1)
    method = Unskew(model=model, random_state=0).start(log_of(), pool)
    asked = method.ask(20)
    method.tell(answer[asked])
    new, truth = world(300, 2)
    assert np.mean(method.model_.predict(new) == truth) > 0.7 and method.error().labels > 10


def test_costs_recall_and_beliefs_are_for_two_classes():
    pool, _ = world(50, 1)
    for how, what in (({"costs": Costs(false_negative=5.0)}, "costs"), ({"recall": 0.9}, "a recall")):
        with pytest.raises(InputError, match=f"{what} can be given for two classes; the log has 3 classes"):
            Unskew(**how).start(log_of(), pool)
    method = Unskew(random_state=0).start(log_of(), pool)
    with pytest.raises(InputError, match="a belief is about two classes; the log has 3"):
        StoppingRule()(method)
    assert StoppingRule(width=0.9)(method) is not None


def test_margin_sampling_asks_where_two_classes_are_close():
    pool, _ = world(300, 1)
    method = MarginSampling(random_state=0).start(log_of(), pool)
    gap = method.score(pool)
    assert gap[method.ask(10).positions].max() <= np.sort(gap)[9] + 1e-12
