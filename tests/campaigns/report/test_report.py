"""The report of a campaign: what it says, and that it stands alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from campaign_folder import make
from unskew.campaigns import Campaign
from unskew.campaigns.example import ID, LABEL, LOG, POOL, PROPENSITY, bank, truth
from unskew.campaigns.measuring import Measuring
from unskew.campaigns.report.report import gather, render, write_report
from unskew.errors import EmptyMeasure, InputError, NoRandomLabel
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.methods.registry import REGISTRY

VOID = {"meta", "link", "br", "path", "use", "rect"}


class Page(HTMLParser):
    """Its text, its addresses, and whether its tags are in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data.replace("\u00a0", " ").split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """60 labels by two people, one row skipped, one answer corrected."""
    folder = tmp_path_factory.mktemp("report") / "A & <b>ank"
    made = Campaign.create(
        folder, log=LOG, pool=POOL, label=LABEL, propensity=PROPENSITY, id=ID, budget=100, drawn=0.25
    )
    known = truth()
    for who in ("ann", "ben"):
        rows = made.ask(30, by=who)
        made.tell({row.id: known[row.id] for row in rows}, by=who)
        made.close_due()
    first = made.ask(1, by="ann")[0]
    made.skip(first.id, by="ann")
    made.tell({rows[0].id: next(c for c in ("yes", "no") if c != known[rows[0].id])}, by="ann", force_correct=True)
    made.close_due()
    return made


def test_it_says_everything_and_needs_nothing(campaign: Campaign, tmp_path: Path) -> None:
    headline = write_report(campaign, tmp_path / "report.html")["headline"]
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert not re.search(r"url\(['\"]?(?!#)", text) and "@import" not in text and "<script" not in text
    assert re.fullmatch(
        r"The model is wrong on [\d.]+ % of everyone, 95 % interval [\d.]+ to [\d.]+ %, from 60 labels of 100\.",
        headline,
    )
    assert headline in page.text
    for words in (
        "A & <b>ank", "60 of 100", "1 skipped", "2 people", "employment is not permanent",
        "given , in the column granted_with", "contains 1 , as it should", "customer_since (date)",
        "Assumptions", "Not intended for",
        campaign.settings.log_sha256, campaign.method().log_.classes[1],
        "precision: share of predicted “yes” that are right",
        f"{campaign.status().prospect}",
        "recall: share of actual “yes” found", "F1: precision and recall in one number",
        "balanced error: mean of the errors on both classes",
        "AUC: chance that a “yes” gets a higher score than a “no”",
        "Always saying “yes” would be wrong on", "The drawn labels say", "the log says",
        "The 40 labels that are left would bring the interval to about ±",
    ):  # fmt: skip
        assert words in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("method", ["Unskew", "RandomLabels", "mine:Mine"])
def test_it_says_of_a_method_only_what_holds_for_it(campaign: Campaign, method: str) -> None:
    facts = gather(campaign)
    other = replace(campaign.settings, method=method)
    text = Page(render({**facts, "settings": other, "of_package": method in REGISTRY})).text
    assert f"were chosen by {method} to learn from." in text and "least sure" not in text
    assert ("no parameters tuned" in text) == (method != "mine:Mine")
    assert facts["of_package"] is True


def test_its_counts_are_those_of_the_ledger(campaign: Campaign) -> None:
    facts = gather(campaign)
    answered = campaign.state.answered()
    assert sum(facts["reasons"].values()) == 60
    assert sum(spot.chosen for spot in facts["spots"]) <= facts["reasons"]["chosen"]
    inside = facts["spots"][0]
    assert inside.share_before < inside.share_now < inside.population_share
    assert {worker["name"]: sum(worker["labels"].values()) for worker in facts["workers"]} == {
        name: sum(row.by == name for row in answered) for name in ("ann", "ben")
    }
    assert {worker["name"]: (worker["skipped"], worker["corrections"]) for worker in facts["workers"]} == {
        "ann": (1, 1),
        "ben": (0, 0),
    }
    labels = [point.labels for point in facts["points"]]
    assert labels == sorted(set(labels)) and labels[0] == 0 and labels[-1] == 60


def test_the_same_ledger_gives_the_same_page(campaign: Campaign) -> None:
    with Campaign.open(campaign.folder.path) as again:
        assert render(gather(again)) == render(gather(campaign))


def test_an_estimate_that_fails_is_not_taken_for_none(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only "no label drawn at random" and "no row of that kind" are left out of the page; anything else is an error."""
    real = Everyone.estimate

    def fails(kind: type[Exception], *measures: str) -> None:
        def estimate(self: Everyone, measure: str = "error", **how: Any) -> PopulationEstimate:
            if measure in measures:
                raise kind("margin must be finite")
            return real(self, measure, **how)

        monkeypatch.setattr(Everyone, "estimate", estimate)

    for measures in (("error",), ("recall",)):
        fails(InputError, *measures)
        with pytest.raises(InputError, match="margin must be finite"):
            write_report(campaign, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
    fails(EmptyMeasure, "precision")
    told = {words.partition(":")[0]: value for words, value, _ in gather(campaign)["measures"]}
    assert told["precision"] == "none flagged" and told["recall"].endswith(" %")
    monkeypatch.setattr(Everyone, "estimate", real)
    monkeypatch.setattr(Measuring, "measures", lambda self: (_ for _ in ()).throw(NoRandomLabel("none")))
    assert gather(campaign)["headline"].startswith("The error of the model cannot be estimated")


def test_before_the_first_label_and_with_estimated_propensities(tmp_path: Path) -> None:
    pl.read_csv(LOG).drop(PROPENSITY).write_csv(tmp_path / "log.csv")
    made = Campaign.create(tmp_path / "bank", log=tmp_path / "log.csv", pool=POOL, label=LABEL, id=ID, budget=10)
    with made:
        write_report(made, tmp_path / "report.html")
    text = Page((tmp_path / "report.html").read_text()).text
    assert "Be careful: the number rests on the log alone, and the log's propensities were estimated." in text
    assert "Nobody has labelled yet." in text
    assert "from 0 labels of 10" in text


def test_a_campaign_that_was_skipped_through_is_not_called_done(tables: Path, tmp_path: Path) -> None:
    with make(tables, tmp_path / "skipped", budget=30) as campaign:
        rows = campaign.ask(5, by="ann")
        campaign.tell({row.id: "1" for row in rows}, by="ann")
        while rows := campaign.ask(25, by="eve"):
            campaign.tell({row.id: None for row in rows}, by="eve")
            campaign.resume("eve")
        headline = write_report(campaign, tmp_path / "report.html")["headline"]
    told = "from 5 labels of 30. No row is left: 395 were skipped, and 5 of 30 labels were given."
    assert headline.endswith(told)
    text = Page((tmp_path / "report.html").read_text()).text
    assert told in text and "eve 0 0 395 0" in text


def test_the_example_is_what_its_script_makes(tmp_path: Path) -> None:
    bank.write(tmp_path)
    for file in (LOG, POOL):
        assert (tmp_path / file.name).read_text() == file.read_text()
