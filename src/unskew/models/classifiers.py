"""What this package needs from a scikit-learn classifier: a fit with weights, and margins."""

import inspect
import math
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from unskew.errors import InputError
from unskew.rows import Floats, Rows

LEAST = 1e-6
"""Probabilities are kept at least this far from 0 and 1."""

watched: ContextVar[Callable[[], None]] = ContextVar("watched", default=lambda: None)
"""Is called after each fit in this thread: copies of a slow model take long, and somebody may be waiting."""


def check_classifier(model: Any) -> None:
    """Refuse anything that is not a classifier, takes no weights, or has neither probabilities nor decision function.

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> check_classifier(KNeighborsClassifier())
    Traceback (most recent call last):
    unskew.errors.InputError: model must take sample_weight in fit; KNeighborsClassifier does not. Take another...
    """
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "fit") or not is_classifier(model):
        raise InputError(
            f"model must be a scikit-learn classifier; got {model!r:.60}. "
            "Pass an instance such as HistGradientBoostingClassifier()."
        )
    accepts = inspect.signature(_last_step(model)[1].fit).parameters.values()
    if not any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in accepts):
        raise InputError(
            f"model must take sample_weight in fit; {name} does not. "
            "Take another, such as HistGradientBoostingClassifier or LogisticRegression."
        )
    if not (hasattr(model, "predict_proba") or hasattr(model, "decision_function")):
        raise InputError(
            f"model must have predict_proba or decision_function; {name} has neither. "
            "Wrap it in CalibratedClassifierCV, or take another."
        )


def fit_weighted(model: Any, X: Rows, y: Any, v: Floats) -> Any:
    """A copy of a classifier, fitted with weights; in a pipeline, the last step gets them.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, v = np.array([[0.0], [1.0], [1.0]]), np.array([1.0, 1.0, 5.0])
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> fit_weighted(model, X, np.array(["no", "no", "yes"]), v).predict(X[1:2]).item()
    'yes'
    """
    try:
        fitted = clone(model).fit(X, y, **{f"{_last_step(model)[0]}sample_weight": v})
    except MemoryError:
        raise
    except Exception as error:  # a classifier of the user's own may raise anything
        dense = isinstance(X, np.ndarray)
        remedy = "Try the model alone on these rows" if dense else "Pass dense rows (X.toarray())"
        raise InputError(
            f"{type(model).__name__} must fit {X.shape[0]} {'dense' if dense else 'sparse'} rows with weights; "
            f"it says: {next(iter(str(error).splitlines()), type(error).__name__)} {remedy}, or take another model."
        ) from error
    watched.get()()
    return fitted


def seeded(model: Any, seed: int) -> Any:
    """A copy of a classifier, not fitted; each `random_state` in it that is None becomes the seed.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> seeded(DecisionTreeClassifier(), 7).random_state, seeded(DecisionTreeClassifier(random_state=3), 7).random_state
    (7, 3)
    """
    names = [name for name, value in model.get_params().items() if name.split("__")[-1] == "random_state"]
    unset = {name: seed for name in names if model.get_params()[name] is None}
    return clone(model).set_params(**unset)


def deciding(model: Any, threshold: float, positive: Any) -> Any:
    """A fitted classifier that predicts the positive class from this probability on; its probabilities are the same.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1], [2], [3]], [0, 0, 0, 1])
    >>> [deciding(model, threshold, 1).predict([[0]]).item() for threshold in (0.2, 0.3, 0.5)]
    [1, 0, 0]
    """
    if threshold == 0.5:
        return model
    how = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    at = threshold if how == "predict_proba" else math.log(threshold / (1.0 - threshold))
    found = FixedThresholdClassifier(model, threshold=at, pos_label=positive, response_method=how)
    found.estimator_ = model  # it is fitted already
    return found


def _last_step(model: Any) -> tuple[str, Any]:
    """The classifier, or the last step of a pipeline, preceded by the prefix of its fit parameters."""
    if not isinstance(model, Pipeline):
        return "", model
    name, step = model.steps[-1]
    inner, last = _last_step(step)
    return f"{name}__{inner}", last


def margins(model: Any, X: Rows, positive: Any = None) -> Floats:
    """The margins of a fitted classifier: log-odds if it gives probabilities, otherwise its `decision_function`.

    A positive margin means the class `positive`; by default, the second of the classifier's classes.

    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0], [1], [2], [3]], [1, 1, 1, 0])
    >>> margins(model, np.zeros((1, 1))).round(2).tolist(), margins(model, np.zeros((1, 1)), 0).round(2).tolist()
    ([1.1], [-1.1])
    """
    if hasattr(model, "predict_proba"):
        p = np.clip(model.predict_proba(X)[:, 1], LEAST, 1.0 - LEAST)
        margin: Floats = np.log(p) - np.log1p(-p)
    else:
        margin = np.asarray(model.decision_function(X), dtype=np.float64)
    if positive is not None and model.classes_[1] != positive:
        margin = -margin
    return margin
