"""A classifier of one's own in a campaign: the ledger keeps its import path and its parameters, never the object.

What the ledger keeps, its recipe, is JSON: ``{"class": "module:Class", "parameters": {...}, "versions": {...}}``.
Instead of a class there may be a function that returns a classifier. Parameters may hold such recipes as well, so a
pipeline is one, and ``{"tuple": [...]}`` stands for a tuple.
"""

import hashlib
import inspect
import json
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from unskew.errors import InputError, unknown
from unskew.methods.learner import check_model
from unskew.methods.registry import import_named

MARKS = {"class", "tuple"}
"""Keys that say what a dictionary in a recipe stands for."""

FUNCTION = "Write a function that returns the classifier, and name it as model='module:function'."


def recorded(model: Any) -> dict[str, Any]:
    """What the ledger keeps of a classifier, of the name of a class or function, or of a recipe.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> found = recorded(make_pipeline(StandardScaler(), LogisticRegression(C=0.5)))
    >>> found["class"], found["parameters"]["steps"][1]["tuple"][1]
    ('sklearn.pipeline:Pipeline', {'class': 'sklearn.linear_model:LogisticRegression', 'parameters': {'C': 0.5}})
    """
    given = {"class": model} if isinstance(model, str) else model
    if isinstance(given, Mapping):
        recipe = {"class": given.get("class"), "parameters": given.get("parameters", {})}
        try:
            json.dumps(recipe, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"parameters of a model must be JSON; got {given!r:.80}: {error}. {FUNCTION}") from None
    else:
        check_model(given)
        recipe = _recipe_of(given)
    built = build(recipe)
    check_model(built)
    try:
        clone(built)
    except Exception as error:  # code of the user's own may raise anything
        raise InputError(f"{type(built).__name__} cannot be copied: {_line(error)} {FUNCTION}") from None
    return {**recipe, "versions": versions(recipe, built)}


def build(recipe: Mapping[str, Any]) -> Any:
    """The classifier, not fitted."""
    name, parameters = recipe.get("class"), recipe.get("parameters", {})
    if not isinstance(name, str) or ":" not in name or not isinstance(parameters, Mapping):
        raise InputError(
            f"model must be named as module:Class, with parameters as a JSON object; got {name!r:.80} with "
            f"{parameters!r:.80}. Try lightgbm:LGBMClassifier."
        )
    source = import_named("model", name)
    attribute = name.partition(":")[2]
    found = getattr(source, attribute, None)
    if found is None:
        names = [one for one, value in vars(source).items() if hasattr(value, "fit") or inspect.isfunction(value)]
        raise unknown(f"model in the module {source.__name__}", attribute, names)
    if not callable(found):
        raise InputError(
            f"model {name!r} must be a class or a function that returns a classifier; got {found!r:.60}. Name one."
        )
    _check_parameters(name, found, parameters)
    try:
        built = found(**{key: _value(value) for key, value in parameters.items()})
    except InputError:
        raise
    except Exception as error:  # code of the user's own may raise anything
        raise InputError(f"{name} cannot be made with {dict(parameters)!r:.80}: {_line(error)} Correct it.") from None
    return _on_one_core(built) if hasattr(built, "get_params") and not isinstance(built, type) else built


def _on_one_core(built: Any) -> Any:
    """The object with each `n_jobs` in it that is not set at 1, so that its sums do not depend on the number of cores.

    In scikit-learn, one that is not set means 1 already, and some of its models warn if it is set.
    """
    known = {"": built, **built.get_params()}
    for key in [key for key, value in known.items() if key.split("__")[-1] == "n_jobs" and value is None]:
        owner = known[key.removesuffix("n_jobs").removesuffix("__")]
        if type(owner).__module__.partition(".")[0] != "sklearn":
            built.set_params(**{key: 1})
    return built


def versions(recipe: Mapping[str, Any], built: Any) -> dict[str, str]:
    """The versions of the packages that a classifier comes from. A module without one goes by its source."""
    parts = [built, *(built.get_params().values() if hasattr(built, "get_params") else ())]
    modules = [name.partition(":")[0] for name in _classes(recipe)]
    modules += [type(part).__module__ for part in parts if hasattr(part, "get_params")]
    return dict(sorted(_version(module) for module in modules))


