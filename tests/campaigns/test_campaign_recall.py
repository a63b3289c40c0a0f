"""A campaign that wants a recall: settings, threshold, predictions, exports, the report and old ledgers."""

import json
import shutil
from dataclasses import replace

import joblib
import pytest

from campaign_folder import make, write_tables
from unskew import Costs
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.learning.fitting import Fitting
from unskew.campaigns.ledger.events import Closed, Started
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import State
from unskew.campaigns.ledger.status import status_of
from unskew.campaigns.report.report import gather, render
from unskew.errors import InputError


def label(campaign, rounds=2):
    for _ in range(rounds):
        rows = campaign.ask(20, by="ann")
        campaign.tell({row.id: int(row.values["x0"] + 0.3 * (row.place % 5 - 2) > 0.4) for row in rows}, by="ann")
        campaign.close_due()
    return campaign


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recall")
    made = label(make(write_tables(folder), folder / "loans", recall=0.9))
    yield made
    made.close()


def test_a_wanted_recall_is_a_setting(campaign):
    settings = campaign.settings
    assert (settings.recall, settings.aim.recall, settings.aim.costs) == (0.9, 0.9, Costs())
    assert Settings.from_record(json.loads(json.dumps(settings.as_record()))) == settings
    assert Settings.from_record({"classes": ["no", "yes"]}).recall is None


@pytest.mark.parametrize("record", [{"recall": 1.5}, {"recall": "high"}, {"recall": 0.9, "cost_false_negative": 2.0}])
def test_a_recall_that_no_campaign_can_have_is_damage(record):
    with pytest.raises(ValueError, match="recall"):
        Settings.from_record(record)


def test_a_recall_and_costs_make_no_campaign(tmp_path):
    with pytest.raises(InputError, match="exclude each other"):
        make(write_tables(tmp_path), tmp_path / "loans", recall=0.9, costs=Costs(false_negative=10.0))
    assert not (tmp_path / "loans").exists()


def test_the_threshold_is_the_same_from_the_ledger_and_the_files_alone(campaign, tmp_path, monkeypatch):
    copy = shutil.copytree(campaign.folder.path, tmp_path / "loans")
    cached = Fitting(campaign.folder, campaign.settings).method(campaign.state.answered())  # the pool is not pickled
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # as on another machine
    with Campaign.open(copy) as other:
        assert other.method().costs == cached.costs == campaign.method().costs
        label(other, rounds=1)  # goes on from a method that comes from the cache
        assert other.method().costs != campaign.method().costs


def test_predictions_and_exports_decide_at_the_threshold(campaign, tmp_path):
    found, threshold = campaign.predict(campaign.pool_frame), campaign.method().costs.threshold
    assert ((found["probability"] >= threshold) == (found["prediction"] == "1")).all()
    assert (found["prediction"] == "1").any() and (found["prediction"] == "0").any() and threshold != 0.5
    export(campaign, tmp_path / "out")
    model = joblib.load(tmp_path / "out" / "model.joblib")
    assert model.predict(campaign.pool_frame).astype(str).tolist() == found["prediction"].to_list()
    told = f"90 % of all '1' are to be found: a row is flagged if its probability is at least {threshold:.2g}."
    assert told in (tmp_path / "out" / "README.txt").read_text()
    assert campaign.status().decision == told


def test_the_ledger_holds_the_recall_at_the_threshold(campaign):
    status = campaign.status()
    assert set(status.estimates) == {"recall", "precision", "error"}
    assert all(set(found) == {"recall", "precision", "error"} for found in campaign.state.estimates.values())
    now = campaign.error("recall")
    assert status.estimates["recall"] == now
    assert now.threshold == pytest.approx(campaign.method().costs.threshold)
    assert status.told.startswith("finds ") and status.told.endswith(", where 90 % are wanted")
    record = status.as_dict()
    assert record["aim"]["recall"] == 0.9 and record["estimates"]["recall"]["value"] == now.value
    assert "finds " in campaign._repr_html_()


def test_the_report_leads_with_the_recall(campaign):
    facts = gather(campaign)
    assert facts["headline"].startswith("The model finds ") and "where 90 % are wanted, from 40" in facts["headline"]
    page = render(facts)
    for words in ("Recall, over time", "Recall, now", "The dotted line is the recall that is wanted.", "recall, %"):
        assert words in page
    assert [point.labels for point in facts["points"]] == [0, 20, 40] and facts["left_out"] == 0
    assert facts["points"][0].value == campaign.state.estimates[0]["recall"].value


def old(state):
    """The same state, as an older version would have left it: it recorded the error alone."""
    return replace(state, estimates={labels: {"error": found["error"]} for labels, found in state.estimates.items()})


def test_where_only_the_error_was_recorded_it_is_shown(campaign):
    status = status_of(old(campaign.state), campaign.settings, campaign.ledger.now())
    assert status.told.startswith("is wrong on ")
    assert status.decision.startswith("90 % of all '1' are to be found: a row is flagged")


def test_the_chart_says_how_many_estimates_it_leaves_out(campaign, monkeypatch):
    known = campaign.state.estimates
    partly = replace(campaign.state, estimates={**known, 20: {"error": known[20]["error"]}})
    monkeypatch.setattr(Campaign, "state", partly)
    facts = gather(campaign)
    assert [point.labels for point in facts["points"]] == [0, 40] and facts["left_out"] == 1
    assert "1 earlier estimate is not shown: the ledger has only the error there." in render(facts)


def test_corrections_replace_all_estimates_from_as_many_labels(campaign):
    error = campaign.status().error
    others = (campaign.status().estimates["recall"],)
    state = State(60)
    state._started(None, Started(error, others))
    state.batches = [replace(batch) for batch in campaign.state.batches]
    for labels in (20, 40, 20):
        state._closed(None, Closed(1, labels, error, None, others))
    assert list(state.estimates) == [0, 20] and set(state.estimates[20]) == {"error", "recall"}
