"""What a campaign says about its model: each measure, groups of rows, other models, labels for a width."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unskew.campaigns import Campaign
from unskew.campaigns.example import ID, LABEL, LOG, POOL, PROPENSITY, truth
from unskew.errors import InputError
from unskew.estimation.measures import MEASURES


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    """60 labels on the simulated bank, and beside its columns the score of a model that says 0.9 to owners."""
    folder, known = tmp_path_factory.mktemp("measuring"), truth()
    log, pool = (pl.read_csv(file, try_parse_dates=True) for file in (LOG, POOL))
    scored = [frame.with_columns(score=pl.when("homeowner").then(0.9).otherwise(0.2)) for frame in (log, pool)]
    with Campaign.create(
        folder / "bank", log=scored[0], pool=scored[1], label=LABEL, propensity=PROPENSITY, id=ID, budget=100
    ) as made:
        for _ in range(3):
            made.tell({row.id: known[row.id] for row in made.ask(20, by="ann")}, by="ann")
            made.close_due()
        yield made


def test_every_measure_has_an_interval(campaign: Campaign) -> None:
    found = campaign.measuring().measures()
    assert list(found) == list(MEASURES)
    for name, one in found.items():
        assert one is not None and one == campaign.error(name)
        assert one.low <= one.value <= one.high and one.low < one.high


def test_a_group_is_the_rows_of_the_rule_in_log_and_pool(campaign: Campaign) -> None:
    frames = campaign.log_frame, campaign.pool_frame
    inside = np.concatenate([(frame["employment"] == "permanent").to_numpy() for frame in frames])
    rule = "employment = permanent"
    np.testing.assert_array_equal(campaign.measuring().group(rule), inside)
    found = campaign.error(where=rule)
    assert found != campaign.error() and found.value < campaign.error(where="employment != permanent").value
    everyone = campaign._rounds.fitting.everyone(campaign._rounds.snapshot())
    assert found == everyone.estimate(where=inside)


def test_each_value_of_a_column_is_a_group_and_together_they_are_everyone(campaign: Campaign) -> None:
    measuring = campaign.measuring()
    for column, values in (("region", {"north", "east", "south", "west", "missing"}), ("homeowner", {"true", "false"})):
        rules = measuring.values_of(column)
        assert set(rules) == values
        masks = np.array([measuring.group(rule) for rule in rules.values()])
        assert (masks.sum(axis=0) == 1).all()
        assert list(masks.sum(axis=1)) == sorted(masks.sum(axis=1), reverse=True)


def test_against_an_earlier_model_labels_are_left_out_of_both(campaign: Campaign) -> None:
    """The difference is that of the two models' measures by the same masses; against itself it is nothing."""
    same = campaign.error(against=60)
    assert same.value == same.low == same.high == 0.0
    found = campaign.error("log_loss", against=0)
    assert found.measure == "difference in log_loss"
    first = campaign._rounds.fitting.method([])
    everyone = campaign._rounds.fitting.everyone(campaign._rounds.snapshot())
    assert found == everyone.estimate("log_loss", against=first.everyone().margin)
    assert found.value < 0.0


def test_against_a_column_or_a_classifier(campaign: Campaign) -> None:
    """A classifier that gives the column's probabilities is the same other model."""

    class Owners:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, frame: pl.DataFrame) -> np.ndarray:
            p = np.where(frame["homeowner"], 0.9, 0.2)
            return np.column_stack([1.0 - p, p])

    found = campaign.error(against="score")
    assert found == campaign.error(against=Owners())
    assert found.value < 0.0, "the campaign's model is better than one that knows owners alone"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"where": "employment = perm"},
            "no row of log and pool has 'employment = perm'. Values of 'employment': none,",
        ),
        ({"where": "income < -5"}, "no row of log and pool has 'income < -5'. Use a wider rule."),
        ({"against": 61}, "against must be 0 to 60, the labels so far; got 61"),
        ({"against": "scre"}, "unknown column of the log 'scre': did you mean 'score'?"),
        ({"against": "income"}, "'income' must hold another model's probability"),
        ({"measure": "accuracy"}, "unknown measure 'accuracy'"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(campaign: Campaign, how: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as refused:
        campaign.error(**how)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_what_more_labels_would_do_is_known_before_the_first(campaign: Campaign, tmp_path: Path) -> None:
    found = campaign.measuring().ahead(40)
    assert found is not None and 0.0 < found.half_width < (campaign.error().high - campaign.error().low) / 2
    none = pl.read_csv(LOG).with_columns(pl.lit(None, dtype=pl.String).alias(LABEL))
    with Campaign.create(
        tmp_path / "unlabelled", log=none, pool=POOL, label=LABEL, propensity=PROPENSITY, id=ID, classes=("no", "yes")
    ) as made:
        ahead = made.measuring().ahead(200)
        assert made.status().error is None
        assert ahead is not None and 0.05 < ahead.half_width < 0.2
        two, one = (needed.labels for needed in ahead.needed)  # a pool is itself a sample: even all of it is ±2 points
        assert two is not None and 2000 < two < 2500 and one is None


def test_a_campaign_that_draws_nothing_promises_nothing(tmp_path: Path) -> None:
    with Campaign.create(
        tmp_path / "chosen", log=LOG, pool=POOL, label=LABEL, propensity=PROPENSITY, id=ID, drawn=0.0
    ) as made:
        assert made.measuring().ahead(200) is None