def consented(record: Mapping[str, Any]) -> str:
    """The name by which a user agrees to a recipe: also to its parameters, since some name files to read or write."""
    text = json.dumps([record.get("class"), record.get("parameters")], sort_keys=True)
    return f"{record.get('class')}#{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def shown(record: Mapping[str, Any]) -> str:
    """A recipe in words.

    >>> shown({"class": "lightgbm:LGBMClassifier", "parameters": {"n_estimators": 50, "class_weight": {"yes": 2.0}}})
    'lightgbm:LGBMClassifier, n_estimators = 50, class_weight = {"yes": 2.0}'
    >>> shown({"class": "sklearn.pipeline:Pipeline", "parameters": {"steps": [["last", {"class": "mine:Model"}]]}})
    'sklearn.pipeline:Pipeline, steps = [["last", "mine:Model"]]'
    """
    parameters = [f"{name} = {json.dumps(_short(value))}" for name, value in dict(record.get("parameters", {})).items()]
    return ", ".join([str(record.get("class")), *parameters])


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return _short(value["tuple"])
    if "class" in value:
        return shown(value)
    return {key: _short(one) for key, one in value.items()}


def _recipe_of(estimator: Any) -> dict[str, Any]:
    """The recipe of an object with scikit-learn's `get_params`: what differs from the defaults."""
    kind = type(estimator)
    usual = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    parameters = {
        name: _plain(value, f"{kind.__name__}({name}=)")
        for name, value in estimator.get_params(deep=False).items()
        if name not in usual or not _same(value, usual[name])
    }
    return {"class": _public_name(kind), "parameters": parameters}


def _same(value: Any, usual: Any) -> bool:
    return value is usual or (
        isinstance(value, str | int | float | tuple) and type(value) is type(usual) and value == usual
    )


def _public_name(kind: type) -> str:
    """``module:Class``, with the shortest part of the module's path that has the class: the rest may move."""
    parts = kind.__module__.split(".")
    for k in range(1, len(parts) + 1):
        module = ".".join(parts[:k])
        if module != "__main__" and getattr(sys.modules.get(module), kind.__name__, None) is kind:
            return f"{module}:{kind.__name__}"
    raise InputError(f"{kind.__qualname__} must be at the top of a module, to be imported again. Move it there.")


def _plain(value: Any, where: str) -> Any:
    """A parameter as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, list):
        return [_plain(one, where) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(one, where) for one in value]}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _recipe_of(value)
    if isinstance(value, dict) and all(isinstance(key, str) and key not in MARKS for key in value):
        return {key: _plain(one, where) for key, one in value.items()}
    raise InputError(f"{where} must be a number, a text, a list, or made of such; got {value!r:.60}. {FUNCTION}")


def _value(plain: Any) -> Any:
    """The parameter that `_plain` wrote."""
    if isinstance(plain, list):
        return [_value(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if "class" in plain:
        return build(plain)
    if "tuple" in plain:
        return tuple(_value(one) for one in plain["tuple"])
    return {key: _value(one) for key, one in plain.items()}


def _check_parameters(name: str, found: Any, parameters: Mapping[str, Any]) -> None:
    try:
        taken = inspect.signature(found).parameters
    except (TypeError, ValueError):  # not every class written in C has one
        return
    names = [key for key, one in taken.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return
    for key in parameters:
        if key not in names:
            raise unknown(f"parameter of {name}", key, names)


def _classes(recipe: Any) -> Iterator[str]:
    """The names of all classes and functions in a recipe."""
    if isinstance(recipe, Mapping):
        if isinstance(recipe.get("class"), str):
            yield recipe["class"]
        recipe = list(recipe.values())
    for part in recipe if isinstance(recipe, list) else ():
        yield from _classes(part)


def _version(module: str) -> tuple[str, str]:
    top = module.partition(".")[0]
    version = getattr(sys.modules[top], "__version__", None)
    if isinstance(version, str):
        return top, version
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError):
        return module, "(source unknown)"
    return module, f"(source {hashlib.sha256(source.encode()).hexdigest()[:12]})"


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()):.160}."
