"""The server of `unskew serve`: a socket, links, and uvicorn."""

import getpass
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from unskew.campaigns import Campaign
from unskew.campaigns.ledger.people import checked_name
from unskew.errors import InputError, StoreError
from unskew.web.app import create_app
from unskew.web.connections import MOST, Connection
from unskew.web.limits import Limits
from unskew.web.planner import InProcess
from unskew.web.turns import LEDGER


@dataclass(frozen=True)
class Links:
    """The page's address, the administrator's link, which works once, and a link for each new annotator.

    `known` are annotators who have a link already, which still works.
    """

    address: str
    admin: str
    annotators: dict[str, str]
    known: list[str]


def serve(dir: Path, *, host: str, port: int, annotators: Sequence[str], ready: Callable[[Links], None]) -> None:
    """Serve the page of the campaign in `dir` until interrupted; `ready` is called with the links."""
    with Campaign.open(dir, patience=LEDGER) as campaign, _listen(host, port) as listening:
        if campaign.ledger.read_only:
            raise StoreError(f"you may only read {dir}, and the page writes answers there. Ask its owner for more.")
        admin = _login()
        for name in annotators:
            _check(name, admin)
        app = create_app(campaign, InProcess(dir), name=campaign.name, admin=admin, limits=Limits())
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
    """How the page is served: quietly, and with limits on what strangers can use up."""
    return uvicorn.Config(
        app, http=Connection, log_level="warning", access_log=False, server_header=False, limit_concurrency=MOST,
        timeout_graceful_shutdown=5,
    )  # fmt: skip


def _check(name: str, admin: str) -> None:
    """Refuse names that the page refuses too."""
    if name == admin:
        raise InputError(f"--annotator {name!r} is you. Label by your own link, or choose another name.")
    checked_name(name)


def _address(host: str, listening: socket.socket) -> str:
    """The address of the page. If it listens on every address, it has the machine's name."""
    where, port = listening.getsockname()[:2]
    name = socket.gethostname() if ip_address(where).is_unspecified else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that the links work as soon as they are printed."""
    if not 0 <= port <= 65535:
        raise InputError(f"port must be 0 to 65535; got {port}. 0 takes any free port.")
    try:
        kind, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=kind, backlog=128)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"cannot listen on {host}:{port}: {why}. Choose another --host or --port.") from None


def _login() -> str:
    """The administrator's name, under which their own labels are recorded."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "admin"
