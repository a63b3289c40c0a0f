"""Campaigns in every stand with their servers, and a browser to look at them: for the tests of how pages look."""

import contextlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Route
from playwright.sync_api import Page as Tab

from axe import SHIFTS
from unskew.campaigns import Campaign
from web_page import Page, begin, begin_sorting, serving, wait_for

SEVEN = ("legitimate", "phishing", "advertisement", "newsletter", "كعك بالعسل", "somebody else's message", "other")
FORTY = tuple(f"{sort} {k}" for k in range(10) for sort in ("apple", "bread", "cheese with holes", "dates"))
LONG = ("does not meet the requirements of the programme", "legitimate_interest_was_shown_and_documented")
NAMES = ("ada", "bob", "a person with quite a long name, which needs several lines", "محمد")
GUIDELINES = """Read **all** of the application before you answer.

- A loan that was paid back late counts as repaid.
- If the debts are more than the income, look at [the handbook](https://example.org/handbook) first.

# When you are not sure
Skip the row, and say why in a comment.
"""
Routes = Mapping[str, Callable[[Route], None]]
"""What becomes of requests to some paths."""
NUMBERS = itertools.count(1)


def spent(folder: Path) -> Path:
    """All labels are given, by four people."""
    dir = begin(folder)
    with Campaign.open(dir) as campaign:
        for k in range(campaign.settings.budget):
            (row,) = campaign.ask(1, by=NAMES[k % len(NAMES)])
            campaign.answer(row.id, ("yes", "no")[k % 2], by=NAMES[k % len(NAMES)])
    return dir


def guided(folder: Path) -> Path:
    """Two people saw the same rows, and differ on two of them. One of them is paused."""
    dir = begin(folder, budget=60)
    with Campaign.open(dir) as campaign:
        campaign.arrange(
            overlap=1.0, question="Will the applicant pay the loan back?", guidelines=GUIDELINES,
            explained={"yes": "All of it, perhaps late.", "no": "A part of it is still owed."},
            columns=[["debt_ratio", "Debts by income"], ["purpose", ""], ["income_eur", ""], ["has_job", ""]],
            highlighted=["car", "bold"],
        )  # fmt: skip
        rows = campaign.ask(14, by="ada")
        answers = {row.id: ("yes", "no")[k % 2] for k, row in enumerate(rows[:13])}
        campaign.tell({**answers, rows[13].id: None}, by="ada")
        differ = {rows[1].id: "yes", rows[4].id: "no"}
        again = campaign.ask(12, by="bob")
        campaign.tell({row.id: differ.get(row.id, answers[row.id]) for row in again}, by="bob")
        campaign.comment(rows[1].id, "The debts look odd: is this a typing error in the application?", by="ada")
        campaign.comment(rows[1].id, "See the handbook.", by="grace")
        campaign.pause("bob", by="grace")
    return dir


def ended(folder: Path) -> Path:
    dir = begin(folder)
    with Campaign.open(dir) as campaign:
        campaign.tell({row.id: "yes" for row in campaign.ask(6, by="ada")}, by="ada")
        campaign.arrange(ended=True)
    return dir


MADE: dict[str, Callable[[Path], Path]] = {
    "loans": lambda folder: begin(folder, budget=150),
    "fresh": begin,
    "spent": spent,
    "guided": guided,
    "ended": ended,
    "seven": lambda folder: begin_sorting(folder, SEVEN, budget=80),
    "forty": lambda folder: begin_sorting(folder, FORTY, budget=80),
    "long": lambda folder: begin_sorting(folder, LONG, budget=80),
}


class Servers(dict[str, Page]):
    """The servers of the campaigns above, by name. Each is started when it is first asked for."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.stack = folder, stack

    def __missing__(self, name: str) -> Page:
        page = self[name] = self.stack.enter_context(serving(MADE[name](self.folder / name)))
        if name == "spent":
            page.link("ada")
            page.link(NAMES[2])
            wait_for(lambda: page.campaign.refresh().prospect, "the last round is closed")
        return page


@dataclass
class Scene:
    """Servers of campaigns, by name, and a browser with windows of one size."""

    pages: Mapping[str, Page]
    browser: Browser
    how: dict[str, Any]
    stack: contextlib.ExitStack
    people: dict[tuple[str, str | None], BrowserContext] = field(default_factory=dict)
    """Those who are signed in, by campaign and name."""

    def context(self) -> BrowserContext:
        context = self.browser.new_context(**self.how)
        self.stack.callback(context.close)
        context.set_default_timeout(15_000)
        context.add_init_script(SHIFTS)
        return context

    def tab(self, path: str, campaign: str = "loans") -> Tab:
        """A page that nobody has to be signed in for."""
        tab = self.context().new_page()
        tab.goto(f"{self.pages[campaign].address}{path}")
        return tab

    def somebody(self) -> str:
        """A new name."""
        return f"person {next(NUMBERS)}"

    def labelling(self, campaign: str = "loans", routes: Routes | None = None) -> Tab:
        """The page of somebody new, who labels."""
        tab = _routed(self.context(), routes)
        tab.goto(self.pages[campaign].link(self.somebody()))
        tab.wait_for_url("**/label")
        return tab

    def signed_in(self, campaign: str, name: str | None, path: str, routes: Routes | None = None) -> Tab:
        """A page of an annotator, or of the administrator, who stays signed in from one state to the next."""
        page = self.pages[campaign]
        if (campaign, name) not in self.people:
            context = self.people[campaign, name] = self.context()
            with contextlib.closing(context.new_page()) as tab:
                tab.goto(page.link(name))
                tab.wait_for_url("**/progress" if name is None else "**/label")
        tab = _routed(self.people[campaign, name], routes)
        tab.goto(f"{page.address}{path}")
        return tab

    def administrator(self, campaign: str, path: str = "/progress", routes: Routes | None = None) -> Tab:
        return self.signed_in(campaign, None, path, routes)


def _routed(context: BrowserContext, routes: Routes | None) -> Tab:
    tab = context.new_page()
    for path, handler in (routes or {}).items():
        tab.route(f"**{path}", handler)
    return tab
