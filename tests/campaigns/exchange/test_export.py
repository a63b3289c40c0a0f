"""What `export` writes is what the campaign holds: the same predictions from every file, every label's probability."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from onnx_runs import agree
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.exchange.onnx import NotConvertible, to_onnx
from unskew.errors import InputError, StoreError


def applicants(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    holes = pl.Series(rng.random(rows) < 0.1)
    frame = pl.DataFrame(
        {
            "application": [f"A{seed}-{k}" for k in range(rows)],
            "income": rng.gamma(2.0, 20.0, rows),
            "children": rng.integers(0, 5, rows),
            "married": rng.random(rows) < 0.5,
            "region": rng.choice([f"region {k}" for k in range(30)], rows),
            "since": [date(2015, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 3000, rows)],
            "label": rng.choice(["a", "b"], rows),  # a column named like an output of ONNX
        }
    )
    return frame.with_columns(
        pl.when(holes).then(None).otherwise(pl.col(name)).alias(name) for name in ("income", "region", "married")
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    folder = tmp_path_factory.mktemp("export")
    log = applicants(300, 1)
    truth = log["children"].to_numpy() > 2
    seen = np.random.default_rng(2).random(300) < 0.6
    outcome = [None if not z else "repaid" if y else "late" for y, z in zip(truth, seen, strict=True)]
    log.with_columns(pl.Series("outcome", outcome), pl.lit(0.6).alias("q0")).write_parquet(folder / "log.parquet")
    applicants(400, 3).write_parquet(folder / "pool.parquet")
    with Campaign.create(
        folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label="outcome",
        propensity="q0", id="application", budget=50,
    ) as made:  # fmt: skip
        rows = made.ask(20, by="ann")
        told = {row.id: "repaid" if row.values["children"] > 2 else "late" for row in rows}
        made.tell({**told, rows[-1].id: None}, by="ann")
        made.tell({rows[0].id: "late" if told[rows[0].id] == "repaid" else "repaid"}, by="eve", force_correct=True)
        made.invite("bob", "annotator")
        yield made


def test_the_pipeline_predicts_alike_in_another_process(campaign: Campaign, tmp_path: Path) -> None:
    done = export(campaign, tmp_path / "out")
    assert [file.name for file in done.files] == ["model.joblib", "model.onnx", "ledger.parquet", "README.txt"]
    assert done.no_onnx is None
    pool = campaign.pool_frame
    pool.write_parquet(tmp_path / "pool.parquet")
    code = (
        "import sys, joblib, polars as pl; model, pool = joblib.load(sys.argv[1]), pl.read_parquet(sys.argv[2]);"
        "same = (model.predict_proba(pool) == model.predict_proba(pool.to_pandas())).all();"
        "print(same, type(model['model']).__name__, *model.predict(pool))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, done.files[0], tmp_path / "pool.parquet"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    same, kind, *labels = ran.stdout.split()
    assert (same, kind) == ("True", "Team")
    assert labels == campaign.predict(pool)["prediction"].to_list()


def test_onnx_agrees_on_mixed_columns_and_on_what_the_log_has_not(campaign: Campaign, tmp_path: Path) -> None:
    done = export(campaign, tmp_path)
    pipeline = joblib.load(done.files[0])
    pool = campaign.pool_frame
    nothing = pl.DataFrame({name: [None] for name in pool.columns}, schema=pool.schema)
    other = pool[:5].with_columns(pl.lit("region 99").alias("region"))
    for frame in (pool, nothing, other):
        agree(done.files[1], pipeline, frame)


def test_the_ledger_has_every_label_with_its_probability(campaign: Campaign, tmp_path: Path) -> None:
    frame = pl.read_parquet(export(campaign, tmp_path).files[2])
    labels = frame.filter(pl.col("kind").is_in(["answered", "corrected"])).unique("id", keep="last")
    state = campaign.state
    assert set(labels.select("id", "round", "reason", "probability", "label", "actor").iter_rows()) == {
        (row.id, row.round, row.reason, row.probability, row.label, row.by) for row in state.answered()
    }
    assert frame["event"].n_unique() == len(campaign.ledger.events(campaign.id))
    kinds = dict(frame["kind"].value_counts().iter_rows())
    assert kinds == {
        "started": 1, "planned": 20, "leased": 20, "answered": 19, "skipped": 1, "corrected": 1, "invited": 1,
    }  # fmt: skip
    planned = frame.filter(kind="planned")
    values = {id: json.loads(details)["values"] for id, details in planned.select("id", "details").iter_rows()}
    assert values == {row.id: row.values for row in state.rows.values()}
    assert frame["at"].is_sorted() and frame.schema["at"] == pl.Datetime("us", "UTC")
    assert "token" not in "".join(frame["details"].drop_nulls())
    corrected = frame.filter(kind="corrected").row(0, named=True)
    assert {corrected["was"], corrected["label"]} == {"repaid", "late"}


class Stub:
    """A campaign with another model."""

    def __init__(self, campaign: Campaign, model: Pipeline) -> None:
        self.ledger, self.id, self.settings = campaign.ledger, campaign.id, campaign.settings
        self.model, self.method, self.measuring = lambda: model, campaign.method, campaign.measuring


def test_without_onnx_the_reason_is_given_and_no_old_one_stays(campaign: Campaign, tmp_path: Path) -> None:
    export(campaign, tmp_path)
    fitted = campaign.model()["features"]
    other = DummyClassifier().fit(fitted.transform(campaign.pool_frame), np.arange(400) % 2)
    pipeline = Pipeline([("features", fitted), ("model", other)])
    with pytest.raises(NotConvertible, match="got DummyClassifier"):
        to_onnx(pipeline)
    done = export(Stub(campaign, pipeline), tmp_path)  # type: ignore[arg-type]
    assert [file.name for file in done.files] == ["model.joblib", "ledger.parquet", "README.txt"]
    assert done.no_onnx is not None and "got DummyClassifier" in done.no_onnx
    assert sorted(file.name for file in tmp_path.iterdir()) == ["README.txt", "ledger.parquet", "model.joblib"]
    assert "model.onnx, which would be the safe form of the model, is not here. only" in done.files[2].read_text()


def test_without_skl2onnx_the_reason_names_the_remedy(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "unskew.campaigns.exchange.onnx", None)
    done = export(campaign, tmp_path)
    assert done.no_onnx is not None and "pip install 'unskew[onnx]'" in done.no_onnx
    assert len(done.files) == 3


def test_nothing_half_written(campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file.name: file.read_bytes() for file in export(campaign, tmp_path).files}

    def full_disk(model: Any, path: Path, **_: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(joblib, "dump", full_disk)
    with pytest.raises(StoreError, match=r"cannot be written: No space left on device"):
        export(campaign, tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_file_in_the_way_is_named(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="out' is a file, not a folder. Name another folder"):
        export(campaign, tmp_path / "out")
