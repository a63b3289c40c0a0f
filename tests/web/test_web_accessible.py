"""Every page and state of it, in light and dark, on a phone, a tablet and a screen: what axe finds, and what moves.

To add a state, append its name and the function that leads there to a part of `STATES`.
"""

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from fastapi import FastAPI
from playwright.sync_api import Browser, Route, expect
from playwright.sync_api import Page as Tab
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Request

from axe import SHIFTS, cut, forget_shifts, violations
from unskew.campaigns import Campaign
from unskew.web import turns
from web_page import Page, application, listening, occupied, press, row, wait_for
from web_scene import Scene, Servers

SIZES = {375: 667, 768: 1024, 1280: 800}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MOST_SHIFT = 0.02
Reach = Callable[[Scene], Tab]


def answers(content: object) -> Callable[[Route], None]:
    """Answers so, in place of the server."""
    return lambda route: route.fulfill(content_type="application/json", body=json.dumps(content))


def _work(stand: str) -> Callable[[Route], None]:
    """Answers that there is no row, for this reason, and so late that the page was seen without an answer before."""
    left = {"budget": 0 if stand == "done" else 5, "total": 150, "round": 0, "mine": 3}
    answer = answers({"stand": stand, "rows": [], "left": left, "last": None})

    def late(route: Route) -> None:
        time.sleep(0.2)
        answer(route)

    return late


def labelling(campaign: str) -> Reach:
    def reach(scene: Scene) -> Tab:
        tab = scene.labelling(campaign)
        row(tab)
        return tab

    return reach


def without_rows(stand: str, title: str) -> Reach:
    def reach(scene: Scene) -> Tab:
        tab = scene.signed_in("loans", "somebody who waits", "/label", {"/api/ask": _work(stand)})
        expect(tab.locator("#message-title")).to_have_text(title)
        return tab

    return reach


def offline(scene: Scene) -> Tab:
    tab = scene.labelling(routes={"/api/tell": lambda route: route.abort()})
    row(tab)
    press(tab, "1")
    expect(tab.get_by_role("alert")).to_contain_text("No connection")
    return tab


def refused(scene: Scene) -> Tab:
    said = json.dumps(
        {"detail": f"row {'A3-0001'!r} already has your other answer, 'yes'. To change it, open History."}
    )
    answer: Callable[[Route], None] = lambda route: route.fulfill(status=409, body=said)  # noqa: E731
    tab = scene.labelling(routes={"/api/tell": answer})
    row(tab)
    press(tab, "1")
    expect(tab.get_by_role("alert")).to_contain_text("not accepted")
    return tab


def revoked(scene: Scene) -> Tab:
    page = scene.pages["loans"]
    tab = scene.labelling()
    row(tab)
    page.campaign.revoke(str(tab.locator("#label").get_attribute("data-person")))
    press(tab, "s")
    expect(tab.locator("#message-title")).to_have_text("Signed out")
    return tab


def revoked_later(scene: Scene) -> Tab:
    tab = revoked(scene)
    tab.reload()
    expect(tab.locator("h1")).to_have_text("You are signed out")
    return tab


def used_link(scene: Scene) -> Tab:
    page = scene.pages["loans"]
    link = page.link()
    with httpx.Client(base_url=page.address) as client:
        client.post("/api/enter", json={"code": link.partition("#")[2]}).raise_for_status()
    tab = scene.tab(f"/enter#{link.partition('#')[2]}")
    expect(tab.locator("h1")).to_have_text("This link does not work")
    expect(tab.locator("#text")).to_contain_text("This link was used already")
    return tab


def restarted(scene: Scene) -> Tab:
    """The administrator's session ended with the server. The page of it is still open."""
    page = scene.pages["loans"]
    admins = page.app.state.access.admins
    tab = scene.context().new_page()
    tab.goto(page.link())
    tab.wait_for_url("**/progress")
    expect(tab.locator("#fresh")).to_have_text("Live")
    (session,) = (one["value"] for one in tab.context.cookies() if one.get("name") == admins.cookie)
    admins.leave(str(session))
    expect(tab.locator("#fresh")).to_contain_text("Your session ended when the server was restarted")
    return tab


def restarted_later(scene: Scene) -> Tab:
    tab = restarted(scene)
    tab.reload()
    expect(tab.locator("h1")).to_have_text("You are signed out")
    expect(tab.locator("#text")).to_contain_text("It printed a new link for you")
    return tab


