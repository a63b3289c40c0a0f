"""The JSON interface of a house of campaigns: the list, and the way from two tables to a new campaign.

Only the administrator may use it. Paths that the administrator names are read with the rights of the server.
"""

from pathlib import Path

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from unskew.web.access import Access, Administrator, own_page
from unskew.web.api import refusals
from unskew.web.drafts import Draft, Drafts, Role, Upload
from unskew.web.models import Code
from unskew.web.rooms import Rooms, address
from unskew.web.start_models import Beginning, CampaignStand, Choices, DraftShown, HouseEntered, NewDraft, Paths
from unskew.web.uploads import received

router = APIRouter(prefix="/api")


def _drafts(request: Request) -> Drafts:
    drafts: Drafts = request.app.state.drafts
    return drafts


def _draft(request: Request, id: str) -> Draft:
    found = _drafts(request).find(id)
    if found is None:
        raise HTTPException(404, "this draft is no longer there. Start again from the list of campaigns.")
    return found


def _shown(draft: Draft) -> DraftShown:
    return draft.shown(address(draft.name))


@router.post("/enter", responses=refusals(401, 403), dependencies=[Depends(own_page)], tags=["access"])
async def enter(given: Code, request: Request, response: Response) -> HouseEntered:
    """Exchange the code of the administrator's link for a cookie. It works only once, for all campaigns."""
    access: Access = request.app.state.access
    person = access.enter(given.code)
    if person is None:
        why = "It was used already, or it is not whole. The server prints a new one when it is started again."
        raise HTTPException(401, why, {"WWW-Authenticate": "Bearer"})
    access.set_cookie(request, response, person)
    return HouseEntered(name=person.name)


@router.post("/leave", responses=refusals(401, 403), status_code=204, tags=["access"])
async def leave(person: Administrator, request: Request, response: Response) -> None:
    """Sign the administrator out in this browser."""
    access: Access = request.app.state.access
    access.leave(response, person)


@router.get("/campaigns", responses=refusals(401, 403), tags=["campaigns"])
async def campaigns(person: Administrator, request: Request) -> list[CampaignStand]:
    """All campaigns in the folder, and where they stand."""
    rooms: Rooms = request.app.state.rooms
    return await rooms.stands(request)


@router.post("/drafts", responses=refusals(401, 403, 409), status_code=201, tags=["start"])
async def new(wanted: NewDraft, person: Administrator, request: Request) -> DraftShown:
    """Prepare a campaign."""
    return _shown(_drafts(request).new(wanted.name))


@router.get("/drafts/{id}", responses=refusals(401, 403, 404), tags=["start"])
async def draft(id: str, person: Administrator, request: Request) -> DraftShown:
    """A campaign that is being prepared: its tables, its columns, and the work on it."""
    return _shown(_draft(request, id))


@router.delete("/drafts/{id}", responses=refusals(401, 403, 404), status_code=204, tags=["start"])
async def discard(id: str, person: Administrator, request: Request) -> None:
    """Discard it, with the files that were uploaded."""
    await run_in_threadpool(_drafts(request).discard, _draft(request, id).id)


@router.put("/drafts/{id}/files/{role}", responses=refusals(401, 403, 404, 409), status_code=201, tags=["start"])
async def upload(
    id: str, role: Role, person: Administrator, request: Request, name: str = Query(min_length=1, max_length=300)
) -> DraftShown:
    """Upload a file of the log or the pool: its bytes are the body. Until all have come, there is no such file."""
    draft = _draft(request, id)
    path = draft.place(role, Path(name.replace("\\", "/")).name)
    found = await received(request, path, draft.check_idle)
    draft.add(role, Upload(Path(name).name, path, found))
    return _shown(draft)


@router.delete("/drafts/{id}/files/{role}", responses=refusals(401, 403, 404, 409), tags=["start"])
async def remove(id: str, role: Role, person: Administrator, request: Request, name: str = Query()) -> DraftShown:
    """Remove an uploaded file."""
    draft = _draft(request, id)
    if not draft.remove(role, name):
        raise HTTPException(404, f"no file {name!r:.80} was uploaded.")
    return _shown(draft)


@router.put("/drafts/{id}/paths", responses=refusals(401, 403, 404, 409), tags=["start"])
async def paths(given: Paths, id: str, person: Administrator, request: Request) -> DraftShown:
    """Name the campaign, and tables on the server."""
    draft = _draft(request, id)
    draft.rename(given.name)
    draft.set_paths(given.log, given.pool)
    return _shown(draft)


@router.post("/drafts/{id}/understand", responses=refusals(401, 403, 404, 409), status_code=202, tags=["start"])
async def understand(choices: Choices, id: str, person: Administrator, request: Request) -> DraftShown:
    """Begin to read the tables with these choices. GET the draft to see how far that is, and what was understood."""
    draft = _draft(request, id)
    await run_in_threadpool(draft.understand, choices)
    return _shown(draft)


@router.post("/drafts/{id}/audit", responses=refusals(401, 403, 404, 409), status_code=202, tags=["start"])
async def audit(id: str, person: Administrator, request: Request) -> DraftShown:
    """Begin the audit of the log. Once `audited`, it is the page /start/{id}/audit."""
    draft = _draft(request, id)
    await run_in_threadpool(draft.examine)
    return _shown(draft)


@router.post("/drafts/{id}/begin", responses=refusals(401, 403, 404, 409), status_code=202, tags=["start"])
async def begin(how: Beginning, id: str, person: Administrator, request: Request) -> DraftShown:
    """Begin the campaign. Once that is done, `begun` is the path of its pages."""
    draft = _draft(request, id)
    await run_in_threadpool(draft.begin, how, person.name)
    return _shown(draft)


@router.delete("/drafts/{id}/job", responses=refusals(401, 403, 404), tags=["start"])
async def cancel(id: str, person: Administrator, request: Request) -> DraftShown:
    """End the work on a draft."""
    draft = _draft(request, id)
    await run_in_threadpool(draft.cancel)
    return _shown(draft)
