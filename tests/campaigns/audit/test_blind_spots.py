"""Blind spots: planted regions are found and said plainly, an even log has none."""

import datetime
import json

import numpy as np
import polars as pl
import pytest

from unskew.campaigns.audit.blind_spots import blind_spots, coverage
from unskew.campaigns.audit.rules import Condition, Rule, roundest
from unskew.campaigns.tables.files import kinds


def people(rows: int = 4000, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({
        "income": rng.lognormal(7.8, 0.5, rows).round(1),
        "children": rng.integers(0, 5, rows),
        "region": rng.choice(["north", "south", "east", "west"], rows),
        "since": [datetime.date(2019, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 2000, rows)],
        "owner": pl.Series([None if k == 0 else bool(k == 1) for k in rng.integers(0, 4, rows)], dtype=pl.Boolean),
    })  # fmt: skip


def found_where(expression: pl.Expr, rate: float = 0.05, rows: int = 4000) -> list[str]:
    frame = people(rows)
    blind = frame.select(expression.fill_null(False)).to_series().to_numpy()
    labelled = np.random.default_rng(1).random(rows) < np.where(blind, rate, 0.6)
    return [str(spot.rule) for spot in blind_spots(frame, kinds(frame), labelled)]


def test_planted_regions_are_found() -> None:
    assert found_where(pl.col("region") == "north") == ["region is north"]
    assert found_where(pl.col("owner").is_null()) == ["owner is missing"]
    assert found_where(pl.col("since") < datetime.date(2021, 6, 1)) == ["since < 2021-06-01"]
    assert found_where(pl.col("children") >= 3) == ["children ≥ 3"]
    assert found_where(pl.col("owner")) == ["owner is true"]
    both = found_where((pl.col("region") == "north") & (pl.col("children") < 2))
    assert both in (["region is north and children < 2"], ["children < 2 and region is north"])
    (spot,) = found_where((pl.col("income") > 2000) & (pl.col("income") < 3000))
    assert spot.endswith("00") and "≤ income <" in spot  # one interval, with round ends


@pytest.mark.parametrize("seed", range(5))
def test_an_even_log_has_none(seed: int) -> None:
    frame = people(2000, seed)
    labelled = np.random.default_rng(seed).random(2000) < 0.3
    assert blind_spots(frame, kinds(frame), labelled) == []


def test_numbers_add_up_and_rules_can_be_kept() -> None:
    frame = people()
    poor = (frame["income"] < 2000).to_numpy()
    labelled = np.random.default_rng(1).random(frame.height) < np.where(poor, 0.02, 0.6)
    spots = blind_spots(frame, kinds(frame), labelled)
    assert spots[0].gap == max(spot.gap for spot in spots) > 0.2
    for spot in spots:
        inside = spot.rule.mask(frame)
        assert spot.rows == inside.sum() and spot.labels == (inside & labelled).sum()
        assert spot.population_share == inside.mean() and spot.label_share == spot.labels / labelled.sum()
        assert spot.reveal_rate < labelled.mean()
    told = json.loads(json.dumps([spot.as_dict() for spot in spots], allow_nan=False))
    rules = [Rule.from_dict(one["rule"]) for one in told]
    assert coverage(rules, frame, labelled) == spots
    after = coverage(rules, frame, labelled | poor)
    assert after[0].reveal_rate > 0.9 and after[0].gap < 0.0 < spots[0].gap
    assert [one.rows for one in coverage(rules, frame.head(0), labelled[:0])] == [0] * len(rules)


def test_regions_do_not_overlap() -> None:
    frame = people()
    income = frame["income"].to_numpy()
    labelled = np.random.default_rng(2).random(frame.height) < np.select(
        [income < 1500, income < 2500], [0.01, 0.2], 0.6
    )
    masks = [spot.rule.mask(frame) for spot in blind_spots(frame, kinds(frame), labelled)]
    assert len(masks) > 1 and np.sum(masks, axis=0).max() == 1


def test_nothing_to_tell_apart() -> None:
    frame = people(500)
    for labelled in (np.zeros(500, dtype=bool), np.ones(500, dtype=bool)):
        assert blind_spots(frame, kinds(frame), labelled) == []
    assert blind_spots(frame.head(20), kinds(frame), np.arange(20) < 10) == []
    same = pl.DataFrame({"x": [1] * 500})
    assert blind_spots(same, kinds(same), np.arange(500) < 250) == []


def test_how_rules_are_said() -> None:
    for condition, said in (
        (Condition("year", "number", low=2020.0), "year ≥ 2020"),
        (Condition("income", "number", high=23000.0, missing=True), "(income < 23,000 or missing)"),
        (Condition("income", "number", known=False, missing=True), "income is missing"),
        (Condition("income", "number"), "income is known"),
        (Condition("region", "category", values=("a", "(missing)"), negated=True), "region is not a or missing"),
        (Condition("region", "category", values=("a", "b", "c")), "region is a, b or c"),
        (Condition("at", "date", high=19700.5), "at < 2023-12-09 12:00"),
    ):
        assert str(condition) == said
    assert str(Rule(())) == "everyone"


def test_round_numbers() -> None:
    rng = np.random.default_rng(0)
    for below, above in np.sort(rng.lognormal(0, 5, (200, 2)) * rng.choice([-1, 1], (200, 1)), axis=1):
        assert below < roundest(below, above) <= above
    assert roundest(1.0, np.nextafter(1.0, 2.0)) == np.nextafter(1.0, 2.0)


def test_blind_spots_name_words() -> None:
    rng = np.random.default_rng(0)
    notes = [" ".join(rng.choice(["the", "cat", "dog", "refund", "please", "now"], 4)) for _ in range(4000)]
    frame = pl.DataFrame({"note": notes, "vector": [[1.0, 2.0]] * 4000}).with_columns(
        note=pl.when(pl.int_range(4000) % 4 == 0).then(None).otherwise("note")
    )
    told = {"note": "text", "vector": "embedding"}
    for blind, said in ((pl.col("note").str.contains("refund"), "has the word 'refund'"), (None, "is missing")):
        region = frame["note"].is_null() if blind is None else frame.select(blind.fill_null(False)).to_series()
        labelled = rng.random(4000) < np.where(region.to_numpy(), 0.05, 0.6)
        assert [str(spot.rule) for spot in blind_spots(frame, told, labelled)] == [f"note {said}"]
