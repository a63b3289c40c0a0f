"""A classifier of one's own as the ledger keeps it: by name and parameters, and built again from them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from unskew import Team
from unskew.campaigns.learning.recipes import build, consented, recorded, shown
from unskew.errors import InputError

MODULE = """
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

def root(X):
    return abs(X) ** 0.5

def rooted(C=1.0):
    return make_pipeline(FunctionTransformer(root), LogisticRegression(C=C))

class Threaded(LogisticRegression):
    def __init__(self, *, n_jobs=None):
        super().__init__()
        self.n_jobs = n_jobs

class Loud(LogisticRegression):
    def __init__(self, C=1.0):
        self.C = 2 * C
        super().__init__(C=2 * C)

number = 3
none = lambda: None

def breaks():
    raise RuntimeError("two\\nlines")
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of the user's own."""
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path / "mine.py"


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=30, categorical_features=None),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression(C=0.5, class_weight={"yes": 2.0})),
        RandomForestClassifier(max_features=0.5, random_state=3),
        MLPClassifier(hidden_layer_sizes=(20, 10)),
        Team([HistGradientBoostingClassifier()]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_built_again_it_is_the_same(model: object) -> None:
    record = json.loads(json.dumps(recorded(model)))
    again = build(record)
    assert repr(again) == repr(model)
    assert recorded(again) == record


def test_only_what_differs_from_the_defaults_is_kept_under_the_public_name() -> None:
    record = recorded(HistGradientBoostingClassifier(max_iter=np.int64(30)))
    assert record["class"] == "sklearn.ensemble:HistGradientBoostingClassifier"
    assert record["parameters"] == {"max_iter": 30}
    assert record["versions"] == {"sklearn": sys.modules["sklearn"].__version__}
    assert shown(record) == "sklearn.ensemble:HistGradientBoostingClassifier, max_iter = 30"


def test_a_function_of_ones_own_goes_by_its_source(mine: Path) -> None:
    record = recorded({"class": "mine:rooted", "parameters": {"C": 0.5}})
    assert build(record).steps[1][1].C == 0.5
    assert list(record["versions"]) == ["mine", "sklearn"]
    mine.write_text(MODULE + "# changed\n")
    assert recorded("mine:rooted")["versions"]["mine"] != record["versions"]["mine"]


def test_its_sums_do_not_depend_on_the_number_of_cores(mine: Path) -> None:
    assert build({"class": "mine:Threaded"}).n_jobs == 1
    assert build({"class": "mine:Threaded", "parameters": {"n_jobs": 2}}).n_jobs == 2
    assert build({"class": "sklearn.ensemble:RandomForestClassifier"}).n_jobs is None  # which is one


def test_whoever_agrees_to_a_model_agrees_to_its_parameters() -> None:
    """They may name files to read or write."""
    plain = {"class": "lightgbm:LGBMClassifier", "parameters": {}}
    other = {**plain, "parameters": {"forcedsplits_filename": "/home/ann/private.json"}}
    assert consented(plain) != consented(other)
    assert consented(plain) == consented({**plain, "versions": {"lightgbm": "4.6.0"}})


def local() -> object:
    class Local(LogisticRegression):
        pass

    return Local()


class NoWeights(ClassifierMixin, BaseEstimator):
    """Has probabilities and takes no weights."""

    def fit(self, X: object, y: object) -> "NoWeights":
        return self

    def predict_proba(self, X: object) -> object:
        return X


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (KNeighborsClassifier(), "must take sample_weight in fit; KNeighborsClassifier does not"),
        (NoWeights(), "must take sample_weight in fit; NoWeights does not"),
        (Ridge(), "must be a scikit-learn classifier"),
        (LogisticRegression, "must be a scikit-learn classifier"),
        (3, "must be a scikit-learn classifier; got 3"),
        (local(), "local.<locals>.Local must be at the top of a module, to be imported again"),
        (make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()), r"FunctionTransformer\(func=\) must be a"),
        (RandomForestClassifier(random_state=np.random.RandomState(0)), r"RandomForestClassifier\(random_state=\)"),
        (LogisticRegression(class_weight={1: 2.0}), r"class_weight=\) must be a number, a text.*Write a function"),
        (LogisticRegression(class_weight={"class": 2.0}), r"class_weight=\) must be a number"),
        ("LGBMClassifier", "must be named as module:Class"),
        (":LGBMClassifier", "cannot be imported"),
        ("nowhere:Model", "'nowhere:Model' cannot be imported: No module named 'nowhere'"),
        ("sklearn.linear_model:LogisticRegresion", "did you mean 'LogisticRegression'"),
        ("sklearn.linear_model:Ridge", "must be a scikit-learn classifier"),
        ({"parameters": {}}, "must be named as module:Class"),
        ({"class": "sklearn.linear_model:LogisticRegression", "parameters": 3}, "with parameters as a JSON object"),
        ({"class": "sklearn.linear_model:LogisticRegression", "parameters": {"c": 3}}, "did you mean 'C'"),
        ({"class": "sklearn.linear_model:LogisticRegression", "parameters": {"C": float("nan")}}, "must be JSON"),
        ({"class": "sklearn.linear_model:LogisticRegression", "parameters": {"C": {1}}}, "must be JSON"),
        ({"class": "sklearn.pipeline:Pipeline", "parameters": {"steps": 3}}, "must be a scikit-learn classifier"),
        ("mine:number", "must be a class or a function that returns a classifier; got 3"),
        ("mine:none", "must be a scikit-learn classifier; got None"),
        ("mine:breaks", "RuntimeError: two lines"),
        ("mine:Loud", "Loud cannot be copied"),
    ],
)
def test_what_cannot_be_a_model_is_refused_in_one_line(model: object, said: str, mine: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        recorded(model)
    assert "\n" not in str(caught.value)
