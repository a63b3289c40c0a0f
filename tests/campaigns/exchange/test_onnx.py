"""ONNX says what the pipeline says: for every kind of column, for every member of a team, at any threshold."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from onnx_runs import agree, run_onnx
from unskew.campaigns.exchange.onnx import NotConvertible, to_onnx
from unskew.campaigns.tables.encoding import encoder, features
from unskew.models.bayes import BayesianLogistic
from unskew.models.classifiers import deciding
from unskew.models.team import Team


def people(rows: int, seed: int) -> pl.DataFrame:
    """Every kind of column, some with missing values; `children` has few enough values to enter as indicators."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "income": rng.gamma(2.0, 20_000.0, rows),
            "children": rng.integers(0, 5, rows).astype(np.float64),
            "married": rng.random(rows) < 0.5,
            "region": rng.choice(["north", "south", "east", "west"], rows),
            "since": [date(2015, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 3000, rows)],
        }
    )
    return frame.with_columns(
        pl.when(pl.Series(rng.random(rows) < 0.9)).then(pl.col(name)).alias(name) for name in frame.columns
    )


def team(steps: bool) -> tuple[Pipeline, Team]:
    """A team that has learned from 400 people: steps, for which it needs its trees, or a line, for which it does not.

    In both, some labels are noise, so that no leaf can be trusted.
    """
    log, rng = people(400, 0), np.random.default_rng(1)
    children, income = (log[name].fill_null(strategy="mean").to_numpy() for name in ("children", "income"))
    line = children - 2.0 + rng.logistic(size=400) > 0.0
    positive = (children % 2 == 1) ^ (income > 30_000.0) ^ (rng.random(400) < 0.1) if steps else line
    columns = encoder(
        log, {"income": "number", "children": "number", "married": "boolean", "region": "category", "since": "date"}
    )
    model = Team(random_state=0).fit(features(columns, log), np.where(positive, "yes", "no"))
    assert len(model.members_[0].features_._codes) > 0
    return Pipeline([("features", columns), ("model", model)]), model


@pytest.mark.parametrize("steps", [False, True])
def test_onnx_agrees_with_a_team(steps: bool) -> None:
    """The trees are in the file only if they have any weight."""
    pipeline, model = team(steps)
    assert (model.weights_ > 0.0).tolist() == [True, steps]
    written = to_onnx(pipeline)
    assert (b"TreeEnsembleRegressor" in written) == steps
    labels = agree(written, pipeline, people(5_000, 2))
    assert set(labels) == {"yes", "no"}


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_onnx_decides_as_a_team_with_a_threshold_of_its_own(threshold: float) -> None:
    pipeline, model = team(steps=True)
    decides = Pipeline([pipeline.steps[0], ("model", deciding(model, threshold, "yes"))])
    frame = people(3_000, 3)
    assert agree(to_onnx(decides), decides, frame).tolist() != pipeline.predict(frame).tolist()


def test_onnx_puts_rows_on_the_side_of_a_cut_where_the_trees_put_them() -> None:
    """Also rows that lie on a cut, or as close to it as single or double precision allows; and trees that are alone."""
    pipeline, model = team(steps=True)
    at = [name.rpartition("__")[2] for name in pipeline["features"].get_feature_names_out()].index("income")
    trees = model.members_[1].trees
    cuts = np.concatenate([tree.threshold[(tree.feature == at) & (tree.children_left >= 0)] for tree in trees])[:800]
    single = cuts.astype(np.float32)
    near = [np.nextafter(single, np.float32(way)).astype(np.float64) for way in (-np.inf, np.inf)]
    income = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), single, *near])
    frame = people(len(income), 4).with_columns(pl.Series("income", income))
    for alone in (model, model.alone(0), model.alone(1)):
        one = Pipeline([pipeline.steps[0], ("model", alone)])
        agree(to_onnx(one), one, frame)


def test_onnx_agrees_with_trees_of_one_leaf() -> None:
    """A tree whose sample shows one class is a single leaf."""
    frame = pl.DataFrame({"x": np.arange(40.0)})
    columns = encoder(frame, {"x": "number"})
    model = Team(random_state=0).fit(features(columns, frame), np.arange(40) == 7).alone(1)
    assert min(tree.node_count for tree in model.members_[1].trees) == 1
    pipeline = Pipeline([("features", columns), ("model", model)])
    agree(to_onnx(pipeline), pipeline, frame)


