"""A house of campaigns on a real server, and its administrator, for tests."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from unskew.campaigns.example import LOG, POOL
from unskew.web.access import Admins
from unskew.web.house import create_house
from unskew.web.limits import Limits
from web_page import FREE, listening, wait_for


@dataclass
class House:
    """A running server of several campaigns."""

    address: str
    app: FastAPI
    folder: Path

    def link(self) -> str:
        """The administrator's link, which works once."""
        return f"{self.address}/enter#{self.app.state.access.admins.code()}"

    @contextlib.contextmanager
    def signed_in(self) -> Iterator[httpx.Client]:
        """The administrator, as a browser is signed in."""
        with httpx.Client(base_url=self.address, timeout=30) as client:
            client.post("/api/enter", json={"code": self.link().partition("#")[2]}).raise_for_status()
            client.headers["X-CSRF-Token"] = csrf(client.get("/").text)
            yield client


def csrf(html: str) -> str:
    """The token in a page."""
    return html.partition('name="csrf" content="')[2].partition('"')[0]


@contextlib.contextmanager
def serving_house(folder: Path, limits: Limits = FREE) -> Iterator[House]:
    """A house on a free port, in a real server."""
    app = create_house(folder, admins=Admins("grace", str(folder)), limits=limits)
    with listening(app) as address:
        yield House(address, app, folder)


def drafted(client: httpx.Client, name: str, log: Path | bytes = LOG, pool: Path | bytes = POOL) -> str:
    """The path of a draft, with both tables uploaded."""
    draft = client.post("/api/drafts", json={"name": name}).raise_for_status().json()["id"]
    for role, table in (("log", log), ("pool", pool)):
        body = table if isinstance(table, bytes) else table.read_bytes()
        client.put(f"/api/drafts/{draft}/files/{role}?name={role}.csv", content=body).raise_for_status()
    return f"/api/drafts/{draft}"


def finished(client: httpx.Client, draft: str) -> dict[str, Any]:
    """The draft, once no work is done on it."""

    def idle() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(draft).raise_for_status().json()
        return None if found["job"]["state"] == "running" else found

    return wait_for(idle, "the work on a draft ends")


def understood(client: httpx.Client, draft: str, **choices: Any) -> dict[str, Any]:
    """The draft, once its tables are read."""
    client.post(f"{draft}/understand", json=choices or {"guess": True}).raise_for_status()
    return finished(client, draft)


def begun(client: httpx.Client, name: str, **how: Any) -> str:
    """The path of a new campaign's pages."""
    draft = drafted(client, name)
    assert understood(client, draft)["columns"]["problem"] == ""
    client.post(f"{draft}/begin", json={"budget": 12, **how}).raise_for_status()
    found = finished(client, draft)
    assert found["job"]["state"] == "done", found["job"]
    path: str = found["begun"]
    return path


def invited(client: httpx.Client, path: str, name: str) -> str:
    """A link for somebody who labels in the campaign at that path."""
    token = csrf(client.get(f"{path}/progress").text)
    answer = client.post(f"{path}/api/annotators", json={"name": name}, headers={"X-CSRF-Token": token})
    link: str = answer.raise_for_status().json()["link"]
    return link
