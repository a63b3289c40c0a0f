"""The pages themselves."""

import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, select_autoescape

from unskew.campaigns.ledger.people import LONGEST_NAME, NAME_PATTERN, NAME_RULE
from unskew.campaigns.tables.labels import keys
from unskew.web.access import Access, SignedIn
from unskew.web.desk import Desk
from unskew.web.show import humanise
from unskew.web.turns import Turns

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
STATIC = {
    path.name: path.read_bytes()
    for path in map(Path, map(str, files("unskew.web").joinpath("static").iterdir()))
    if path.suffix in TYPES
}
VERSION = hashlib.sha256(b"".join(STATIC[name] for name in sorted(STATIC))).hexdigest()[:12]
"""Part of the addresses of style sheet and scripts, so that browsers keep them until they change."""

SHORT, LONG = 4, 14
"""Characters of a class that needs little room, and of one that needs much."""

templates = Environment(loader=PackageLoader("unskew.web"), autoescape=select_autoescape())
router = APIRouter(include_in_schema=False)


def _render(name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    page = templates.get_template(name).render(static=f"/static/{VERSION}", **values)
    return HTMLResponse(page, status)


def _campaign(request: Request, person: SignedIn, page: str) -> dict[str, Any]:
    """What every page of a campaign shows."""
    desk: Desk = request.app.state.desk
    access: Access = request.app.state.access
    settings = desk.campaign.settings
    return {
        "person": person,
        "page": page,
        "admin": access.from_cookie(request, "admin"),
        "campaign": request.app.state.name,
        "key": access.cookies["annotator"],
        "budget": settings.budget,
        "classes": settings.classes,
        "keys": keys(settings.classes),
        "length": _length(settings.classes),
        "question": f"{humanise(settings.label)}?",
        "naming": {"pattern": NAME_PATTERN, "longest": LONGEST_NAME, "rule": f"{NAME_RULE[0].upper()}{NAME_RULE[1:]}."},
    }


def _length(classes: Sequence[str]) -> str:
    """How much room the classes need beside each other: little if all are short, much if a third of them are long."""
    lengths = sorted(map(len, classes))
    return "short" if lengths[-1] <= SHORT else "long" if lengths[2 * len(classes) // 3] > LONG else ""


async def _opened(request: Request, page: Callable[[Request, Access], Response | None]) -> Response | None:
    """The page, made when the request's turn comes. Somebody who shows no cookie gets none, and need not wait."""
    access: Access = request.app.state.access
    turns: Turns = request.app.state.turns
    return await turns.run(request, page, request, access) if access.shown(request) else None


@router.get("/")
async def home(request: Request) -> Response:
    """Redirect to the reader's own page."""

    def own(request: Request, access: Access) -> Response | None:
        if access.from_cookie(request, "admin"):
            return RedirectResponse("/progress", 303)
        return RedirectResponse("/label", 303) if access.labeller(request) else None

    return await _opened(request, own) or RedirectResponse("/enter", 303)


@router.get("/enter")
async def enter() -> Response:
    """The target of links. Its script exchanges the code behind the # for a cookie."""
    return _render("enter.html", title="One moment", text="Opening your link", opening=True)


@router.get("/label")
async def label(request: Request) -> Response:
    """The page to label on, one row at a time."""

    def own(request: Request, access: Access) -> Response | None:
        person = access.labeller(request)
        return _render("label.html", **_campaign(request, person, "label")) if person else None

    return await _opened(request, own) or _closed()


@router.get("/progress")
async def progress(request: Request) -> Response:
    """Where the campaign stands, and who may label."""

    def own(request: Request, access: Access) -> Response | None:
        person = access.from_cookie(request, "admin")
        return _render("progress.html", **_campaign(request, person, "progress")) if person else None

    return await _opened(request, own) or _closed()


@router.get("/static/{version}/{name}")
async def static(version: str, name: str) -> Response:
    """Style sheet, scripts and icon."""
    if version != VERSION or name not in STATIC:
        return _render("enter.html", status=404, title="Nothing here", text="There is no such file.")
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(STATIC[name], media_type=TYPES[Path(name).suffix], headers=kept)


def _closed() -> HTMLResponse:
    text = "You need a personal link to open this page. Ask the person who runs the campaign for one."
    return _render("enter.html", status=401, title="Open your link", text=text)


def busy(again: str) -> HTMLResponse:
    """The page in place of one that would have had to wait too long. The browser tries again by itself."""
    page = _render("enter.html", status=503, title="One moment", text="The server is busy. This page tries again soon.")
    page.headers.update({"Retry-After": again, "Refresh": again})
    return page
