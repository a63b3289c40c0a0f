"""A campaign with parts that one annotator, Ada, is not shown. They hold the secrets that a test puts there."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import httpx
import polars as pl
from fastapi import FastAPI

from unskew.campaigns import Campaign
from unskew.web.access import Admins
from unskew.web.app import create_app
from unskew.web.demand import Demand
from unskew.web.limits import Minutes
from unskew.web.planner import Outlook
from web_page import FREE, applicants

SHOWN = ("debt_ratio", "purpose", "remark")
ID = UUID("2f1c8a54-6a52-4c5e-9a53-0d6f1c1e7f10")
"""The id of every such campaign: names of cookies are made of it."""


@dataclass(frozen=True)
class Secrets:
    """What is in the hidden parts; None where nothing is written or done at all."""

    column: str
    """The value of a hidden column."""
    comment: str | None = None
    """A colleague's comment on a row of Ada's."""
    reason: str | None = None
    """The administrator's reason, given on a row of Ada's."""
    correction: str | None = None
    """A colleague's reason for changing their own answer to a row of Ada's, which is another one than hers."""
    skip: str | None = None
    """What a third person wrote of a row that they skipped; then they were paused."""
    settled: str | None = None
    """Why the administrator changed Ada's answer to one row, and made another one a skip."""


class Clock:
    """A clock that stands still between the steps of a test."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 18, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def tick(self) -> None:
        self.at += timedelta(seconds=1)


class Ada:
    """Ada at the application, without a server in between: by her token, or with `cookie` as her browser is."""

    def __init__(self, scene: "Hidden", stack: ExitStack, *, cookie: bool = False) -> None:
        self._loop = asyncio.new_event_loop()
        stack.callback(self._loop.close)
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(scene.app), base_url="http://127.0.0.1:8000", timeout=None
        )
        self._token, self._cookie = scene.token, cookie
        self.enter()

    def enter(self) -> None:
        """Sign in."""
        if not self._cookie:
            self._client.headers["Authorization"] = f"Bearer {self._token}"
            return
        self.call("POST", "/api/enter", body={"code": self._token}).raise_for_status()
        html = self.call("GET", "/label").text
        self._client.headers["X-CSRF-Token"] = html.partition('name="csrf" content="')[2].partition('"')[0]

    def call(self, method: str, path: str, query: dict[str, Any] | None = None, body: object = None) -> httpx.Response:
        """The answer to one request."""
        return self._loop.run_until_complete(self._client.request(method, path, params=query, json=body))


class NoPlanner:
    """Every row is planned in advance."""

    def __init__(self) -> None:
        self.outlook, self.demand = Outlook(), Demand()

    def start(self) -> None: ...
    def stop(self) -> None: ...


@dataclass
class Hidden:
    """The application, and Ada's token and rows."""

    app: FastAPI
    campaign: Campaign
    clock: Clock
    token: str
    mine: list[str]
    """Rows that Ada answered, and one that she skipped, first to last."""
    held: list[str]
    """Rows that she holds."""
    others: list[str]
    """Rows that a third person was given."""


@contextmanager
def hidden(folder: Path, secrets: Secrets, shown: str = "plain") -> Iterator[Hidden]:
    """The campaign, with `shown` in a column that everybody sees. All times, tokens and names are always the same."""
    _write_tables(folder, secrets.column, shown)
    clock, number = Clock(), iter(range(100))
    with ExitStack() as stack:
        stack.enter_context(patch("unskew.campaigns.creating.uuid4", lambda: ID))
        stack.enter_context(patch("unskew.campaigns.conduct.new_token", lambda: f"{'token':-<40}{next(number):03d}"))
        Campaign.create(
            folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label="repaid",
            propensity="q0", id="application", budget=60, classes=("no", "yes"), now=clock,
            types={"diagnosis": "ignore", "remark": "ignore"},
        ).close()  # fmt: skip
        campaign = stack.enter_context(Campaign.open(folder / "loans", now=clock))
        token = campaign.invite("ada")
        for name in ("bob", "eve"):
            campaign.invite(name)
        campaign.arrange(overlap=1.0, columns=[(name, "") for name in SHOWN], by="grace")
        others = [row.id for row in campaign.ask(1, by="eve")]  # and no other: rows of hers would go to Ada
        mine = [row.id for row in campaign.ask(9, by="ada")]
        for id in mine[:7]:
            clock.tick()
            campaign.tell({id: None if id == mine[6] else "yes"}, by="ada")
        campaign.comment(mine[0], "my own words", by="ada")
        campaign.plan(20)
        _hide(campaign, clock, secrets, mine, others)
        app = create_app(campaign, NoPlanner(), name="Loans", admins=Admins("grace", campaign.id), limits=FREE)
        for what in app.state.minutes:  # each change is a minute later, or most of them were refused
            app.state.minutes[what] = Minutes(count(step=60.0).__next__)
        yield Hidden(app, campaign, clock, token, mine[:7], mine[7:], others)


def _hide(campaign: Campaign, clock: Clock, secrets: Secrets, mine: list[str], others: list[str]) -> None:
    """Write and do what Ada is not shown. The clock goes on in the same way, whatever is written."""
    if secrets.comment is not None:
        campaign.comment(mine[0], secrets.comment, by="bob")
        campaign.comment(mine[7], secrets.comment, by="bob")
    clock.tick()
    if secrets.reason is not None:
        campaign.correct(mine[1], "yes", by="grace", reason=secrets.reason)
    clock.tick()
    if secrets.correction is not None:
        again = {row.id for row in campaign.hand_out(6, by="bob")}
        campaign.tell(dict.fromkeys(mine[:3], "yes"), by="bob")
        assert again == {*mine[:6]}, "Bob gets the rows that Ada answered"
        campaign.correct(mine[2], "no", by="bob", reason=secrets.correction, own=True)
        campaign.skip(mine[3], by="bob")
    clock.tick()
    if secrets.skip is not None:
        campaign.skip(others[0], by="eve")
        campaign.comment(others[0], secrets.skip, by="eve")
        campaign.pause("eve", by="grace")
    clock.tick()
    if secrets.settled is not None:
        campaign.correct(mine[4], "no", by="grace", reason=secrets.settled)
        campaign.correct(mine[5], None, by="grace", reason=secrets.settled)
    clock.tick()


def _write_tables(folder: Path, diagnosis: str, remark: str) -> None:
    folder.mkdir(parents=True)
    texts = [pl.lit(diagnosis).alias("diagnosis"), pl.lit(remark).alias("remark")]
    log = applicants(300, 1).with_columns(
        pl.when(pl.int_range(300) % 2 == 0).then("repaid").alias("repaid"), pl.lit(0.5).alias("q0"), *texts
    )
    log.write_parquet(folder / "log.parquet")
    applicants(200, 3).drop("repaid").with_columns(texts).write_parquet(folder / "pool.parquet")
