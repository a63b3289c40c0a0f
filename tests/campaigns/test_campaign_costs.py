"""A campaign that knows what errors cost: settings, predictions, exports and the report follow the threshold."""

import joblib
import numpy as np
import polars as pl
import pytest

from campaign_folder import make, write_tables
from unskew import Costs
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.report.report import gather, render
from unskew.estimation.aims import Aim

DECISION = "A missed '1' costs 10, a false alarm 1: a row is flagged if its probability is at least 0.091."


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("costs")
    made = make(write_tables(folder), folder / "loans", costs=Costs(false_negative=10.0))
    for _ in range(2):
        made.tell({row.id: int(row.values["x0"] > 0.2) for row in made.ask(20, by="ann")}, by="ann")
    yield made
    made.close()


def test_costs_are_settings(campaign):
    with Campaign.open(campaign.folder.path) as again:
        assert again.settings.aim.costs == Costs(false_negative=10.0)
        assert again.status().decision == DECISION
        assert again.method().costs == Costs(false_negative=10.0)
    assert Settings.from_record(campaign.settings.as_record()) == campaign.settings


def test_old_ledgers_have_equal_costs():
    old = Settings.from_record({"method": "Unskew", "classes": ["no", "yes"]})
    assert (old.aim, old.decision(0.5)) == (Aim(), None)


@pytest.mark.parametrize("cost", [0.0, 1e9])
def test_costs_that_no_campaign_can_have_are_damage(cost):
    with pytest.raises(ValueError, match="the cost of a false negative"):
        Settings.from_record({"cost_false_negative": cost})


def test_predictions_and_exports_follow_the_threshold(campaign, tmp_path):
    found = campaign.predict(campaign.pool_frame)
    flagged = found["probability"] >= 1.0 / 11.0
    assert (flagged == (found["prediction"] == "1")).all()
    assert (flagged != (found["probability"] >= 0.5)).any()
    export(campaign, tmp_path / "out")
    model = joblib.load(tmp_path / "out" / "model.joblib")
    assert model.predict(campaign.pool_frame).astype(str).tolist() == found["prediction"].to_list()
    assert f"{DECISION} Both forms of the model decide so." in (tmp_path / "out" / "README.txt").read_text()


def test_onnx_decides_as_the_pipeline_does():
    onnxruntime = pytest.importorskip("onnxruntime")
    from sklearn.pipeline import Pipeline

    from unskew.campaigns.exchange.onnx import to_onnx
    from unskew.campaigns.tables.encoding import encoder
    from unskew.models.bayes import BayesianLogistic
    from unskew.models.classifiers import deciding

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=300)})
    columns = encoder(frame, {"x": "number"})
    y = np.where(frame["x"].to_numpy() + rng.normal(size=300) > 0, "yes", "no")
    fitted = BayesianLogistic(random_state=0).fit(columns.transform(frame), y)
    for threshold in (0.1, 0.5, 0.8):
        pipeline = Pipeline([("features", columns), ("model", deciding(fitted, threshold, "yes"))])
        session = onnxruntime.InferenceSession(to_onnx(pipeline))
        label, probabilities = session.run(None, {"x": frame["x"].to_numpy()[:, None]})
        assert label.tolist() == pipeline.predict(frame).tolist()
        assert np.array_equal(label == "yes", probabilities[:, 1] >= threshold)


def test_estimates_and_report_say_what_errors_cost(campaign):
    found = campaign.error("cost")
    assert 0.0 <= found.low <= found.value <= found.high <= 10.0
    page = render(gather(campaign))
    assert "a row is flagged if its probability is at least 0.091." in page
    assert "cost: what its errors cost a row, on average" in page
    assert "Recall and precision over thresholds" in page


def test_a_campaign_with_equal_costs_says_nothing_of_them(tmp_path):
    with make(write_tables(tmp_path), tmp_path / "plain", budget=30) as plain:
        page = render(gather(plain))
    assert plain.settings.decision(0.5) is None
    assert "false alarm" not in page and " cost" not in page
    assert page.count("Recall and precision over thresholds") == 1
