"""Folders that name addresses, paths outside and classes: no command and no page follows them.

A server listens on this machine and counts connections. Every variant of a folder names it, in one
way or another, with all digests right. Whoever opens the folder agreed to nothing.
"""

import hashlib
import json
import os
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from campaign_folder import forge
from faults.forks import Ran, end, run_commands, start
from faults.scene import ID, LABEL, truth, write_tables

LISTED = {
    "dask": "dask://{at}/x.parquet",
    "dask chain": "dask://{at}/x::file:///etc/x.parquet",
    "dask at the end": "zip://x.parquet::dask://{at}/x.parquet",
    "upper-case dask": "DASK://{at}/x.parquet",
    "http": "http://{at}/x.parquet",
    "https": "https://{at}/x.parquet",
    "upper-case http": "HTTP://{at}/x.parquet",
    "http with one slash": "http:/{at}/x.parquet",
    "filecache": "filecache::http://{at}/x.parquet",
    "simplecache": "simplecache::http://{at}/x.parquet",
    "blockcache": "blockcache::http://{at}/x.parquet",
    "reference": "reference://x.parquet::http://{at}/x.parquet",
    "zip over http": "zip://x.parquet::http://{at}/x.zip",
    "memory": "memory://x.parquet",
    "s3": "s3://theirs/x.parquet",
    "s3 with a host": "s3://theirs@{at}/x.parquet",
    "s3 and out of its bucket": "s3://theirs/../mine/x.parquet",
    "gs": "gs://theirs/x.parquet",
    "hf": "hf://datasets/theirs/x/x.parquet",
    "ftp": "ftp://{at}/x.parquet",
    "sftp": "sftp://{at}/x.parquet",
    "hdfs": "hdfs://{at}/x.parquet",
    "github": "github://theirs:x@main/x.parquet",
    "jupyter": "jupyter://{at}/x.parquet",
    "smb": "smb://{at}/x/x.parquet",
    "file with a host": "file://{at}/x.parquet",
    "two slashes": "//{at}/x.parquet",
    "two backslashes": "\\\\{at}\\x.parquet",
    "relative": "../outside/mine.parquet",
    "not normal": "{outside}/../outside/mine.parquet",
    "a file here": "{outside}/mine.parquet",
    "a pattern here": "{outside}/*.parquet",
    "a line break": "{outside}/a\nb.parquet",
}
"""What the list of the pool's files names."""

STORES = {
    "store": "postgresql://ann:secret@{at}/bank",
    "store in an option": "postgresql:///bank?host=127.0.0.1&port={port}",
    "store in another option": "postgresql://db.example/bank?hostaddr=127.0.0.1&port={port}",
    "store in a service": "postgresql:///bank?service=theirs",
}
"""What `campaign.json` names."""

EVENTS = {
    "an event with a path outside": "../outside/mine.parquet",
    "an event with a whole path": "{outside}/mine.parquet",
    "an event with an address": "dask://{at}/x.parquet",
}
"""What an event that gives the pool new rows names."""

SETTINGS: dict[str, dict[str, Any]] = {
    "a method": {"method": "theirs:Method"},
    "a model": {"model": {"class": "theirs:Model", "parameters": {}, "versions": {}}},
}
"""What the settings name."""

ALL = [*LISTED, *STORES, *EVENTS, *SETTINGS]

WITHOUT = {
    "predict": {"two slashes", "a file here", "a pattern here", *EVENTS},
    "status": set(SETTINGS),
}
"""Commands that may do their work all the same: predictions of a model that learned from the log
read no file of the pool, and where labels stand is known without the model."""

VISITED = ("dask chain", "http", "s3", "store", "an event with an address")
"""The variants that are served. Every campaign on a page has a planner, which takes a while."""

VISIT = 600.0
"""Seconds after which the page hangs."""


