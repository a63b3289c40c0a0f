"""The application of a house: several campaigns on one server, one administrator, and the start of new ones."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.requests import HTTPConnection

from unskew import __version__
from unskew.web import house_api, house_pages, uploads
from unskew.web.access import Access, Admins
from unskew.web.app import say_refusals
from unskew.web.drafts import Drafts
from unskew.web.limits import Guard, Limits
from unskew.web.rooms import PREFIX, Rooms
from unskew.web.turns import Turns


class Nobody:
    """A house has no annotators of its own: each campaign has."""

    def who(self, token: str) -> None:
        return None

    def ended(self, token: str) -> None:
        return None


def create_house(folder: Path, *, admins: Admins, limits: Limits, problems: list[str] | None = None) -> FastAPI:
    """The pages of all campaigns in a folder, and of those that are begun on the page.

    To `problems` is added, for each campaign whose ledger is not in its place when it is closed, where its answers are.
    """
    access, turns = Access(Nobody(), str(folder), admins), Turns()
    rooms, drafts = Rooms(folder, admins, [] if problems is None else problems), Drafts(folder)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        drafts.clean()
        try:
            yield
        finally:
            await drafts.close()
            await rooms.close()
            turns.close()

    app = FastAPI(
        title="unskew",
        version=__version__,
        description="Campaigns on one server: where they stand, and how to begin one.",
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        lifespan=running,
    )
    app.state.access, app.state.turns, app.state.rooms, app.state.drafts = access, turns, rooms, drafts
    app.include_router(house_api.router)
    app.include_router(house_pages.router)
    app.mount(PREFIX, rooms)

    def person(request: HTTPConnection) -> str | None:
        return rooms.client(request) or access.client(request)

    app.add_middleware(Guard, limits=limits, person=person, uploads=uploads.PATHS)
    say_refusals(app)
    return app
