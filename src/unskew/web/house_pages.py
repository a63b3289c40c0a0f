"""The pages of the administrator of several campaigns: the list of them, and the start of a new one."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from unskew.campaigns.start_options import KINDS
from unskew.estimation.sentences import amount
from unskew.web.access import Access, SignedIn
from unskew.web.drafts import ENDINGS, Drafts
from unskew.web.pages import PLAIN, render, static
from unskew.web.rooms import Rooms
from unskew.web.uploads import LARGEST

router = APIRouter(include_in_schema=False)
router.add_api_route("/static/{version}/{name}", static, methods=["GET"])


def _admin(request: Request) -> SignedIn | None:
    access: Access = request.app.state.access
    return access.from_cookie(request, "admin")


def _closed(request: Request) -> HTMLResponse:
    text = (
        "You need a personal link to open this page. If you run this server, open the link that it printed when it "
        "started. If you label for a campaign, open the link that you were given."
    )
    return render(request, "enter.html", status=401, title="Open your link", text=text)


@router.get("/enter")
async def enter(request: Request) -> Response:
    """The target of the administrator's link. Its script exchanges the code behind the # for a cookie."""
    return render(request, "enter.html", title="One moment", text="Opening your link", opening=True)


@router.get("/")
async def campaigns(request: Request) -> Response:
    """The list of campaigns, as they stand now."""
    person = _admin(request)
    if person is None:
        return _closed(request)
    rooms: Rooms = request.app.state.rooms
    drafts: Drafts = request.app.state.drafts
    found = await rooms.stands(request)
    return render(
        request, "house.html", person=person, page="campaigns", folder=rooms.folder, campaigns=found,
        drafts=drafts.all(), amount=amount,
    )  # fmt: skip


@router.get("/start/{id}")
async def start(request: Request, id: str) -> Response:
    """The steps from two tables to a campaign."""
    person = _admin(request)
    if person is None:
        return _closed(request)
    drafts: Drafts = request.app.state.drafts
    draft = drafts.find(id)
    if draft is None:
        return RedirectResponse("/", 303)
    return render(
        request, "start.html", person=person, draft=draft, largest=LARGEST, endings=",".join(ENDINGS), kinds=KINDS
    )  # fmt: skip


@router.get("/start/{id}/audit")
async def audit(request: Request, id: str) -> Response:
    """The audit of a draft's log."""
    if _admin(request) is None:
        return _closed(request)
    drafts: Drafts = request.app.state.drafts
    draft = drafts.find(id)
    page: Any = None if draft is None else draft.audit
    if page is None:
        text = "The audit is not there yet, or no longer."
        return render(request, "enter.html", status=404, title="Nothing here", text=text)
    return HTMLResponse(page, headers={"Content-Security-Policy": PLAIN})
