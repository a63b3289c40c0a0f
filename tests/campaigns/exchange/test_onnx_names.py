"""An exported model takes columns under their own names, fed as the how-to says, and refuses what it cannot take."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from onnx_runs import TOLERANCE
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.exchange.onnx import NotConvertible, to_onnx
from unskew.campaigns.tables.encoding import encoder, features
from unskew.models.bayes import BayesianLogistic

ODD = [
    "age-num", "age_num", "a-b", "a_b", "a b", "a.b", "a/b", "a_b1", "a_b2", "Größe", "年龄", "it's", 'say "x"', "7",
    "7th", " ", "\u200b", "\t", "a\x00b", "{x}", "$", "é", "e\u0301", "LABEL", "label", "probabilities", "label_",
]  # fmt: skip
"""Names that ONNX tools would clean, that are alike once cleaned, or that the outputs have."""


def by_name(written: bytes | Path, frame: pl.DataFrame) -> tuple[Any, Any, dict[str, Any]]:
    """Labels, probabilities and metadata, the columns of a frame fed by their names as docs/howto/export.md does it."""
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    about = {name: json.loads(text) for name, text in session.get_modelmeta().custom_metadata_map.items()}
    assert [one.name for one in session.get_inputs()] == list(about["columns"])
    inputs = {name: as_input(frame[name], kind) for name, kind in about["columns"].items()}
    label, probabilities = session.run(None, inputs)
    return label, probabilities, about


def as_input(column: pl.Series, kind: str) -> Any:
    if kind == "category":
        return column.cast(pl.String).fill_null("(missing)").to_numpy().astype(object).reshape(-1, 1)
    plain = column.cast(pl.Datetime("us")).to_physical() / 86_400_000_000 if kind == "date" else column
    return plain.cast(pl.Float64).fill_null(np.nan).to_numpy().reshape(-1, 1)


def fitted(frame: pl.DataFrame, kinds: Mapping[str, str], y: Any) -> Pipeline:
    columns = encoder(frame, kinds)
    model = BayesianLogistic(random_state=0).fit(features(columns, frame), y)
    return Pipeline([("features", columns), ("model", model)])


@pytest.mark.parametrize("kind", ["number", "category"])
def test_odd_names_are_taken_as_they_are(kind: str) -> None:
    """Each column has an effect of its own, so that two of them confused would show."""
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=300) for name in ODD}
    y = sum(k * value for k, value in enumerate(values.values())) > 0.0
    frame = pl.DataFrame(values)
    if kind == "category":
        frame = frame.select(
            pl.when(pl.col(name) > 0).then(pl.lit("hoch")).otherwise(pl.lit("")).alias(name) for name in ODD
        )
    pipeline = fitted(frame, dict.fromkeys(ODD, kind), y)
    written = to_onnx(pipeline)
    onnx.checker.check_model(onnx.load_from_string(written), full_check=True)
    label, probabilities, about = by_name(written, frame.select(reversed(ODD)))
    assert about == {"columns": dict.fromkeys(ODD, kind), "classes": ["False", "True"]}
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(frame), rtol=0.0, atol=TOLERANCE)
    assert label.tolist() == pipeline.predict(frame).astype(str).tolist()
    outputs = [one.name for one in onnxruntime.InferenceSession(written).get_outputs()]
    assert outputs == ["label__", "probabilities_"]


def mixed(rows: int, seed: int) -> pl.DataFrame:
    """Numbers, categories, whole numbers, booleans, dates and times, each missing in some rows."""
    rng = np.random.default_rng(seed)
    begun = datetime(2020, 1, 1)
    frame = pl.DataFrame(
        {
            "an-id": [f"{seed}-{k}" for k in range(rows)],
            "in-come": rng.gamma(2.0, 20.0, rows),
            "in_come": rng.integers(0, 90, rows),
            "Region/Stadt": rng.choice(["Köln", "it's", "a,b", " "], rows),
            "home owner": rng.random(rows) < 0.5,
            "since.day": [(begun + timedelta(days=int(k))).date() for k in rng.integers(0, 900, rows)],
            "last seen": [begun + timedelta(seconds=int(k)) for k in rng.integers(0, 10**8, rows)],
        }
    )
    holes = [
        pl.when(pl.Series(rng.random(rows) < 0.85)).then(pl.col(name)).alias(name)
        for name in frame.columns
        if name != "an-id"
    ]
    return frame.with_columns(holes)


def test_every_exported_prediction_is_that_of_the_pipeline(tmp_path: Path) -> None:
    log, pool, rng = mixed(600, 1), mixed(3_000, 2), np.random.default_rng(3)
    score = (
        log["in-come"].fill_null(40)
        - log["in_come"].fill_null(40)
        + 20 * log["home owner"].fill_null(False).cast(pl.Int8)
    )
    seen = rng.random(600) < 0.7
    y = [None if not z else "yes" if s > 0 else "no" for s, z in zip(score, seen, strict=True)]
    log = log.drop("an-id").with_columns(pl.Series("y", y), pl.lit(0.7).alias("q0"))
    with Campaign.create(tmp_path / "c", log=log, pool=pool, label="y", propensity="q0", id="an-id", budget=9) as made:
        files = export(made, tmp_path / "out").files
        pipeline, expected = made.model(), made.predict(pool)
        label, probabilities, about = by_name(files[1], pool)
        assert sorted(set(about["columns"].values())) == ["boolean", "category", "date", "number"]
        assert about["columns"] == dict(made.settings.kinds) and about["classes"] == ["no", "yes"]
    assert files[1].name == "model.onnx" and set(label) == {"no", "yes"}
    assert label.tolist() == expected["prediction"].to_list()
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(pool), rtol=0.0, atol=TOLERANCE)
    np.testing.assert_allclose(probabilities[:, 1], expected["probability"], rtol=0.0, atol=TOLERANCE)


def test_a_category_of_whole_numbers_is_text() -> None:
    frame = pl.DataFrame({"code": [36, 8, 36, 7, 8, None] * 20})
    pipeline = fitted(frame, {"code": "category"}, frame["code"].fill_null(0) == 36)
    label, probabilities, _ = by_name(to_onnx(pipeline), frame)
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(frame), rtol=0.0, atol=TOLERANCE)
    assert label.tolist() == pipeline.predict(frame).astype(str).tolist()


def test_a_column_of_another_kind_is_refused_by_name() -> None:
    frame = pl.DataFrame({"x": np.arange(20.0), "the post": ["words and words"] * 20})
    pipeline = fitted(frame, {"x": "number"}, np.arange(20) > 9)
    pipeline["features"]["columns"].kinds["the post"] = "text"
    with pytest.raises(
        NotConvertible, match=r"column 'the post' holds text.*model\.joblib, or .*--type the post=ignore"
    ):
        to_onnx(pipeline)


def test_features_made_by_another_step_are_refused_by_the_name_of_their_column() -> None:
    frame = pl.DataFrame({"the size": np.arange(20.0)})
    pipeline = fitted(frame, {"the size": "number"}, np.arange(20) > 9)
    pipeline["features"]["matrix"].transformers_[0] = ("sizes", StandardScaler(), ["the size"])
    with pytest.raises(NotConvertible, match=r"column 'the size' come from StandardScaler, .*Use model\.joblib"):
        to_onnx(pipeline)
