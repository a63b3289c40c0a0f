"""The JSON interface: what the page calls, and scripts with a bearer token."""

from math import ceil
from typing import Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from unskew.errors import InputError
from unskew.web.access import Access, Administrator, Labeller, Reader, SignedIn, own_page
from unskew.web.desk import Desk
from unskew.web.limits import Minutes
from unskew.web.models import (
    Ask,
    Code,
    Entered,
    Hand,
    Invitation,
    Link,
    Problem,
    Progress,
    Taken,
    Tell,
    Undo,
)
from unskew.web.overview import Overview
from unskew.web.paths import base
from unskew.web.turns import Turns

REFUSALS = {
    401: "Not signed in.",
    403: "Not allowed for this role, or sent by another site.",
    404: "There is no such annotator.",
    408: "The request was not complete in time.",
    409: "The answers contradict what the campaign knows. Nothing was changed.",
    413: "The request is too large.",
    422: "The request does not follow the schema.",
    429: "Too many requests. Retry-After says when to try again.",
    503: "The server is busy, or the ledger cannot be reached. Retry-After says when to send the same again, which is "
    "safe. `detail` says whether it is known that nothing was changed.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for its schema. Every route may refuse because of size, time, form, rate or store."""
    return {s: {"model": Problem, "description": REFUSALS[s]} for s in sorted({*statuses, 408, 413, 422, 429, 503})}


router = APIRouter(prefix="/api")


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


def turns(request: Request) -> Turns:
    """The queue in front of the campaign."""
    found: Turns = request.app.state.turns
    return found


MOST_A_MINUTE = {"comments": 20, "changes": 30}
"""The most comments, and answers corrected or taken back, of one person in a minute."""
LEAD = 10
"""The administrator may do so many times that."""


def pace(request: Request, person: SignedIn, what: str) -> None:
    """Refuse somebody who fills the ledger faster than a person can write."""
    minutes: dict[str, Minutes] = request.app.state.minutes
    most = MOST_A_MINUTE[what] * (LEAD if person.role == "admin" else 1)
    seconds = ceil(minutes[what].take(f"{person.role} {person.name}", most=most))
    if seconds:
        why = f"{most} {what} a minute are the most. Go on in {seconds} second{'s' if seconds > 1 else ''}."
        raise HTTPException(429, why, {"Retry-After": str(seconds)})


@router.post("/enter", responses=refusals(401, 403), dependencies=[Depends(own_page)], tags=["access"])
async def enter(given: Code, request: Request, response: Response) -> Entered:
    """Exchange the code of a link for a cookie. The administrator's code works only once.

    If somebody else is signed in in this browser, nothing happens without `switch`.
    """
    access: Access = request.app.state.access

    def entered() -> Entered:
        before, wanted = access.labeller(request), access.meant_for(given.code)
        if before is not None and wanted not in (None, before.name) and not given.switch:
            return Entered(name=str(wanted), page="/label", instead_of=before.name)
        person = access.enter(given.code)
        if person is None:
            raise HTTPException(401, access.why_not(given.code), {"WWW-Authenticate": "Bearer"})
        if person.role == "admin" and before is not None and before.role == "annotator":
            access.forget(response, "annotator")  # or the administrator would still label as them
        access.set_cookie(request, response, person)
        return Entered(name=person.name, page="/progress" if person.role == "admin" else "/label")

    return await turns(request).run(request, entered)


@router.post("/leave", responses=refusals(401, 403), status_code=204, tags=["access"])
async def leave(person: Reader, request: Request, response: Response) -> None:
    """Sign out in this browser. An administrator who opened somebody's link is themselves again."""
    access: Access = request.app.state.access
    access.leave(response, person)


@router.post("/ask", responses=refusals(401, 403), tags=["label"])
async def ask(wanted: Ask, person: Labeller, request: Request) -> Hand:
    """Rows to label: first those held already, then others up to `n`. For a while, nobody else gets them."""
    return await turns(request).run(request, _desk(request).ask, person.name, wanted.n)


@router.post("/tell", responses=refusals(401, 403, 409), tags=["label"])
async def tell(told: Tell, person: Labeller, request: Request) -> Taken:
    """Give answers to rows that you were given. All are taken or none. Sending the same ones again changes nothing."""
    return await turns(request).run(request, _desk(request).tell, person.name, told.answers, told.ask)


@router.post("/undo", responses=refusals(401, 403, 409), tags=["label"])
async def undo(which: Undo, person: Labeller, request: Request) -> Hand:
    """Take back your last answer. Its row then comes first among those held. Repeating this changes nothing."""
    pace(request, person, "changes")
    return await turns(request).run(request, _desk(request).undo, person.name, which.id, which.ask)


@router.get("/status", responses=refusals(401, 403), tags=["campaign"])
async def status(person: Administrator, request: Request) -> Progress:
    """Where the campaign stands: labels, error, people."""
    overview: Overview = request.app.state.overview
    return await turns(request).run(request, overview.progress)


@router.post("/annotators", responses=refusals(401, 403, 409), status_code=201, tags=["campaign"])
async def invite(whom: Invitation, person: Administrator, request: Request) -> Link:
    """Let somebody label. An earlier link of theirs stops working."""
    if whom.name == person.name:
        raise InputError(f"{whom.name!r} is you. Label on the page as it is, or choose another name.")
    token = await turns(request).run(request, _desk(request).campaign.invite, whom.name, "annotator")
    here = f"{request.url.scheme}://{request.url.netloc}{base(request)}"
    return Link(name=whom.name, link=f"{here}/enter#{token}", token=token)


@router.delete("/annotators/{name:path}", responses=refusals(401, 403, 404), status_code=204, tags=["campaign"])
async def revoke(name: str, person: Administrator, request: Request) -> None:
    """End somebody's access. Their answers stay."""
    if not await turns(request).run(request, _desk(request).revoke, name):
        raise HTTPException(404, f"nobody named {name!r} has a link. GET /api/status lists everybody who has one.")
