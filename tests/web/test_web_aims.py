"""The progress page leads with what the campaign aims at: a cost, a recall, or the error."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from unskew import Costs
from unskew.campaigns import Campaign
from unskew.campaigns.ledger.events import Closed, Extended, Measured
from web_page import applicants, begin, serving, wait_for

AIMS = [
    ({"costs": Costs(false_negative=10.0)}, "cost", "Cost of a row", r"^[\d.]+ [\d.]+ to [\d.]+$"),
    ({"recall": 0.925}, "recall", "Recall", r"^[\d.]+ % [\d.]+ to [\d.]+ %$"),
]


@pytest.mark.parametrize(("aim", "measure", "name", "figures"), AIMS, ids=["cost", "recall"])
def test_the_page_leads_with_the_aim(
    browser: Browser, tmp_path: Path, aim: dict[str, Any], measure: str, name: str, figures: str
) -> None:
    with serving(begin(tmp_path, **aim)) as page, contextlib.closing(browser.new_context()) as context:
        tab = context.new_page()
        tab.goto(page.link())
        expect(tab.locator("#aim")).to_have_text(name, timeout=15_000)
        expect(tab.locator("#error")).to_have_text(re.compile(figures))
        expect(tab.locator("#chart-title")).to_have_text(f"{name}, by labels given")
        expect(tab.locator("#chart svg")).to_have_attribute("aria-label", re.compile(f"^{name} after 0 labels: "))
        expect(tab.locator("#chart .wanted")).to_have_count(int(measure == "recall"))
        goal = "92.5 % wanted. " if measure == "recall" else ""
        expect(tab.locator("#error-more")).to_have_text(f"{goal}Estimated from the log alone")
        expect(tab.locator("#words")).to_contain_text("a row is flagged if its probability is at least")
        expect(tab.locator("#words")).to_contain_text("It is wrong on ")
        found = page.campaign.status().estimates[measure]
        shown = tab.evaluate("fetch('/api/status').then((answer) => answer.json())")["aim"]
        assert (shown["measure"], shown["wanted"], shown["left_out"]) == (measure, aim.get("recall"), 0)
        assert shown["points"] == [
            {"labels": 0, "rows": shown["rows"], "value": found.value, "low": found.low, "high": found.high}
        ]


def test_after_new_rows_the_page_shows_no_number_for_the_old_pool(browser: Browser, tmp_path: Path) -> None:
    """It shows what the status says: a number for all rows, with a word of caution, and earlier points apart."""
    dir = begin(tmp_path, budget=30)
    with Campaign.open(dir) as campaign:
        campaign.tell({row.id: "yes" for row in campaign.ask(10, by="ada")}, by="ada")
        campaign.close_due()
        old = campaign.status().error
        campaign.extend(applicants(40, 9).drop("repaid"))
    with serving(dir) as page, contextlib.closing(browser.new_context()) as context:
        tab = context.new_page()
        tab.goto(page.link())
        expect(tab.locator("#error-more")).to_have_text(
            "Rests on the log, which may not speak for rows that came later", timeout=30_000
        )
        found = page.campaign.status().error
        assert found is not None and old is not None and found.extended and not old.extended
        low, high = (f"{100 * end:.1f}" for end in (found.low, found.high))
        expect(tab.locator("#error")).to_have_text(f"{100 * found.value:.1f} % {low} to {high} %")
        expect(tab.locator("#words")).to_contain_text("Be careful: the number rests on the log alone")
        expect(tab.locator("#meaning")).to_contain_text("each point is about the rows of its time")
        expect(tab.locator("#chart .grown")).to_have_count(1)


def test_where_nothing_can_be_said_of_the_larger_pool_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    with serving(begin(tmp_path, budget=30)) as page, contextlib.closing(browser.new_context()) as context:
        wait_for(lambda: page.campaign.status().rounds, "the first round is chosen")
        rounds = page.campaign.status().rounds
        with page.campaign.ledger.writing(page.campaign.id) as write:
            write.append(Extended(40, "", "pool-2.parquet", rounds), Measured(0))
        tab = context.new_page()
        tab.goto(page.link())
        told = "Not known yet: no label was drawn at random since the pool was extended"
        expect(tab.locator("#error-more")).to_have_text(told, timeout=15_000)
        expect(tab.locator("#error")).to_have_text("–")


def test_where_the_ledger_has_only_the_error_the_page_says_so(browser: Browser, tmp_path: Path) -> None:
    with serving(begin(tmp_path, recall=0.9)) as page, contextlib.closing(browser.new_context()) as context:
        page.campaign.plan(5)
        with page.campaign.ledger.writing(page.campaign.id) as write:
            write.append(Closed(1, 3, page.campaign.status().error))
        tab = context.new_page()
        tab.goto(page.link())
        expect(tab.locator("#aim")).to_have_text("Error on everyone", timeout=15_000)
        others = page.campaign.state.estimates[0]["recall"]
        with page.campaign.ledger.writing(page.campaign.id) as write:
            write.append(Closed(1, 5, page.campaign.status().error, None, (others,)))
        expect(tab.locator("#aim")).to_have_text("Recall", timeout=15_000)
        expect(tab.locator("#meaning")).to_contain_text("Earlier estimates are not shown (1): the ledger has only the")
