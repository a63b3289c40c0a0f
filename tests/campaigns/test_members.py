"""The members of a campaign's model: their weights, and what each would be worth alone, on page and in JSON."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands import told as printed
from unskew.campaigns import Campaign
from unskew.campaigns.report.report import gather, render
from unskew.models.bayes import BayesianLogistic

KINDS = ["BayesianLogistic", "Trees"]
SECTION = "What the model is made of"


def frame(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: rng.uniform(-1, 1, rows) for name in ("a", "b", "c")})


def striped(a: pl.Series | float) -> np.ndarray:
    """Stripes: steps, which trees find sooner than a logistic regression does."""
    return np.round(3 * np.asarray(a)) % 2 == 0


def made(folder: Path, labels: int = 60, **changed: object) -> Campaign:
    """A campaign with so many labels, of which every tenth row was skipped and a round is open."""
    log, rng = frame(300, 0), np.random.default_rng(1)
    seen = rng.random(300) < 0.5
    known = [str(int(y)) if z else None for y, z in zip(striped(log["a"]), seen, strict=True)]
    log = log.with_columns(y=pl.Series(known), q0=pl.lit(0.5))
    wanted = {"log": log, "pool": frame(800, 2), "label": "y", "propensity": "q0", "budget": 200}
    campaign = Campaign.create(folder, **(wanted | changed))  # type: ignore[arg-type]
    for k in range(labels // 20):
        rows = campaign.ask(20, by="ann")
        answers = {row.id: str(int(striped(row.values["a"]))) for row in rows}
        campaign.tell({**answers, rows[0].id: None, rows[-1].id: None}, by="ann")
        campaign.close_due()
        assert campaign.status().closed == k + 1
    if labels:
        campaign.ask(7, by="ben")
    return campaign


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    with made(tmp_path_factory.mktemp("members") / "stripes") as campaign:
        yield campaign


def test_each_is_judged_alone_by_the_design_of_the_campaign(campaign: Campaign) -> None:
    """Rows that were skipped, and those of the open round, count as lost for the members as they do for the team."""
    found, team = campaign.measuring().members(), campaign.model()["model"]
    assert [one.name for one in found] == team.names_ == KINDS
    assert [one.weight for one in found] == team.weights_.tolist()
    design, method = campaign.everyone().design, campaign.method()
    assert sum(picked.drawn_lost for picked in design.rounds) > 0
    for one, member in zip(found, method.members(), strict=True):  # type: ignore[attr-defined]
        alone = member.alone.everyone()
        assert one.alone == {"error": replace(alone, design=design).estimate()}
        assert one.alone["error"] != alone.estimate()
    logistic, trees = (one.alone["error"] for one in found)
    assert logistic is not None and trees is not None
    assert trees.value < logistic.value and trees.labels == logistic.labels == campaign.error().labels


def test_the_page_names_them_with_weights_and_intervals(campaign: Campaign) -> None:
    facts = gather(campaign)
    assert [words for words, *_ in facts["alone"]] == ["Bayesian logistic regression", "Trees"]
    page = render(facts)
    assert page.count(SECTION) == 1 and "error alone" in page
    for one, (_, weight, ((value, interval),)) in zip(facts["members"], facts["alone"], strict=True):
        found = one.alone["error"]
        assert weight == (f"{one.weight:.2f}" if one.weight else "0")
        assert value == f"{100 * found.value:.1f}\N{NO-BREAK SPACE}%"
        assert interval == f"({100 * found.low:.1f} to {100 * found.high:.1f})"
        assert f'>{value} <span class="whole">{interval}</span></td>' in page
    ((value, _),) = facts["together"]
    assert value == facts["now"]["value"].replace(" ", "\N{NO-BREAK SPACE}")


def test_a_member_without_weight_is_said_to_be_left_out(campaign: Campaign) -> None:
    facts = gather(campaign)
    words, _, cells = facts["alone"][1]
    left_out = 'Trees</th><td data-label="weight">0, <span class="whole">left out</span></td>'
    assert left_out in render({**facts, "alone": [facts["alone"][0], (words, "0", cells)]})
    assert left_out not in render(facts)


def test_if_a_recall_is_wanted_each_has_its_own_threshold(tmp_path: Path) -> None:
    with made(tmp_path / "stripes", recall=0.9) as campaign:
        found, facts = campaign.measuring().members(), gather(campaign)
    assert [list(one.alone) for one in found] == [["recall", "precision"]] * 2
    assert len({one.alone["recall"].threshold for one in found if one.alone["recall"]}) == 2
    page = render(facts)
    assert facts["alone_by"] == ["recall", "precision"] and len(facts["together"]) == 2
    assert "at a threshold of its own that is expected to reach the wanted recall" in page


def test_where_nothing_can_be_estimated_there_are_weights_alone(tmp_path: Path) -> None:
    """A log of labelled rows only, before any row of the pool was drawn."""
    log = frame(200, 0)
    log = log.with_columns(y=pl.Series(striped(log["a"]).astype(int).astype(str)))
    with made(tmp_path / "picked", labels=0, log=log, propensity=None) as campaign:
        facts = gather(campaign)
    assert [(one.name, one.alone) for one in facts["members"]] == [(kind, {}) for kind in KINDS]
    page = render(facts)
    assert SECTION in page and "Bayesian logistic regression</th>" in page
    assert "error alone" not in page and "would do alone" not in page and "the team</th>" not in page


def test_before_there_are_enough_labels_the_first_member_is_alone(tmp_path: Path) -> None:
    log = frame(300, 0).with_columns(y=pl.Series(["1", "0", "1", "0"] + [None] * 296), q0=pl.lit(0.02))
    with made(tmp_path / "few", labels=0, log=log) as campaign:
        facts = gather(campaign)
    assert len(facts["alone"]) == 1
    assert "The model is a Bayesian logistic regression so far." in render(facts)


OWN = """
from unskew import Unskew
from unskew.models.bayes import BayesianLogistic

class Own(Unskew):
    def __init__(self, *, drawn=0.5, random_state=None):
        super().__init__(drawn=drawn, model=BayesianLogistic(), random_state=random_state)
"""


def test_a_method_with_a_model_of_its_own_has_no_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_model.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    with made(tmp_path / "own", labels=20, method="own_model:Own") as campaign:
        assert isinstance(campaign.model()["model"], BayesianLogistic)
        facts = gather(campaign)
    sys.modules.pop("own_model")
    assert facts["members"] == facts["alone"] == facts["together"] == []
    assert SECTION not in render(facts)


def test_report_prints_them_as_json(campaign: Campaign, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = printed(capsys, "report", str(campaign.folder.path), "--out", str(tmp_path / "page.html"))
    members = campaign.measuring().members()
    assert [(one["name"], one["weight"]) for one in found["members"]] == [(one.name, one.weight) for one in members]
    for one, member in zip(found["members"], members, strict=True):
        known = member.alone["error"]
        assert known is not None
        assert [one["alone"]["error"][name] for name in ("value", "low", "high")] == [
            known.value,
            known.low,
            known.high,
        ]
