"""The pages themselves."""

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from unskew.campaigns.ledger.people import LONGEST_NAME, NAME_PATTERN, NAME_RULE
from unskew.campaigns.tables.labels import keys
from unskew.web.access import OPEN, Access, SignedIn
from unskew.web.desk import Desk
from unskew.web.forms import form
from unskew.web.markdown import rendered
from unskew.web.paths import base
from unskew.web.results import ENDINGS
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

SHORT, WORD, LONG = 4, 8, 14
"""Characters of a class that needs little room, of a word that fits everywhere, and of a class that needs much room."""

PLAIN = "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""What a page that brings its own style may do: nothing, no script runs."""

templates = Environment(loader=PackageLoader("unskew.web"), autoescape=select_autoescape())
templates.globals["form"] = form
templates.filters["breakable"] = lambda name: escape(name).replace("_", Markup("_<wbr>"))  # lines may end there
router = APIRouter(include_in_schema=False)


def render(request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page made of a template."""
    before = base(request)
    page = templates.get_template(name).render(base=before, static=f"{before}/static/{VERSION}", **values)
    return HTMLResponse(page, status)


def _campaign(request: Request, person: SignedIn, page: str) -> dict[str, Any]:
    """What every page of a campaign shows."""
    desk: Desk = request.app.state.desk
    access: Access = request.app.state.access
    settings, state = desk.campaign.settings, desk.campaign.state
    arranged = state.arrangement
    return {
        "person": person,
        "page": page,
        "admin": access.from_cookie(request, "admin"),
        "campaign": request.app.state.name,
        "key": access.cookies["annotator"],
        "budget": state.budget,
        "classes": settings.classes,
        "keys": _keys(settings.classes),
        "length": _length(settings.classes),
        "question": arranged.question or f"{humanise(settings.label)}?",
        "guidelines": rendered(arranged.guidelines) if arranged.guidelines else "",
        "explained": arranged.explained,
        "highlighted": list(arranged.highlighted),
        "endings": ",".join(ENDINGS),
        "naming": {"pattern": NAME_PATTERN, "longest": LONGEST_NAME, "rule": f"{NAME_RULE[0].upper()}{NAME_RULE[1:]}."},
    }


def _keys(classes: Sequence[str]) -> list[tuple[str, str]]:
    """Each class with its key, in the order of their buttons: of two classes, the positive one comes first."""
    found = list(zip(keys(classes), classes, strict=False))  # no keys at all where there are too many classes
    return found[::-1] if len(classes) == 2 else found


def _length(classes: Sequence[str]) -> str:
    """How much room the classes need beside each other.

    Little if all are short; much if a third of them are long, or have a word that would not fit into a narrow button.
    """
    lengths = sorted(map(len, classes))
    if lengths[-1] <= SHORT:
        return "short"
    words = max(len(word) for name in classes for word in re.split(r"[\s_-]", name))
    return "long" if lengths[2 * len(classes) // 3] > LONG or words > WORD else ""


async def _opened(request: Request, page: Callable[[Request, Access], Response | None]) -> Response | None:
    """The page, made when the request's turn comes. Somebody who shows no cookie gets none, and need not wait."""
    access: Access = request.app.state.access
    turns: Turns = request.app.state.turns
    return await turns.run(request, page, request, access) if access.shown(request) else None


@router.get("/")
async def home(request: Request) -> Response:
    """Redirect to the reader's own page."""

    def own(request: Request, access: Access) -> Response | None:
        person = access.labeller(request)
        if person is None:
            return _ended(request, access)
        return RedirectResponse(f"{base(request)}/{'progress' if person.role == 'admin' else 'label'}", 303)

    return await _opened(request, own) or RedirectResponse(f"{base(request)}/enter", 303)


@router.get("/enter")
async def enter(request: Request) -> Response:
    """The target of links. Its script exchanges the code behind the # for a cookie."""
    return render(request, "enter.html", title="One moment", text="Opening your link", opening=True)


@router.get("/label")
async def label(request: Request) -> Response:
    """The page to label on, one row at a time."""
    return await _own_page(request, "label", Access.labeller)


@router.get("/progress")
async def progress(request: Request) -> Response:
    """Where the campaign stands, and who may label."""
    return await _own_page(request, "progress")


@router.get("/history")
async def history(request: Request) -> Response:
    """Answers once given: one's own, and for the administrator all."""
    return await _own_page(request, "history", Access.labeller)


@router.get("/conflicts")
async def conflicts(request: Request) -> Response:
    """Rows on which people differ."""
    return await _own_page(request, "conflicts")


@router.get("/campaign")
async def campaign(request: Request) -> Response:
    """What may change about the campaign: question, guidelines, columns, words."""
    return await _own_page(request, "campaign")


def _administrator(access: Access, request: Request) -> SignedIn | None:
    return access.from_cookie(request, "admin")


async def _own_page(
    request: Request, page: str, who: Callable[[Access, Request], SignedIn | None] = _administrator
) -> Response:
    """A page for whoever `who` finds behind the request, by default the administrator alone.

    An administrator who acted as somebody else and opens a page of their own is themselves from then on, everywhere.
    """

    def own(request: Request, access: Access) -> Response | None:
        person = who(access, request)
        if person is None:
            return _ended(request, access)
        made = render(request, f"{page}.html", **_campaign(request, person, page))
        if person != access.labeller(request):
            access.forget(made, "annotator")
        return made

    return await _opened(request, own) or _closed(request)


@router.get("/static/{version}/{name}")
async def static(request: Request, version: str, name: str) -> Response:
    """Style sheet, scripts and icon."""
    if version != VERSION or name not in STATIC:
        return missing(request)
    kept = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(STATIC[name], media_type=TYPES[Path(name).suffix], headers=kept)


def _closed(request: Request) -> HTMLResponse:
    text = "You need a personal link to open this page. Ask the person who runs the campaign for one."
    return render(request, "enter.html", status=401, title="Open your link", text=text)


def _ended(request: Request, access: Access) -> HTMLResponse | None:
    """The page for somebody whose cookie opens nothing, or not this page; None if there is nothing to tell them."""
    if access.labeller(request):
        text = "Only the person who runs the campaign can open this page."
        return render(
            request, "enter.html", status=401, title="For the administrator", text=text, home="Go to your page"
        )
    why = access.signed_out(request)
    return None if why == OPEN else render(request, "enter.html", status=401, title="You are signed out", text=why)


def missing(request: Request, status: int = 404) -> HTMLResponse:
    """The page for an address at which there is none."""
    text = "There is no page at this address."
    return render(request, "enter.html", status=status, title="Nothing here", text=text, home="Go to the first page")


def stopped(request: Request, again: str, detail: str) -> HTMLResponse:
    """The page in place of all others until somebody has repaired something. The browser tries again by itself."""
    text = f"{detail[0].upper()}{detail[1:]}"
    page = render(request, "enter.html", status=503, title="Answers cannot be taken", text=text)
    page.headers.update({"Retry-After": again, "Refresh": again})
    return page


def busy(request: Request, again: str) -> HTMLResponse:
    """The page in place of one that would have had to wait too long. The browser tries again by itself."""
    page = render(
        request, "enter.html", status=503, title="One moment", text="The server is busy. This page tries again soon."
    )
    page.headers.update({"Retry-After": again, "Refresh": again})
    return page
