"""The server of `unskew serve`: a socket, links, and uvicorn."""

import getpass
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import ValidationError

from unskew.campaigns import Campaign
from unskew.errors import InputError
from unskew.web.app import create_app
from unskew.web.connections import MOST, Connection
from unskew.web.limits import Limits
from unskew.web.models import Invitation
from unskew.web.planner import InProcess


@dataclass(frozen=True)
class Links:
    """Where the page is: the administrator's link, good for one use, and one for each new annotator.

    `known` are those who have a link already, which goes on working.
    """

    address: str
    admin: str
    annotators: dict[str, str]
    known: list[str]


def serve(dir: Path, *, host: str, port: int, annotators: Sequence[str], ready: Callable[[Links], None]) -> None:
    """Serve the page of the campaign in `dir` until interrupted; `ready` is called with the links."""
    with Campaign.open(dir) as campaign, _listen(host, port) as listening:
        admin = _login()
        for name in annotators:
            _check(name, admin)
        app = create_app(campaign, InProcess(dir), name=dir.absolute().name, admin=admin, limits=Limits())
        people = campaign.state.people
        known = [name for name in annotators if name in people]
        tokens = {name: campaign.invite(name, "annotator") for name in annotators if name not in known}
        address = _address(host, listening)
        ready(
            Links(
                address,
                f"{address}/enter#{app.state.access.admin_code()}",
                {name: f"{address}/enter#{token}" for name, token in tokens.items()},
                known,
            )
        )
        with suppress(KeyboardInterrupt):  # uvicorn passes the signal on once everything is closed
            uvicorn.Server(configured(app)).run(sockets=[listening])


def configured(app: FastAPI) -> uvicorn.Config:
    """How the page is served: quietly, and with bounds on what strangers can hold."""
    return uvicorn.Config(
        app, http=Connection, log_level="warning", access_log=False, server_header=False, limit_concurrency=MOST,
        timeout_graceful_shutdown=5,
    )  # fmt: skip


def _check(name: str, admin: str) -> None:
    """Refuse for an annotator what the page refuses as well."""
    if name == admin:
        raise InputError(f"--annotator {name!r} is you. Label by your own link, or choose another name.")
    try:
        Invitation(name=name)
    except ValidationError:
        raise InputError(
            f"--annotator {name!r:.60}: a name begins with a letter or digit and has at most 40 letters, digits, "
            "spaces and . @ ' - _ in all. Choose another."
        ) from None


def _address(host: str, listening: socket.socket) -> str:
    """Where others find the page: of a server on every address, by the machine's name."""
    where, port = listening.getsockname()[:2]
    name = socket.gethostname() if where in ("0.0.0.0", "::") else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket, so that links can be printed that work."""
    if not 0 <= port <= 65535:
        raise InputError(f"port must be 0 to 65535; got {port}. 0 takes any that is free.")
    try:
        kind, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=kind, backlog=128)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot listen on {host}:{port}: {why}. Choose another --host or --port.") from None


def _login() -> str:
    """The administrator's name, under which her own labels are recorded."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "admin"
