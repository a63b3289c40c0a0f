"""The server of `unskew serve`: a socket, links, and uvicorn."""

import getpass
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from unskew.campaigns import Campaign
from unskew.errors import InputError
from unskew.web.app import create_app
from unskew.web.limits import Limits
from unskew.web.planner import InProcess

CONNECTIONS = 500
"""At once; more are refused, so that a flood leaves the machine usable."""


@dataclass(frozen=True)
class Links:
    """Where the page is: the administrator's link, good for one use, and one for each annotator."""

    address: str
    admin: str
    annotators: dict[str, str]


def serve(dir: Path, *, host: str, port: int, annotators: Sequence[str], ready: Callable[[Links], None]) -> None:
    """Serve the page of the campaign in `dir` until interrupted; `ready` is called with the links."""
    with Campaign.open(dir) as campaign, _listen(host, port) as listening:
        name = dir.absolute().name
        app = create_app(campaign, InProcess(dir), name=name, admin=_login(), limits=Limits())
        tokens = {name: campaign.invite(name, "annotator") for name in annotators}
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listening.getsockname()[1]}"
        ready(
            Links(
                address,
                f"{address}/enter#{app.state.access.admin_code()}",
                {name: f"{address}/enter#{token}" for name, token in tokens.items()},
            )
        )
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        with suppress(KeyboardInterrupt):  # uvicorn passes the signal on once everything is closed
            uvicorn.Server(config).run(sockets=[listening])


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
