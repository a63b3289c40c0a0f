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

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.people import checked_name
from unskew.errors import InputError, StoreError
from unskew.web.access import Admins
from unskew.web.app import create_app, opened
from unskew.web.connections import MOST, Connection
from unskew.web.house import create_house
from unskew.web.limits import Limits
from unskew.web.planner import InProcess
from unskew.writing import unwritable


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
    """Serve the page of the campaign in `dir`, or of all campaigns in it, until interrupted.

    `ready` is called with the links.
    """
    if _is_house(dir):
        _serve_house(dir, host, port, annotators, ready)
    else:
        _serve_campaign(dir, host, port, annotators, ready)


def _is_house(dir: Path) -> bool:
    """Whether a folder is one for campaigns, and not itself one. A new folder is made if only it is missing."""
    folder = Folder(dir)
    if folder.marker.exists() or folder.ledger.exists():
        return False
    return dir.is_dir() or (not dir.exists() and dir.parent.is_dir())


def _serve_house(dir: Path, host: str, port: int, annotators: Sequence[str], ready: Callable[[Links], None]) -> None:
    if annotators:
        raise InputError(
            f"--annotator needs one campaign, and {dir} is a folder for several. Invite people on a campaign's page, "
            "or serve its own folder."
        )
    with _listen(host, port) as listening:
        try:
            dir.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(dir, error) from None
        admins = Admins(_login(), str(dir.resolve()))
        problems: list[str] = []
        app = create_house(dir.resolve(), admins=admins, limits=Limits(), problems=problems)
        address = _address(host, listening)
        ready(Links(address, f"{address}/enter#{admins.code()}", {}, []))
        _run(app, listening)
    if problems:
        raise StoreError(" ".join(problems))


def _serve_campaign(dir: Path, host: str, port: int, annotators: Sequence[str], ready: Callable[[Links], None]) -> None:
    with opened(dir) as campaign, _listen(host, port) as listening:
        admin = _login()
        for name in annotators:
            _check(name, admin)
        admins = Admins(admin, campaign.id)
        app = create_app(campaign, InProcess(dir), name=campaign.name, admins=admins, limits=Limits())
        people = campaign.state.people
        known = [name for name in annotators if name in people]
        tokens = {name: campaign.invite(name, "annotator") for name in annotators if name not in known}
        address = _address(host, listening)
        ready(
            Links(
                address,
                f"{address}/enter#{admins.code()}",
                {name: f"{address}/enter#{token}" for name, token in tokens.items()},
                known,
            )
        )
        _run(app, listening)
        campaign.ledger.check_place()


def _run(app: FastAPI, listening: socket.socket) -> None:
    with suppress(KeyboardInterrupt):  # uvicorn passes the signal on once everything is closed
        uvicorn.Server(configured(app)).run(sockets=[listening])


def configured(app: FastAPI) -> uvicorn.Config:
    """How the page is served: quietly, and with limits on what strangers can use up."""
    return uvicorn.Config(
        app, http=Connection, ws="none", log_level="warning", access_log=False, server_header=False,
        limit_concurrency=MOST, timeout_graceful_shutdown=5,
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
