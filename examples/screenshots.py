"""Make the screenshots of the page in docs/img: serve a simulated bank's campaign and photograph it.

    python examples/screenshots.py [FOLDER]

Three simulated annotators answer with the labels of the bank's simulation. Needs playwright and /usr/bin/chromium.
"""

import socket
import sys
import tempfile
import threading
import time
from importlib.resources import as_file, files
from pathlib import Path

import httpx
import polars as pl
import uvicorn
from playwright.sync_api import sync_playwright

from unskew.campaigns import Campaign
from unskew.web.app import create_app
from unskew.web.limits import Limits
from unskew.web.planner import InProcess

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
BUDGET, ANSWERS, PACE = 300, 150, 0.15
QUICK = Limits(person_rate=1e6, person_burst=10**6)


def campaign(folder: Path) -> Path:
    """Create the campaign of the bank that comes with the package."""
    with as_file(files("unskew.campaigns.example")) as bank:
        Campaign.create(
            folder, log=bank / "log.csv", pool=bank / "pool.csv", label="repaid", propensity="granted_with",
            id="application", budget=BUDGET,
        ).close()  # fmt: skip
    return folder


def truth() -> dict[str, str]:
    """The simulation's label for every applicant."""
    with as_file(files("unskew.campaigns.example") / "truth.csv") as path:
        return dict(pl.read_csv(path).iter_rows())


def answer(address: str, token: str, known: dict[str, str], wanted: int, pace: float) -> None:
    """Act as an annotator who gives `wanted` answers and skips a row now and then."""
    given = 0
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        work = client.post("/api/ask", json={"n": 1}).json()
        while given < wanted and work["stand"] != "done":
            time.sleep(pace)
            if not work["rows"]:
                work = client.post("/api/ask", json={"n": 1}).json()
                continue
            id = work["rows"][0]["id"]
            label = None if given % 29 == 28 else known[id]
            work = client.post("/api/tell", json={"answers": [{"id": id, "label": label}], "ask": 1}).json()["work"]
            given += 1


def photograph(address: str, people: dict[str, str], admin: str, out: Path) -> None:
    """Photograph the pages, on a desktop and on a phone."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)

        def shoot(name: str, link: str, ready: str, *, full: bool = False, **how: object) -> None:
            context = browser.new_context(**{"viewport": {"width": 1100, "height": 720}, **how})
            page = context.new_page()
            page.goto(f"{address}/enter#{link}")
            page.wait_for_selector(ready)
            page.wait_for_timeout(400)
            page.screenshot(path=out / f"page-{name}.png", full_page=full)
            context.close()

        phone = {
            "viewport": {"width": 390, "height": 780},
            "device_scale_factor": 2,
            "has_touch": True,
            "is_mobile": True,
        }
        shoot("label", people["ada"], "#fields dd")
        shoot("phone", people["bob"], "#fields dd", **phone)
        shoot("progress", admin, "#chart svg", full=True)
        browser.close()


def main() -> None:
    """Serve the campaign, answer rows, take the screenshots."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img")
    folder = campaign(Path(tempfile.mkdtemp()) / "loans")
    with (
        Campaign.open(folder) as desk,
        socket.create_server(("127.0.0.1", 0)) as free,
    ):
        app = create_app(desk, InProcess(folder), name="Loans", admin="grace", limits=QUICK)
        people = {name: desk.invite(name) for name in ("ada", "bob", "chen")}
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [free]})
        serving.start()
        try:
            address, known = f"http://127.0.0.1:{free.getsockname()[1]}", truth()
            shares = zip(people.values(), (ANSWERS // 2, ANSWERS // 3, ANSWERS // 6), strict=True)
            work = [threading.Thread(target=answer, args=(address, token, known, n, PACE)) for token, n in shares]
            for thread in work:
                thread.start()
            for thread in work:
                thread.join()
            time.sleep(2)  # the last round closes
            photograph(address, people, app.state.access.admin_code(), out)
        finally:
            server.should_exit = True
            serving.join()


if __name__ == "__main__":
    main()
