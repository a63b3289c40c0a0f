"""What drives a model: honest weights, honest fits, values of everyone; and one row beside a naive loop."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from sklearn.tree import DecisionTreeClassifier

from campaign_folder import make, write_tables
from unskew import LoggedData, Unskew
from unskew.campaigns import Campaign
from unskew.campaigns.learning import drivers
from unskew.campaigns.learning.drivers import Importance, features_of_others, importance
from unskew.campaigns.tables.encoding import encoder, features
from unskew.estimation.costs import Costs
from unskew.methods.pool import PoolMethod

KINDS = {"a": "number", "b": "category", "noise": "number"}


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {"a": rng.normal(size=rows), "b": rng.choice(["u", "v", "w"], rows), "noise": rng.normal(size=rows)}
    )


def truth(frame: pl.DataFrame, seed: int) -> Any:
    """The label depends on a, less on b, and not on the noise."""
    p = expit(2.5 * frame["a"].to_numpy() + 1.5 * (frame["b"] == "u").to_numpy() - 0.5)
    return np.where(np.random.default_rng(seed).random(frame.height) < p, "yes", "no")


def told(labels: int = 60, **how: Any) -> tuple[PoolMethod, Any]:
    """A method after some labels, on a log that mostly shows a > 0, and the encoder of its columns."""
    log, pool = table(300, 0), table(800, 1)
    columns = encoder(log, KINDS)
    q0 = np.where(log["a"].to_numpy() > 0.0, 0.8, 0.1)
    z = np.random.default_rng(2).random(300) < q0
    method = Unskew(random_state=0, **how)
    method.start(LoggedData(features(columns, log), truth(log, 3), z, q0), features(columns, pool))
    if labels:
        asked = method.ask(labels)
        method.tell(truth(pool, 4)[asked])
    return method, columns


def found(method: PoolMethod, columns: Any, seed: int = 0) -> Importance | None:
    """`importance` for a method that no campaign holds."""
    held = SimpleNamespace(
        settings=SimpleNamespace(seed=seed), method=lambda _: method, pipeline=lambda _: {"features": columns},
        everyone=lambda _: method.everyone(),
    )  # fmt: skip
    return importance(cast(Any, held), cast(Any, SimpleNamespace(answered=[])))


def test_what_matters_comes_first_and_noise_does_not_matter() -> None:
    method, columns = told()
    judged = found(method, columns)
    assert judged is not None and judged.weighted
    assert [one.column for one in judged.columns] == ["a", "b", "noise"]
    first, _, noise = judged.columns
    assert first.log_loss.low > 0.2 and first.error.low > 0.05
    assert noise.log_loss.low < 0.0 < noise.log_loss.high < 0.05
    assert judged == found(method, columns)  # the same each time
    assert 0.0 < judged.error < 0.3 and judged.labels == len(method.observed().y)


def test_a_rise_is_that_on_new_rows() -> None:
    """The interval contains the rise of the present model on 20,000 new rows with labels."""
    method, columns = told(200)
    judged, new = found(method, columns), table(20_000, 5)
    assert judged is not None
    y, other = truth(new, 6), new.sample(fraction=1.0, shuffle=True, seed=7)

    def log_loss(frame: pl.DataFrame) -> float:
        p = method.model_.predict_proba(features(columns, frame))
        return float(-np.log(np.where(y == "yes", p[:, 1], p[:, 0])).mean())

    for one in judged.columns:
        rise = log_loss(new.with_columns(other[one.column])) - log_loss(new)
        assert one.log_loss.low < rise < one.log_loss.high, one.column


def test_noise_learned_by_heart_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full tree uses the noise. Judged on the labels that it learned, it would seem to need it."""
    method, columns = told(100, model=DecisionTreeClassifier(random_state=0))
    noise = next(one for one in found(method, columns).columns if one.column == "noise")  # type: ignore[union-attr]
    assert noise.error.low < 0.0 < noise.error.high
    monkeypatch.setattr(drivers, "fit_weighted", lambda model, *_: method.model_)
    by_heart = found(method, columns)
    assert by_heart is not None and by_heart.error == 0.0
    assert next(one for one in by_heart.columns if one.column == "noise").error.low > 0.01


def test_labels_count_as_in_the_estimate_of_the_error() -> None:
    """From the log alone, a label counts 1 / q0."""
    method, _ = told(0)
    everyone, seen = method.everyone(), method.observed()
    w, weighted = drivers._label_weights(everyone, seen.labelled)
    assert weighted
    np.testing.assert_allclose(w, 1.0 / method.log_.q0[method.log_.z] / 300)


def test_without_a_random_label_each_label_counts_once() -> None:
    log, pool = table(200, 0), table(300, 1)
    columns = encoder(log, KINDS)
    y = truth(log, 3)
    method = Unskew(random_state=0).start(
        LoggedData(features(columns, log), y, q0=np.ones(200), q0_estimated=True), features(columns, pool)
    )
    assert method.log_.only_labelled
    judged = found(method, columns)
    assert judged is not None and not judged.weighted and judged.labels == 200
    others = features_of_others(method, method.everyone().design, 100, np.random.default_rng(0))
    values = {row.tobytes() for row in features(columns, pool)}
    assert all(row.tobytes() in values for row in others)  # the log is no sample of everyone


