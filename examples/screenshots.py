"""Make the screenshots of the page in docs/img: live a campaign of a simulated bank on it, and photograph each step.

    python examples/screenshots.py [FOLDER]

The campaign is started by upload. Three simulated annotators answer with the labels of the bank's simulation; one of
them is wrong now and then. Needs playwright and /usr/bin/chromium.
"""

import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright

from unskew.campaigns.example import LOG, POOL, truth
from unskew.web.access import Admins
from unskew.web.house import create_house
from unskew.web.limits import Limits

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP: dict[str, Any] = {"viewport": {"width": 1100, "height": 760}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True,
}  # fmt: skip
BUDGET, PACE = 300, 0.02
ANSWERS = {"ada": 75, "bob": 50, "chen": 25}
QUICK = Limits(person_rate=1e6, person_burst=10**6, address_rate=1e6, address_burst=10**6)
GUIDELINES = """Say **yes** if all instalments were paid within a year of the last one.

- A late payment is still a payment.
- If the case is open, skip it and leave a comment."""
OTHER = {"yes": "no", "no": "yes"}


def answer(link: str, wanted: int, *, wrong: int, pace: float) -> None:
    """Act as an annotator who gives `wanted` answers, skips a row now and then, and errs at every `wrong`-th."""
    address, _, token = link.partition("/enter#")
    known, given = truth(), 0
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        while given < wanted:
            time.sleep(pace)
            work = client.post("/api/ask", json={"n": 1}).json()
            if not work["rows"]:
                continue
            id = work["rows"][0]["id"]
            label = None if given % 29 == 28 else OTHER[known[id]] if given % wrong == wrong - 1 else known[id]
            client.post("/api/tell", json={"answers": [{"id": id, "label": label}]}).raise_for_status()
            if label is None:
                client.post("/api/comment", json={"id": id, "text": "The case is still open."}).raise_for_status()
            given += 1


class Photographer:
    """Opens links in windows of their own, and takes pictures."""

    def __init__(self, browser: Browser, out: Path) -> None:
        self.browser, self.out = browser, out

    def window(self, link: str, **how: Any) -> Page:
        page = self.browser.new_context(**{**DESKTOP, **how}).new_page()
        page.goto(link)
        return page

    def shoot(self, page: Page, name: str, ready: str, *, full: bool = False) -> None:
        page.wait_for_selector(ready, timeout=120_000)
        page.wait_for_timeout(500)
        page.screenshot(path=self.out / f"page-{name}.png", full_page=full)

    def shoot_part(self, page: Page, name: str, first: str, last: str) -> None:
        """A picture of the part of a page from one element to another, with a margin."""
        page.set_viewport_size({"width": 1100, "height": 1400})
        page.wait_for_timeout(500)
        top, bottom = page.locator(first).bounding_box(), page.locator(last).bounding_box()
        if top is None or bottom is None:
            raise LookupError(f"{first} or {last} cannot be seen")
        x, y, width = top["x"] - 8, top["y"] - 8, top["width"] + 16
        clip: Any = {"x": x, "y": y, "width": width, "height": bottom["y"] + bottom["height"] + 8 - y}
        page.screenshot(path=self.out / f"page-{name}.png", clip=clip)
        page.set_viewport_size(DESKTOP["viewport"])


def begin(camera: Photographer, page: Page) -> None:
    """Start the campaign by upload."""
    page.get_by_label("Name").fill("loans")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url("**/start/*", wait_until="networkidle")
    page.locator("#log-file").set_input_files(LOG)
    page.locator("#pool-file").set_input_files(POOL)
    expect(page.locator("#pool-files")).to_contain_text("pool.csv")
    camera.shoot(page, "start-tables", "#log-files li")
    page.get_by_role("button", name="Read the tables").click()
    camera.shoot(page, "start-columns", "#columns-title:visible", full=True)
    page.get_by_role("button", name="Continue").click()
    camera.shoot(page, "start-audit", "#audited:visible")
    page.get_by_role("button", name="Continue").click()
    page.locator("#budget").fill(str(BUDGET))
    page.locator("#overlap").fill("20")
    page.locator("#question").fill("Did the applicant repay within a year?")
    page.locator("#guidelines").fill(GUIDELINES)
    camera.shoot(page, "start-begin", "#begin-form:visible", full=True)
    page.get_by_role("button", name="Begin the campaign").click()
    page.wait_for_url("**/c/loans/progress", timeout=120_000)


def invite(page: Page, name: str) -> str:
    """A link for somebody, made on the progress page."""
    page.locator("#name").fill(name)
    page.get_by_role("button", name="Make a link").click()
    expect(page.locator("#invited-name")).to_have_text(name)
    return page.locator("#invited-link").input_value()


def live(camera: Photographer, link: str) -> None:
    """The whole campaign, with a picture of each page."""
    grace = camera.window(link)
    begin(camera, grace)
    links = {name: invite(grace, name) for name in ANSWERS}
    people = [
        threading.Thread(target=answer, args=(links[name], n), kwargs={"wrong": 1 + 7 * k, "pace": PACE})
        for k, (name, n) in enumerate(ANSWERS.items(), 1)
    ]
    for thread in people:
        thread.start()
    for thread in people:
        thread.join()
    answer(links["bob"], 4, wrong=1, pace=PACE)  # rows that others have seen come first, so there are conflicts
    camera.shoot(camera.window(links["ada"]), "label", "#fields dd")
    camera.shoot(camera.window(links["bob"], **PHONE), "phone", "#fields dd")
    for path, ready in (("conflicts", "li.conflict"), ("campaign", "#columns li"), ("history", "#answers li")):
        grace.goto(f"{grace.url.rpartition('/')[0]}/{path}")
        if path == "history":
            grace.locator("#answers summary").first.click()
        camera.shoot(grace, path, ready, full=path == "campaign")
    grace.goto(f"{grace.url.rpartition('/')[0]}/progress")
    results = {
        "Report": "Open the report",
        "Audit of the log": "Open the audit",
        "Model and ledger": "Download the model",
    }
    for what, made in results.items():
        grace.get_by_role("button", name=what).click()
        grace.wait_for_selector(f"text={made}", timeout=120_000)
    grace.locator("[data-what=predictions] input").set_input_files(POOL)
    grace.wait_for_selector("text=Download the predictions", timeout=120_000)
    grace.mouse.move(0, 0)
    camera.shoot(grace, "progress", "#chart svg", full=True)
    camera.shoot_part(grace, "results", "section.decide", "section:has(> #results)")
    grace.goto(grace.url.rpartition("/c/")[0])
    camera.shoot(grace, "campaigns", "ul.campaigns li")


def main() -> None:
    """Serve an empty folder, and live a campaign there."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img")
    folder = Path(tempfile.mkdtemp())
    admins = Admins("grace", str(folder))
    app = create_house(folder, admins=admins, limits=QUICK)
    with socket.create_server(("127.0.0.1", 0)) as free, sync_playwright() as play:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [free]})
        serving.start()
        try:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            live(Photographer(browser, out), f"http://127.0.0.1:{free.getsockname()[1]}/enter#{admins.code()}")
            browser.close()
        finally:
            server.should_exit = True
            serving.join()


if __name__ == "__main__":
    main()
