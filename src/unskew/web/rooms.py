"""The campaigns in a folder, each with its own page, people and planner. One that cannot be opened stops no other.

A campaign is opened when somebody first asks for it. Its planner starts when somebody first opens its page.
"""

import asyncio
import logging
from collections import defaultdict
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request
from fastapi.requests import HTTPConnection
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from unskew.campaigns import Campaign
from unskew.campaigns.folder import Folder
from unskew.errors import LedgerReplaced, NotAgreed, UnskewError
from unskew.estimation.aims import NAMES
from unskew.web import pages
from unskew.web.access import Access, Admins
from unskew.web.app import create_app, opened
from unskew.web.models import Point, Problem
from unskew.web.planner import InProcess
from unskew.web.start_models import CampaignStand
from unskew.web.turns import Turns

_log = logging.getLogger("unskew")
PREFIX = "/c"
"""What comes before the names of campaigns in addresses."""


@dataclass
class Room:
    """A campaign that is open, and its page."""

    marker: tuple[int, int]
    """Tells the file that makes the folder a campaign from another one."""
    id: str
    campaign: Campaign
    app: FastAPI
    running: AsyncExitStack | None = field(default=None)


class Rooms:
    """All campaigns in a folder. As an application, it passes requests on to the page of the one they name."""

    def __init__(self, folder: Path, admins: Admins, problems: list[str]) -> None:
        self.folder, self.admins, self.problems = folder, admins, problems
        self._rooms: dict[str, Room] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def names(self) -> list[str]:
        """The folders that are campaigns, in alphabetical order."""
        try:
            found = [path.name for path in self.folder.iterdir()]
        except OSError:  # the folder was removed
            return []
        return sorted((name for name in found if self._marker(name)), key=lambda name: (name.lower(), name))

    def _marker(self, name: str) -> tuple[int, int] | None:
        """What identifies the campaign of that name; None if there is none."""
        if not name or "/" in name or name.startswith(".") or not name.isprintable():
            return None
        try:
            found = Folder(self.folder / name).marker.stat()
        except (OSError, ValueError):
            return None
        return found.st_ino, found.st_mtime_ns

    async def room(self, name: str) -> Room | None:
        """The campaign of that name, open; None if there is none."""
        if name not in self._rooms and self._marker(name) is None:
            return None
        async with self._locks[name]:
            marker, room = self._marker(name), self._rooms.get(name)
            if room is not None and room.marker == marker:
                return room
            if room is not None and marker is not None and await run_in_threadpool(self._still, name, room, marker):
                room.marker = marker
                return room
            if room is not None:  # it was moved away, and perhaps another one is there now
                await self._shut(self._rooms.pop(name))
            if marker is None:
                return None
            dir = self.folder / name
            campaign = await run_in_threadpool(opened, dir)
            app = create_app(campaign, InProcess(dir), name=name, admins=self.admins, limits=None)
            room = self._rooms[name] = Room(marker, Folder(dir).identify()[0], campaign, app)
            return room

    def _still(self, name: str, room: Room, marker: tuple[int, int]) -> bool:
        """Whether the same campaign was written over the file, perhaps with an older ledger.

        The page that is open knows what was acknowledged. One that is opened now would not.
        """
        return room.marker[0] == marker[0] and Folder(self.folder / name).identify()[0] == room.id

    async def _page(self, name: str) -> FastAPI | None:
        """The page of that campaign, with its planner running."""
        room = await self.room(name)
        if room is None:
            return None
        async with self._locks[name]:
            if room.running is None:
                room.running = AsyncExitStack()
                await room.running.enter_async_context(room.app.router.lifespan_context(room.app))
        return room.app

    async def _shut(self, room: Room) -> None:
        if room.running is not None:
            await room.running.aclose()
        try:
            room.campaign.close()
        except LedgerReplaced as error:  # its folder may have been deleted
            self.problems.append(str(error))
            _log.warning("%s", error)

    async def close(self) -> None:
        """Close everything."""
        rooms, self._rooms = list(self._rooms.values()), {}
        await asyncio.gather(*map(self._shut, rooms))

    async def stands(self, request: Request) -> list[CampaignStand]:
        """Where each campaign stands, or why it cannot be opened."""
        return [await self._stand(request, name) for name in self.names()]

    async def _stand(self, request: Request, name: str) -> CampaignStand:
        path = address(name)
        try:
            room = await self.room(name)
            if room is None:
                return CampaignStand(name=name, path=path, problem="The folder was removed.")
            turns: Turns = room.app.state.turns
            return await turns.run(request, _stand_of, name, path, room.campaign)
        except UnskewError as error:
            return CampaignStand(name=name, path=path, problem=str(error))
        except HTTPException as error:  # others wait for it
            return CampaignStand(name=name, path=path, problem=str(error.detail))

    def client(self, request: HTTPConnection) -> str | None:
        """The name behind a request to one of the campaigns, to count requests."""
        name = str(request.scope["path"]).removeprefix(f"{PREFIX}/").partition("/")[0]
        room = self._rooms.get(name)
        if room is None:
            return None
        access: Access = room.app.state.access
        found = access.client(request)
        return found and f"{found} of {name}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request({**scope, "root_path": ""}, receive)
        _, name, *rest = scope["path"].removeprefix(scope["root_path"]).split("/", 2)
        answer: Response
        if not rest:
            answer = RedirectResponse(f"{address(name)}/", 307)
        else:
            try:
                page = await self._page(name)
            except UnskewError as error:
                status = 403 if isinstance(error, NotAgreed) else 503  # nothing is broken
                text = "This campaign cannot be opened at the moment. Tell the person who runs it."
                said = {"title": "Not available", "text": text}
                answer = pages.render(request, "enter.html", status=status, **said)
            else:
                if page is not None:
                    await page({**scope, "root_path": f"{scope['root_path']}/{name}"}, receive, send)
                    return
                text = "There is no campaign of that name. Ask the person who runs it for a new link."
                answer = pages.render(request, "enter.html", status=404, title="Nothing here", text=text)
                if rest[0].startswith("api/"):
                    why = Problem(detail=f"there is no campaign {name!r:.60}. Check the address.")
                    answer = JSONResponse(why.model_dump(), 404)
        await answer(scope, receive, send)


def address(name: str) -> str:
    """The path of a campaign's pages, as it is written in addresses."""
    return f"{PREFIX}/{quote(name, safe='')}"


def _stand_of(name: str, path: str, campaign: Campaign) -> CampaignStand:
    status, people = campaign.status(), campaign.state.people
    lead = status.aim.leading(status.estimates)
    measure = status.aim.measures[0] if lead is None else lead.measure
    labels = next(reversed(campaign.state.estimates), 0)
    invited = {known for known, person in people.items() if person.role == "annotator"}
    return CampaignStand(
        name=name,
        path=path,
        spent=status.spent,
        budget=status.budget,
        measure=measure,
        measure_name=NAMES[measure],
        estimate=None
        if lead is None
        else Point(labels=labels, rows=status.pool_rows, value=lead.value, low=lead.low, high=lead.high),
        alone=lead is not None and lead.log_share == 1.0,
        people=sorted(invited | set(status.annotators)),
        at_work=sorted(who for who, work in status.annotators.items() if work.holds),
    )
