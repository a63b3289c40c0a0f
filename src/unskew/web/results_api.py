"""The part of the JSON interface that makes results: report, audit, model and ledger, predictions of a file."""

from pathlib import Path
from typing import Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response

from unskew.web.access import Access, Administrator
from unskew.web.api import refusals
from unskew.web.pages import PLAIN, missing
from unskew.web.results import KINDS, Result, Results, What
from unskew.web.uploads import received

router = APIRouter()


def _results(request: Request) -> Results:
    found: Results = request.app.state.results
    return found


@router.get("/api/results", responses=refusals(401, 403), tags=["results"])
async def results(person: Administrator, request: Request) -> list[Result]:
    """The results that were asked for, and how far they are."""
    return _results(request).all()


@router.post("/api/results/{what}", responses=refusals(401, 403, 409), status_code=202, tags=["results"])
async def begin(what: Literal["report", "audit", "export"], person: Administrator, request: Request) -> Result:
    """Begin to make a result. GET /api/results says when it is there."""
    return _results(request).begin(what)


@router.put("/api/predictions", responses=refusals(401, 403, 409), status_code=202, tags=["results"])
async def predict(person: Administrator, request: Request, name: str = Query(min_length=1, max_length=300)) -> Result:
    """Upload a file of rows, its bytes as the body, and begin to predict their classes."""
    path = await _uploaded(request, "predictions", name)
    return _results(request).begin("predictions", path)


@router.put("/api/extension", responses=refusals(401, 403, 409), status_code=202, tags=["results"])
async def extend(person: Administrator, request: Request, name: str = Query(min_length=1, max_length=300)) -> Result:
    """Upload a file of further rows, its bytes as the body, and begin to add them to the pool."""
    path = await _uploaded(request, "extension", name)
    return _results(request).begin("extension", path, person.name)


async def _uploaded(request: Request, what: What, name: str) -> Path:
    """The file that comes with the request."""
    found = _results(request)
    path = found.place(what, name)
    path.unlink(missing_ok=True)
    await received(request, path, lambda: found.check_idle(what))
    return path


@router.get("/results/{name}", include_in_schema=False)
async def file(name: str, request: Request) -> Response:
    """A file of a result. Pages bring their own style, and nothing in them runs."""
    access: Access = request.app.state.access
    if access.admins.find(request.cookies.get(access.admins.cookie, "")) is None:
        return missing(request)
    path = _results(request).file(name)
    if path is None:
        return missing(request)
    if name.endswith(".html"):
        return FileResponse(path, media_type=KINDS[name], headers={"Content-Security-Policy": PLAIN})
    return FileResponse(path, media_type=KINDS[name], filename=name)