@pytest.mark.parametrize("steps", [False, True])
def test_onnx_agrees_with_a_team_for_several_classes(steps: bool) -> None:
    """One output has the probabilities of all classes. Also each member alone; trees only if they have any weight."""
    log, rng = people(500, 0), np.random.default_rng(1)
    children, income = (log[name].fill_null(strategy="mean").to_numpy() for name in ("children", "income"))
    line = np.digitize(children + rng.logistic(scale=0.5, size=500), [0.5, 1.5, 2.5])
    truth = np.where(rng.random(500) < 0.1, 0, children % 2 + 2 * (income > 30_000.0)) if steps else line
    kinds = {"income": "number", "children": "number", "married": "boolean", "region": "category", "since": "date"}
    columns = encoder(log, kinds)
    classes = np.array(["a", "b", "c", "d"])
    model = Team(random_state=0).fit(features(columns, log), classes[truth.astype(int)])
    frame = people(3_000, 2)
    for some in (model, model.alone(0), model.alone(1)):
        pipeline = Pipeline([("features", columns), ("model", some)])
        written = to_onnx(pipeline)
        assert (b"TreeEnsembleRegressor" in written) == bool(some.weights_[1])
        labels = agree(written, pipeline, frame)
        assert run_onnx(written, pipeline, frame)[1].shape == (3_000, 4)
    assert len(set(labels)) > 2
    assert not steps or model.weights_[1] > 0.0


def test_onnx_keeps_classes_that_are_whole_numbers() -> None:
    frame = pl.DataFrame({"x": np.arange(60.0)})
    columns = encoder(frame, {"x": "number"})
    model = Team(random_state=0).fit(features(columns, frame), np.repeat([7, 30, 9], 20))
    pipeline = Pipeline([("features", columns), ("model", model)])
    assert agree(to_onnx(pipeline), pipeline, frame).dtype == np.int64


def test_a_team_with_further_members_is_not_written() -> None:
    pipeline, _ = team(steps=False)
    frame = people(100, 6)
    model = Team([GaussianNB()], random_state=0)
    model.fit(features(pipeline["features"], frame), np.arange(100) % 2)
    with pytest.raises(NotConvertible, match=r"cannot be written as ONNX; got GaussianNB\. Use model\.joblib\."):
        to_onnx(Pipeline([pipeline.steps[0], ("model", model)]))


@pytest.mark.parametrize("kind", [BayesianLogistic, Team])
@pytest.mark.parametrize("wide", [False, True])
def test_onnx_agrees_on_real_measurements(wide: bool, kind: type[Any]) -> None:
    """30 measurements of 569 tumours; once more with noise beside them, past the width at which rows are projected."""
    X, y = load_breast_cancer(return_X_y=True)
    if wide:
        X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 400))])
    frame = pl.DataFrame(X, schema=[f"m{k}" for k in range(X.shape[1])])
    columns = encoder(frame, dict.fromkeys(frame.columns, "number"))
    model = kind(random_state=0).fit(features(columns, frame)[::2], y[::2])
    assert kind is BayesianLogistic or len(model.members_) == 2
    pipeline = Pipeline([("features", columns), ("model", model)])
    assert agree(to_onnx(pipeline), pipeline, frame).dtype == np.int64


@pytest.mark.parametrize("curved", [False, True])
def test_onnx_agrees_on_categories_alone_and_on_curves(curved: bool) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(0).uniform(-1, 1, 300)})
    y = np.abs(frame["x"].to_numpy()) < 0.5
    if not curved:
        frame = frame.select(pl.when(pl.Series(y)).then(pl.lit("in")).otherwise(pl.lit("out")).alias("x"))
    columns = encoder(frame, {"x": "number" if curved else "category"})
    model = BayesianLogistic(random_state=0).fit(features(columns, frame), y)
    assert model.prior_.fourier > 0.0 or not curved
    pipeline = Pipeline([("features", columns), ("model", model)])
    agree(to_onnx(pipeline), pipeline, frame)


@pytest.mark.parametrize("kind", ["number", "boolean", "category", "date"])
def test_onnx_keeps_the_names_of_columns(kind: str) -> None:
    """Also names that are no identifiers, that differ only in such characters, or that ONNX itself would choose."""
    names = [
        "x y", "x.y", "x_y", "1", "\n", "<b>", "é", "🙂", "=1+1", "label", "label_", "label ", "probabilities",
        "variable", "x y is missing", "Id_C0", "input", "a" * 300,
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {
        "number": lambda: rng.normal(size=80),
        "boolean": lambda: rng.random(80) < 0.5,
        "category": lambda: rng.choice(["a", "", "(missing)", "x\ny"], 80),
        "date": lambda: [date(2015, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 3000, 80)],
    }
    frame = pl.DataFrame({name: values[kind]() for name in names})
    frame = frame.with_columns(pl.when(pl.Series(rng.random(80) < 0.8)).then(pl.col("x y")).alias("x y"))
    columns = encoder(frame, dict.fromkeys(names, kind))
    model = BayesianLogistic(random_state=0).fit(features(columns, frame), np.arange(80) % 2)
    pipeline = Pipeline([("features", columns), ("model", model)])
    agree(to_onnx(pipeline), pipeline, frame)
