"""The application: one campaign, its pages, its JSON interface, and the planner that runs beside it."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from unskew import __version__
from unskew.campaigns import Campaign, Rejected
from unskew.errors import (
    InputError,
    LedgerBusy,
    LedgerReplaced,
    LedgerUnsure,
    NotAgreed,
    StoreError,
    brief,
)
from unskew.web import api, conduct_api, pages, results_api, uploads
from unskew.web.access import Access, Admins
from unskew.web.desk import Desk
from unskew.web.limits import Guard, Limits, Minutes
from unskew.web.models import Problem
from unskew.web.office import Office
from unskew.web.overview import Overview
from unskew.web.paths import inside
from unskew.web.planner import Runner
from unskew.web.results import Results
from unskew.web.turns import LEDGER, Turns, busy, later

_log = logging.getLogger("unskew")

UNREACHED = "the ledger cannot be reached. Nothing was changed; try again."
UNSURE = (
    "the connection to the ledger broke, so it is not known whether this was written. Send it again: what is there "
    "already is not taken twice."
)
REPLACED = (
    "the file with all answers is not in its place, so no answer is taken at the moment. Please tell the person who "
    "runs the campaign."
)
"""What annotators read. The message for the person who runs the campaign names files."""


def create_app(campaign: Campaign, planner: Runner, *, name: str, admins: Admins, limits: Limits | None) -> FastAPI:
    """The page of a campaign. Beside it runs the planner, which does everything slow: no request ever fits a model.

    Without `limits`, whoever serves this page beside others guards it.
    """
    desk = Desk(campaign, planner.demand)
    access = Access(desk, campaign.id, admins)
    turns, results = Turns(), Results(campaign.folder.path)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        planner.start()
        try:
            yield
        finally:
            await run_in_threadpool(planner.stop)
            await run_in_threadpool(results.close)
            turns.close()

    app = FastAPI(
        title="unskew",  # not the campaign's name: anybody can read the schema
        version=__version__,
        description="Ask for rows to label and give the answers.",
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        lifespan=running,
    )
    app.state.name, app.state.desk, app.state.overview, app.state.access = name, desk, Overview(desk, planner), access
    app.state.turns, app.state.office, app.state.results = turns, Office(desk, planner), results
    app.state.minutes = {what: Minutes() for what in api.MOST_A_MINUTE}
    app.include_router(api.router)
    app.include_router(conduct_api.router)
    app.include_router(results_api.router)
    app.include_router(pages.router)
    if limits is not None:
        app.add_middleware(Guard, limits=limits, person=access.client, uploads=uploads.PATHS)
    say_refusals(app)
    return app


def opened(dir: Path) -> Campaign:
    """The campaign in a folder, for its page. It waits for the ledger only for a moment, and it can be written to."""
    campaign = Campaign.open(dir, patience=LEDGER)
    if campaign.ledger.read_only:
        campaign.close()
        if campaign.ledger.full:
            campaign.ledger.check_writable()
        raise StoreError(f"you may only read {dir}, and the page writes answers there. Ask its owner for more.")
    return campaign


def say_refusals(app: FastAPI) -> None:
    """Send every refusal as a `Problem`, with the status that fits."""

    def said(
        status: int, detail: str, problems: Sequence[str] = (), headers: Mapping[str, str] | None = None,
        *, lasting: bool = False,
    ) -> JSONResponse:  # fmt: skip
        problem = Problem(detail=brief(detail), problems=list(map(brief, problems)), lasting=lasting)
        return JSONResponse(problem.model_dump(), status, headers)

    def unavailable(request: Request, detail: str, headers: Mapping[str, str], *, lasting: bool = False) -> Response:
        if inside(request).startswith("/api/"):
            return said(503, detail, headers=headers, lasting=lasting)
        again = headers["Retry-After"]
        return pages.stopped(request, again, detail) if lasting else pages.busy(request, again)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> Response:
        problems = [_in_words(one) for one in error.errors()]
        return said(422, problems[0] if problems else "malformed request", problems)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        if error.status_code == 400:  # bytes that are not text: as wrong as text that is not JSON
            return said(422, "the body is not JSON")
        if error.status_code == 503:
            return unavailable(request, str(error.detail), error.headers or later())
        if not inside(request).startswith("/api/"):
            return pages.missing(request, error.status_code)
        return said(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Rejected)
    async def rejected(_: Request, error: Rejected) -> Response:
        problems = [what for _, what in error.problems]
        return said(409, problems[0] if len(problems) == 1 else str(error), problems)

    @app.exception_handler(InputError)
    async def contradicts(_: Request, error: InputError) -> Response:
        return said(409, str(error))

    @app.exception_handler(StoreError)
    async def unreachable(request: Request, error: StoreError) -> Response:
        _log.warning("%s", error)  # mostly only here: it names the database, and anybody may be asking
        if isinstance(error, NotAgreed):
            why = "nobody agreed to connect to the campaign's pool. Tell the person who runs it."
            return said(403, why)
        if isinstance(error, LedgerReplaced):
            return unavailable(request, str(error) if _for_lead(request) else REPLACED, later(), lasting=True)
        if isinstance(error, LedgerBusy):
            return unavailable(request, str(busy().detail), later())
        return unavailable(request, UNSURE if isinstance(error, LedgerUnsure) else UNREACHED, later())


def _for_lead(request: Request) -> bool:
    """Whether the administrator asks. The ledger, which knows everybody else, cannot be read."""
    access: Access = request.app.state.access
    return any(access.admins.find(secret) for secret in access.shown(request))


def _in_words(error: Any) -> str:
    """One problem that pydantic found. Rules of our own are whole sentences already."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    return f"{'.'.join(map(str, error['loc'][1:])) or 'body'}: {error['msg']}"
