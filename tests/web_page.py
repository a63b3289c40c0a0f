"""A small campaign and its page, for the tests of the page and of its JSON interface."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import polars as pl
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Page as Tab

from unskew.campaigns import Campaign
from unskew.web.access import Admins
from unskew.web.app import create_app
from unskew.web.demand import Demand
from unskew.web.limits import Guard, Limits
from unskew.web.planner import Outlook, Planner
from unskew.web.server import configured
from unskew.web.turns import LEDGER

PICTURE = (
    "data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 60 30'>"
    "<rect width='60' height='30' fill='teal'/></svg>"
)
FREE = Limits(
    person_rate=1e6, person_burst=10**6, person_most=10**6, address_rate=1e6, address_burst=10**6, address_most=10**6
)  # fmt: skip
"""Limits that tests do not run into."""
PATIENCE = 60.0
"""Seconds after which a test stops waiting, and fails."""
SERVE = "import sys; from unskew.cli import main; sys.exit(main(['serve', *sys.argv[1:]]))"

T = TypeVar("T")


def wait_for(check: Callable[[], T], what: str) -> T:
    """The first value of `check` that is true; a failure if there is none in time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE:g} seconds")


@contextlib.contextmanager
def serve_process(*args: str) -> Iterator[subprocess.Popen[str]]:
    """`unskew serve` in a process of its own, which is killed after a while, so that no reading of it waits forever."""
    command = [sys.executable, "-W", "error", "-c", SERVE, *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        late = threading.Timer(2 * PATIENCE, process.kill)
        late.start()
        try:
            yield process
        finally:
            late.cancel()
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(PATIENCE)
                finally:
                    process.kill()


def links_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The links that a server with --json prints first."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the server printed no links"
    found: dict[str, Any] = json.loads(line)
    return found


class InThread:
    """A planner in a thread of this process: at once there, which suits tests."""

    def __init__(self, campaign: Campaign) -> None:
        self.outlook, self.demand = Outlook(), Demand()
        self._stop = threading.Event()
        run = Planner(campaign, self.demand.lately).run
        self._thread = threading.Thread(target=run, args=(self._stop.wait, self._say), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait until the current work is done."""
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the planner does not stop"

    def _say(self, outlook: Outlook) -> None:
        self.outlook = outlook


def applicants(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income, debt = rng.normal(45_000, 15_000, rows).round(), rng.random(rows)
    day = np.datetime64("2026-01-01") + rng.integers(0, 300, rows)
    return pl.DataFrame(
        {
            "application": [f"A{seed}-{k:04d}" for k in range(rows)],
            "income_eur": income,
            "debt_ratio": debt,
            "customer_since": day,
            "has_job": rng.random(rows) < 0.7,
            "purpose": rng.choice(["car", "house", "<b>bold</b> & co"], rows),
            "repaid": np.where(debt + rng.normal(0, 0.2, rows) < income / 80_000, "yes", "no"),
        }
    )


def begin(
    folder: Path, *, budget: int = 12, pool: int = 200, lease: timedelta = timedelta(minutes=30), **aim: Any
) -> Path:
    """A campaign in a new folder; the log reveals half of its labels. `aim` may be costs or a recall."""
    folder.mkdir(parents=True, exist_ok=True)
    log = applicants(300, 1)
    seen = pl.Series(np.random.default_rng(2).random(300) < 0.5)
    log = log.with_columns(pl.when(seen).then("repaid").alias("repaid"), pl.lit(0.5).alias("q0"))
    log.write_parquet(folder / "log.parquet")
    applicants(pool, 3).drop("repaid").write_parquet(folder / "pool.parquet")
    Campaign.create(
        folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label="repaid", propensity="q0",
        id="application", budget=budget, lease=lease, classes=("no", "yes"), **aim,
    ).close()  # fmt: skip
    return folder / "loans"


def begin_sorting(folder: Path, names: Sequence[str], *, budget: int = 12) -> Path:
    """A campaign of as many classes as there are names: sectors around a point. The log reveals half of its labels."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    sector = ((np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) % 1.0) * len(names)).astype(int)
    label = [names[k] if seen else None for k, seen in zip(sector, rng.random(300) < 0.5, strict=True)]
    rows = pl.DataFrame({"item": [f"I{k:03d}" for k in range(300)], "x": x[:, 0].round(3), "y": x[:, 1].round(3)})
    rows = rows.with_columns(pl.Series("note", rng.choice(["round", "flat", "tall"], 300)))
    log, pool = folder / "log.parquet", folder / "pool.parquet"
    rows[:150].with_columns(pl.Series("kind", label[:150]), pl.lit(0.5).alias("q0")).write_parquet(log)
    rows[150:].write_parquet(pool)
    Campaign.create(
        folder / "items", log=log, pool=pool, label="kind", propensity="q0", id="item", budget=budget, classes=names,
        drawn=0.5,
    ).close()  # fmt: skip
    return folder / "items"


@contextlib.contextmanager
def application(dir: Path, limits: Limits = FREE) -> Iterator[FastAPI]:
    with Campaign.open(dir, patience=LEDGER) as campaign, Campaign.open(dir) as thinking:
        yield create_app(campaign, InThread(thinking), name="Loans", admins=Admins("grace", campaign.id), limits=limits)


@dataclass
class Page:
    """A running server: its address, and links to it."""

    address: str
    app: FastAPI
    campaign: Campaign
    tokens: dict[str, str] = field(default_factory=dict)

    def in_flight(self) -> int:
        """The number of requests whose answers have not left yet."""
        guard = self.app.middleware_stack
        while not isinstance(guard, Guard):
            guard = guard.app  # type: ignore[union-attr]
        return guard.at_once.total()

    def link(self, name: str | None = None) -> str:
        """A link for an annotator, or the administrator's."""
        if name is None:
            return f"{self.address}/enter#{self.app.state.access.admins.code()}"
        if name not in self.tokens:
            self.tokens[name] = self.campaign.invite(name)
        return f"{self.address}/enter#{self.tokens[name]}"


@contextlib.contextmanager
def serving(dir: Path, limits: Limits = FREE) -> Iterator[Page]:
    """The page of a campaign on a free port, in a real server."""
    with application(dir, limits) as app, Campaign.open(dir) as campaign, listening(app) as address:
        yield Page(address, app, campaign)


@contextlib.contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    """A real server of an application on a free port. Its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = uvicorn.Server(configured(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [free]}, daemon=True)
        thread.start()
        try:
            wait_for(lambda: server.started, "the server starts")
            yield f"http://127.0.0.1:{free.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the server does not stop"


def connect(page: Page, receive: int = 0) -> socket.socket:
    """A bare connection. With `receive`, the system keeps only about that many bytes of what arrives."""
    host, _, port = page.address.removeprefix("http://").partition(":")
    opened = socket.socket()
    if receive:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    opened.settimeout(30)
    opened.connect((host, int(port)))
    return opened


@contextlib.contextmanager
def occupied(page: Page) -> Iterator[None]:
    """Work on the campaign that takes long."""
    free = threading.Event()
    page.app.state.turns._thread.submit(free.wait)
    try:
        yield
    finally:
        free.set()


def rows(client: httpx.Client, n: int = 1) -> dict:
    """Work, waited for while the next rows are being chosen."""
    for _ in range(200):
        work = client.post("/api/ask", json={"n": n}).raise_for_status().json()
        if work["stand"] != "choosing":
            return work
        time.sleep(0.05)
    raise AssertionError("no rows came")


def tell(client: httpx.Client, id: str, label: str | None, ask: int = 0) -> httpx.Response:
    return client.post("/api/tell", json={"answers": [{"id": id, "label": label}], "ask": ask})


def row(tab: Tab) -> str:
    """The id of the row on the page, once one is there."""
    tab.wait_for_selector("#fields dd:visible")
    return tab.locator("#identity").inner_text().split()[1]


def press(tab: Tab, key: str) -> None:
    """Press a key once the row can have been read."""
    tab.wait_for_timeout(220)
    tab.keyboard.press(key)


def settle(tab: Tab) -> None:
    """Until every answer has arrived."""
    tab.wait_for_function("() => !Object.keys(localStorage).some(key => key.includes(' unskew unskew-'))")
