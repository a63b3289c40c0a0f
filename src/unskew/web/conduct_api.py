"""The part of the JSON interface that is about answers once given, conflicts, guidelines and people."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from unskew.web.access import Access, Administrator, Labeller
from unskew.web.api import pace, refusals, turns
from unskew.web.conduct_models import (
    AdminLink,
    Answers,
    Arranged,
    Changes,
    CommentShown,
    Conflicts,
    Corrected,
    Correction,
    NewComment,
    Person,
    Wanted,
)
from unskew.web.office import Office
from unskew.web.paths import base

router = APIRouter(prefix="/api")


def _office(request: Request) -> Office:
    office: Office = request.app.state.office
    return office


@router.get("/answers", responses=refusals(401, 403, 409), tags=["answers"])
async def answers(wanted: Annotated[Wanted, Query()], person: Labeller, request: Request) -> Answers:
    """Answers once given, latest first: your own, or for the administrator all."""
    return await turns(request).run(request, _office(request).answers, wanted, person)


@router.post("/correct", responses=refusals(401, 403, 409), tags=["answers"])
async def correct(wanted: Correction, person: Labeller, request: Request) -> Corrected:
    """Change your own answer. The administrator may change anybody's, with a reason, and settles conflicts so."""
    pace(request, person, "changes")
    return await turns(request).run(request, _office(request).correct, wanted, person)


@router.post("/comment", responses=refusals(401, 403, 409), status_code=201, tags=["answers"])
async def comment(given: NewComment, person: Labeller, request: Request) -> CommentShown:
    """Write something about a row that you were given. With a `key`, sending the same again keeps it once."""
    pace(request, person, "comments")
    return await turns(request).run(request, _office(request).comment, given.id, given.text, given.key, person)


@router.get("/conflicts", responses=refusals(401, 403), tags=["answers"])
async def conflicts(person: Administrator, request: Request) -> Conflicts:
    """The rows on which people differ, with what each said."""
    return await turns(request).run(request, _office(request).conflicts)


@router.get("/campaign", responses=refusals(401, 403), tags=["campaign"])
async def campaign(person: Administrator, request: Request) -> Arranged:
    """What may change about the campaign: budget, question, guidelines, columns."""
    return await turns(request).run(request, _office(request).arranged)


@router.patch("/campaign", responses=refusals(401, 403, 409), tags=["campaign"])
async def arrange(changes: Changes, person: Administrator, request: Request) -> Arranged:
    """Change the campaign: all that was given, or nothing."""
    return await turns(request).run(request, _office(request).arrange, changes, person)


@router.post("/pause", responses=refusals(401, 403, 409), status_code=204, tags=["campaign"])
async def pause(whom: Person, person: Administrator, request: Request) -> None:
    """Give somebody no more rows for now. Those they hold go to others."""
    await turns(request).run(request, lambda: _office(request).campaign.pause(whom.name, by=person.name))


@router.post("/resume", responses=refusals(401, 403, 409), status_code=204, tags=["campaign"])
async def resume(whom: Person, person: Administrator, request: Request) -> None:
    """Give somebody rows again, who was paused or skipped too many."""
    await turns(request).run(request, lambda: _office(request).campaign.resume(whom.name, by=person.name))


@router.post("/admin-link", responses=refusals(401, 403), status_code=201, tags=["access"])
async def admin_link(person: Administrator, request: Request) -> AdminLink:
    """One more link for the administrator, for another browser. It works once."""
    access: Access = request.app.state.access
    address = f"{request.url.scheme}://{request.url.netloc}{base(request)}"
    return AdminLink(link=f"{address}/enter#{access.admins.code()}")