def acting(scene: Scene) -> Tab:
    page = scene.pages["loans"]
    tab = scene.context().new_page()
    tab.goto(page.link())
    tab.wait_for_url("**/progress")
    tab.goto(page.link("somebody with a rather long name"))
    tab.get_by_role("button", name=re.compile("^Go on as ")).click()
    tab.wait_for_url("**/label")
    row(tab)
    expect(tab.get_by_role("button", name="Back to being grace")).to_be_visible()
    return tab


def progress(campaign: str) -> Reach:
    def reach(scene: Scene) -> Tab:
        tab = scene.administrator(campaign)
        expect(tab.locator("#fresh")).to_have_text("Live")
        return tab

    return reach


def invited(scene: Scene) -> Tab:
    tab = progress("spent")(scene)
    name = scene.somebody()
    tab.get_by_label("Invite someone to label").fill(name)
    tab.get_by_role("button", name="Make a link").click()
    expect(tab.locator("#invited")).to_be_visible()
    expect(tab.get_by_role("button", name=f"Revoke the link of {name}", exact=True)).to_be_visible()
    forget_shifts(tab)  # whoever asks for a line more expects one
    return tab


def bad_link(scene: Scene) -> Tab:
    tab = scene.tab("/enter#nobody-ever-made-this")
    expect(tab.locator("h1")).to_have_text("This link does not work")
    return tab


def switch(scene: Scene) -> Tab:
    tab = scene.labelling()
    tab.goto(scene.pages["loans"].link(scene.somebody()))
    expect(tab.locator("h1")).to_have_text(re.compile("^Go on as "))
    return tab


def signed_out(scene: Scene) -> Tab:
    tab = scene.tab("/enter")
    expect(tab.locator("h1")).to_have_text("Open your link")
    return tab


def busy(scene: Scene) -> Tab:
    tab = scene.labelling()
    row(tab)
    with occupied(scene.pages["loans"]), pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "QUEUE", 0.2)
        patch.setattr(turns, "AGAIN", (60,))  # the page tries again no sooner
        tab.goto(f"{scene.pages['loans'].address}/label")
    expect(tab.locator("#text")).to_contain_text("The server is busy")
    return tab


def guided(scene: Scene) -> Tab:
    tab = scene.labelling("guided")
    row(tab)
    expect(tab.locator("#guide summary")).to_be_visible()
    assert tab.evaluate("shifted") < MOST_SHIFT, "before anything is opened"
    tab.locator("#note summary").click()
    expect(tab.get_by_label("Comment on this row")).to_be_focused()
    if not tab.locator("#guide").evaluate("node => node.open"):
        tab.locator("#guide summary").click()
    expect(tab.get_by_text("A part of it is still owed.")).to_be_visible()
    forget_shifts(tab)  # what is opened takes room
    return tab


def _open(tab: Tab, what: str) -> None:
    """Open the first answer on the page in which these words stand."""
    assert tab.evaluate("shifted") < MOST_SHIFT, "before an answer is opened"
    line = tab.locator("#answers details").filter(has_text=what).first
    line.locator("summary").click()
    expect(line.get_by_label("Change the answer to")).to_be_visible()
    forget_shifts(tab)


def own_history(scene: Scene) -> Tab:
    tab = scene.signed_in("guided", "ada", "/history")
    expect(tab.locator("#found")).to_have_text("14 answers")
    _open(tab, "1 comment")
    return tab


def no_history(scene: Scene) -> Tab:
    tab = scene.signed_in("guided", "somebody new", "/history")
    expect(tab.locator("#nothing")).to_be_visible()
    return tab


def whole_history(scene: Scene) -> Tab:
    planner = scene.pages["guided"].app.state.office.planner
    wait_for(lambda: any(doubt >= 0.5 for doubt in planner.outlook.doubts.values()), "the model doubts a label")
    tab = scene.administrator("guided", "/history")
    expect(tab.locator("#answers")).to_contain_text("% likely wrong")
    _open(tab, "people differ")
    return tab


def conflicts(campaign: str, found: str) -> Reach:
    def reach(scene: Scene) -> Tab:
        tab = scene.administrator(campaign, "/conflicts")
        expect(tab.locator("#found")).to_contain_text(found)
        return tab

    return reach


def arranged(scene: Scene) -> Tab:
    tab = scene.administrator("guided", "/campaign")
    expect(tab.get_by_label("Question")).to_have_value("Will the applicant pay the loan back?")
    return tab


def results(scene: Scene) -> Tab:
    one = {"what": "report", "state": "done", "done": 1, "total": 1, "problem": "", "files": ["report.html"]}
    made = [
        one,
        one | {"what": "audit", "state": "running", "done": 3, "total": 10, "files": []},
        one | {"what": "export", "files": ["model.zip", "ledger.parquet"]},
        one | {"what": "predictions", "state": "failed", "problem": "the file has no column 'debt'.", "files": []},
    ]
    tab = scene.administrator("guided", routes={"/api/results": answers(made)})
    expect(tab.get_by_role("link", name="Open the report")).to_be_visible()
    expect(tab.get_by_role("button", name="Resume bob")).to_be_visible()
    expect(tab.locator("#two-words")).to_contain_text("Two people gave the same label")
    return tab