def test_a_threshold_decides_the_error() -> None:
    method, columns = told(60, costs=Costs(false_negative=20.0))
    plain, with_costs = found(told(60)[0], columns), found(method, columns)
    assert plain is not None and with_costs is not None
    assert with_costs.error > plain.error


@pytest.mark.parametrize(
    ("positive", "negative", "enough"), [(30, 0, False), (29, 1, False), (4, 4, False), (28, 2, True)]
)
def test_few_labels_say_nothing(positive: int, negative: int, enough: bool) -> None:
    labels = np.array(["yes"] * positive + ["no"] * negative + [None] * 10, dtype=object)
    log, pool = table(len(labels), 0), table(50, 1)
    columns = encoder(log, KINDS)
    known = LoggedData(features(columns, log), labels, q0=np.full(len(labels), 0.5), classes=("no", "yes"))
    method = Unskew(random_state=0).start(known, features(columns, pool))
    assert (found(method, columns) is not None) == enough


def test_more_than_two_classes() -> None:
    """Also if a class has a single label: every fit learns from it, and none is judged on it."""
    log, pool = table(300, 0), table(400, 1)
    columns = encoder(log, KINDS)
    y = np.array(["low", "mid", "top"], dtype=object)[np.digitize(log["a"].to_numpy(), [-0.5, 0.5])]
    y[:150] = None
    y[150] = "odd"
    known = LoggedData(features(columns, log), y, q0=np.full(300, 0.5))
    method = Unskew(random_state=0).start(known, features(columns, pool))
    judged = found(method, columns)
    assert judged is not None and judged.labels == 149 and judged.weighted
    assert judged.columns[0].column == "a" and judged.columns[0].error.low > 0.2
    assert all(one.log_loss.low < 0.05 for one in judged.columns[1:])


def test_two_of_three_classes_say_nothing() -> None:
    log, pool = table(100, 0), table(50, 1)
    columns = encoder(log, KINDS)
    known = LoggedData(features(columns, log), np.where(np.arange(100) % 2, "a", "b"), q0=0.5, classes=("a", "b", "c"))
    assert found(Unskew(random_state=0).start(known, features(columns, pool)), columns) is None


def test_many_columns_are_judged_on_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "WORK", 300)
    monkeypatch.setattr(drivers, "FEWEST", 50)
    judged = found(*told())
    assert judged is not None and judged.labels == 100


def test_one_row_is_that_of_a_naive_loop(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Replacing values in the table and asking the pipeline gives the same effects, column by column."""
    folder = tmp_path_factory.mktemp("why")
    with make(write_tables(folder), folder / "loans") as campaign:
        _answer(campaign)
        row = campaign.pool_frame.row(17, named=True)
        why, model = campaign.why(str(row["loan"])), campaign.model()
        assert (why.about, why.prediction) == ("1", model.predict(campaign.pool_frame[17])[0])
        assert {effect.column: effect.value for effect in why.effects}["region"] == row["region"]
        names = list(campaign.settings.kinds)
        everyone = pl.concat([frame.select(names) for frame in (campaign.log_frame, campaign.pool_frame)])
        places = np.random.default_rng(0).choice(everyone.height, 200, p=np.full(everyone.height, 1 / everyone.height))
        own = pl.concat([everyone[200 + 17]] * 200)
        assert why.probability == pytest.approx(model.predict_proba(own)[0, 1])
        for effect in why.effects:
            p = model.predict_proba(own.with_columns(everyone[places][effect.column]))[:, 1]
            assert effect.probability == pytest.approx(p.mean())
            assert effect.log_odds == pytest.approx(why.log_odds - logit(p).mean())
            assert effect.standard_error == pytest.approx(logit(p).std(ddof=1) / np.sqrt(200))
        assert why.effects[0].column == "x0" and len(why.effects) == len(campaign.settings.kinds)


def test_one_row_of_several_classes_is_about_the_predicted_one(tmp_path: Path) -> None:
    log, pool = table(200, 0), table(100, 1)
    y = np.array(["low", "mid", "top"])[np.digitize(log["a"].to_numpy(), [-0.5, 0.5])]
    seen = np.random.default_rng(0).random(200) < 0.6
    log = log.with_columns(pl.Series("y", [label if z else None for label, z in zip(y, seen, strict=True)]))
    at = int(np.argmax(pool["a"].to_numpy()))
    with Campaign.create(
        tmp_path / "c", log=log.with_columns(q0=pl.lit(0.6)), pool=pool, label="y", propensity="q0"
    ) as c:
        why, p = c.why(f"row-{at + 1}"), c.model().predict_proba(pool[at])[0]
    assert why.prediction == why.about == "top"
    assert why.probability == pytest.approx(p[2]) and why.log_odds == pytest.approx(logit(p[2]))
    assert why.effects[0].column == "a" and why.effects[0].log_odds > 1.0


def _answer(campaign: Campaign) -> None:
    rows = campaign.ask(20, by="ann")
    campaign.tell({row.id: int(row.values["x0"] > 0.2) for row in rows}, by="ann")