@dataclass
class Reached:
    """What came of every variant, and what must not have happened."""

    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    longest: float = 0.0
    tracebacks: int = 0
    faults: list[str] = field(default_factory=list)

    def judge(self, name: str, words: str, ran: Ran, connections: int) -> None:
        """A command refuses the folder in one line, or does what needs nothing of what it names."""
        self.longest = max(self.longest, ran.seconds)
        self.tracebacks += "Traceback" in ran.err
        harmless = ran.status == 0 and not ran.err and name in WITHOUT.get(words, ())
        verdict = "refused" if ran.refused else "harmless" if harmless else "faults"
        verdict = "faults" if connections else verdict
        self.verdicts.setdefault(words, Counter())[verdict] += 1
        if verdict == "faults":
            said = " ".join((ran.out + ran.err).split())[-200:]
            what = f"status {ran.status}, {connections} connections"
            self.faults.append(f"{name}, {words}: {what}: {said}")


class Server:
    """Somebody else's: it takes connections, counts them, and says nothing."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._socket.accept()
            except OSError:  # closed
                return
            self.connections += 1
            line.close()

    def close(self) -> None:
        self._socket.close()


@contextmanager
def server() -> Iterator[Server]:
    found = Server()
    try:
        yield found
    finally:
        found.close()


def reach(scratch: Path, *, tick: Callable[[int], None], names: list[str]) -> Reached:
    """Try these variants with every command, and then some on a page."""
    found = Reached()
    whole = prepare(scratch)
    outside = scratch / "outside"
    with server() as theirs:
        places = {"at": f"127.0.0.1:{theirs.port}", "port": theirs.port, "outside": outside}
        before = _snapshot(outside)
        for number, name in enumerate(names):
            folder = variant(whole, scratch / "tried" / f"{number}", name, places)
            _command_line(found, name, folder, scratch, theirs)
            tick(number + 1)
            shutil.rmtree(folder)
        _page(found, whole, scratch, places, theirs)
        if _snapshot(outside) != before:
            found.faults.append("a file outside of the folders was changed")
    return found


def environment(home: Path, port: int) -> dict[str, str]:
    """Of somebody who agreed to nothing, and whose clients of all kinds would reach the server."""
    at = f"http://127.0.0.1:{port}"
    return {
        "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config"),
        "UNSKEW_ADDRESSES": "", "UNSKEW_METHODS": "",
        "AWS_ENDPOINT_URL": at, "AWS_ALLOW_HTTP": "true", "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x", "AWS_REGION": "us-east-1", "HF_ENDPOINT": at,
        "STORAGE_EMULATOR_HOST": at, "GOOGLE_BASE_URL": at, "http_proxy": at, "https_proxy": at,
        "PGHOST": "127.0.0.1", "PGPORT": str(port), "PGPASSWORD": "secret",
    }  # fmt: skip


def prepare(scratch: Path) -> Path:
    """A campaign of which a round was answered: with its pool in files, and in the folder."""
    (scratch / "outside").mkdir(parents=True)
    child = start(_begin, scratch)
    child.join()
    assert child.exitcode == 0, "the campaign was not prepared"
    child.close()
    shutil.copy(scratch / "pool.parquet", scratch / "outside" / "mine.parquet")
    return scratch / "whole"


def _begin(scratch: Path) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        os.environ[name] = str(scratch / "maker" / name)
    from unskew.campaigns import Campaign

    write_tables(scratch, pool=300)
    (scratch / "rows").mkdir()
    shutil.copy(scratch / "pool.parquet", scratch / "rows" / "rows.parquet")
    names = {"label": LABEL, "propensity": "q0", "id": ID, "budget": 60}
    for kind, pool in (("files", "rows"), ("copied", "pool.parquet")):
        tables = {"log": scratch / "log.parquet", "pool": scratch / pool}
        with Campaign.create(scratch / "whole" / kind, **tables, **names) as campaign:
            rows = campaign.ask(20, by="ann")
            campaign.tell({row.id: truth(row.id) for row in rows}, by="ann")
            campaign.close_due()


def variant(whole: Path, folder: Path, name: str, places: dict[str, Any]) -> Path:
    """The campaign as somebody could make it who means harm."""
    from unskew.campaigns.ledger.events import Extended

    listing = folder / "pool.files.json"
    shutil.copytree(whole / ("files" if name in LISTED else "copied"), folder)
    if name in LISTED:
        record = json.loads(listing.read_text())[0]
        listing.write_text(json.dumps([{**record, "path": LISTED[name].format(**places)}]))
        forge(folder, pool_sha256=_digest(listing))
    elif name in STORES:
        marker = json.loads((folder / "campaign.json").read_text())
        store = STORES[name].format(**places)
        (folder / "campaign.json").write_text(json.dumps({**marker, "store": store}))
    elif name in EVENTS:
        rows = folder.parent.parent / "outside" / "mine.parquet"
        height = pl.read_parquet(rows).height
        forge(folder, Extended(height, _digest(rows), EVENTS[name].format(**places), 1))
    else:
        forge(folder, **SETTINGS[name])
    return folder


def _command_line(found: Reached, name: str, folder: Path, scratch: Path, theirs: Server) -> None:
    rows, report = scratch / "pool.parquet", folder / "report.html"
    commands = [
        ["ask", str(folder), "-n", "5", "--by", "eve", "--out", str(scratch / "asked.csv")],
        ["report", str(folder), "--out", str(report)],
        ["predict", str(folder), str(rows), "--out", str(scratch / "predicted.csv")],
        ["status", str(folder)],
    ]
    home = scratch / "home"
    shutil.rmtree(home, ignore_errors=True)
    before = theirs.connections
    user = environment(home, theirs.port)
    ran, why = run_commands(scratch / "ran", commands, environment=user, limit=30.0)
    for words, one in zip(commands, ran, strict=False):
        found.judge(name, words[0], one, theirs.connections - before)
    if why:
        found.faults.append(f"{name}: {why}")
    if (scratch / "asked.csv").exists():
        found.faults.append(f"{name}: rows were handed out")
    (scratch / "predicted.csv").unlink(missing_ok=True)


def _page(
    found: Reached, whole: Path, scratch: Path, places: dict[str, Any], theirs: Server
) -> None:  # fmt: skip
    """Serve some of the variants in one house, and look in without a link."""
    house, said = scratch / "house", scratch / "said.json"
    house.mkdir()
    for name in VISITED:
        variant(whole, house / name.replace(" ", "-"), name, places)
    before = theirs.connections
    child = start(_visit, house, said, environment(scratch / "visitor", theirs.port))
    child.join(VISIT)
    if child.is_alive():
        found.faults.append("the page did not end")
    end(child)
    answers = json.loads(said.read_text()) if said.exists() else []
    if not answers:
        found.faults.append("the page gave no answers")
    for name, status in answers:
        verdict = "refused" if status < 500 else "faults"
        found.verdicts.setdefault("page", Counter())[verdict] += 1
        if verdict == "faults":
            found.faults.append(f"page, {name}: status {status}")
    if theirs.connections != before:
        found.faults.append(f"the page made {theirs.connections - before} connections")


def _visit(house: Path, said: Path, home: dict[str, str]) -> None:
    """Ask for pages without a link, until every planner that was started has tried. A process."""
    os.environ.update(home)
    import httpx

    from web_house import serving_house
    from web_page import wait_for

    answers = []
    with serving_house(house) as served:
        with httpx.Client(base_url=served.address, timeout=60, trust_env=False) as client:
            for name in VISITED:
                path = f"/c/{name.replace(' ', '-')}"
                for page in ("/enter", "/", "/label", "/progress", "/api/status"):
                    status = client.get(path + page).status_code
                    answers.append((f"{name} {page}", status))
        for name, room in served.app.state.rooms._rooms.items():
            planner = room.app.state.overview.planner
            wait_for(lambda planner=planner: planner.outlook.trouble, f"{name} is planned")
    said.write_text(json.dumps(answers))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