STATES: dict[str, list[tuple[str, Reach]]] = {
    "labelling": [
        ("label, two classes", labelling("loans")),
        ("label, seven classes", labelling("seven")),
        ("label, forty classes", labelling("forty")),
        ("label, long names", labelling("long")),
        ("label, guidelines and comment", guided),
    ],
    "waiting": [
        ("label, waiting", without_rows("choosing", "Choosing the next rows")),
        ("label, others", without_rows("others", "Almost done")),
        ("label, done", without_rows("done", "Thank you")),
        ("label, ended", without_rows("ended", "Thank you")),
        ("label, paused", without_rows("paused", "You are paused")),
        ("label, skips", without_rows("skips", "No more rows for now")),
        ("label, offline", offline),
        ("label, refused", refused),
        ("label, revoked", revoked),
    ],
    "progress": [
        ("progress, empty", progress("fresh")),
        ("progress, estimates and people", progress("spent")),
        ("progress, seven classes", progress("seven")),
        ("progress, a link was made", invited),
        ("progress, agreement, a pause, a result", results),
        ("progress, ended", progress("ended")),
    ],
    "conduct": [
        ("history, own", own_history),
        ("history, nothing found", no_history),
        ("history, everybody", whole_history),
        ("conflicts, none", conflicts("fresh", "0 conflicts")),
        ("conflicts", conflicts("guided", "2 conflicts")),
        ("campaign", arranged),
    ],
    "entering": [
        ("sign in", signed_out),
        ("bad link", bad_link),
        ("another person's link", switch),
        ("revoked, opened again", revoked_later),
        ("a link that was used", used_link),
        ("the server was restarted", restarted),
        ("the server was restarted, opened again", restarted_later),
        ("as somebody else", acting),
        ("no such page", lambda scene: scene.tab("/foo")),
        ("busy", busy),
    ],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The servers of all campaigns that the states need."""
    with contextlib.ExitStack() as stack:
        yield Servers(tmp_path_factory.mktemp("servers"), stack)


@pytest.mark.parametrize("part", STATES)
@pytest.mark.parametrize("width", SIZES)
def test_every_state_of_every_page(pages: Servers, browser: Browser, width: int, part: str) -> None:
    how = {"viewport": {"width": width, "height": SIZES[width]}, "reduced_motion": "reduce"}
    found: dict[str, list[str]] = {}
    with contextlib.ExitStack() as stack:
        scene = Scene(pages, browser, how, stack)
        for name, reach in STATES[part]:
            with contextlib.closing(reach(scene)) as tab:
                problems = _problems(tab)
            if problems:
                found[name] = problems
    assert found == {}


def _problems(tab: Tab) -> list[str]:
    shift = tab.evaluate("shifted")
    found = [f"layout shift {shift:.3f}"] if shift >= MOST_SHIFT else []
    wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    found += [f"the page is {wide} pixels too wide"] if wide > 0 else []
    found += [f"the button {text!r} is cut" for text in cut(tab)]
    for theme in THEMES:
        tab.emulate_media(color_scheme=theme)
        found += [f"{theme}: {problem}" for problem in violations(tab)]
    return found


def _in_pieces(app: FastAPI) -> FastAPI:
    """The same, over a connection so slow that a page comes in pieces."""

    async def call(scope: Request, receive: Receive, send: Send) -> None:
        async def slowly(message: Message) -> None:
            body = message.get("body", b"")
            if b"</html>" in body:
                for piece in (body[at : at + 500] for at in range(0, len(body), 500)):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    await asyncio.sleep(0.1)
                message = message | {"body": b""}
            await send(message)

        await app(scope, receive, slowly)

    return call  # type: ignore[return-value]


def test_a_page_that_comes_in_pieces_is_shown_whole(folder: Path, browser: Browser) -> None:
    with (
        application(folder) as app, listening(_in_pieces(app)) as address, Campaign.open(folder) as campaign,
        contextlib.closing(browser.new_context()) as context,
    ):  # fmt: skip
        context.add_init_script(SHIFTS)
        tab = context.new_page()
        tab.goto(Page(address, app, campaign).link("somebody far away"))
        tab.wait_for_url("**/label")
        row(tab)
        assert tab.evaluate("shifted") < MOST_SHIFT / 10
