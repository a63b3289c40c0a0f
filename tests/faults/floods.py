"""One annotator writes as much as the page takes, as fast as it can: the ledger grows by little, and others go on."""

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from faults.forks import context, end, start
from faults.replay import replay
from faults.scene import CLASSES, begin, read_notes
from faults.served import Server
from faults.workers import annotate

FLOODER, OTHER = "flood", "other"
MOST_A_MINUTE = 450.0
"""Kilobytes that one annotator may add: 20 comments and 30 reasons of 8,000 bytes each, and what is around them."""
LONGEST = 2000 * "\U0001f600"
CONNECTIONS = 3


@dataclass
class Flooded:
    """What one annotator's flood did."""

    seconds: float = 0.0
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    kilobytes: float = 0.0
    """Of all events that the flooding annotator added."""
    others: int = 0
    """Answers of the other annotator that were acknowledged meanwhile."""
    faults: list[str] = field(default_factory=list)

    @property
    def allowed(self) -> float:
        """The kilobytes that are not too many: as many minutes may have begun."""
        return MOST_A_MINUTE * (self.seconds // 60 + 1)


def flood(
    scratch: Path, *, seconds: float, chance: random.Random, tick: Callable[[float], None], budget: int = 2000
) -> Flooded:
    """Flood a served page for that long, and see what the ledger holds then."""
    folder, notes = begin(scratch, budget=budget, pool=budget, planned=60), scratch / "notes"
    notes.mkdir()
    found = Flooded()
    with Server(folder, [FLOODER, OTHER], scratch) as server:
        stop, times = context.Event(), scratch / "times.json"
        tokens = {OTHER: server.tokens[OTHER]}
        child = start(annotate, server.port, tokens, notes, times, stop, 0.05, chance.randrange(2**32))
        over, lock = threading.Event(), threading.Lock()
        work = (server.port, server.tokens[FLOODER], over, lock, found)
        threads = [
            threading.Thread(target=_pour, args=(*work, random.Random(chance.randrange(2**32))))
            for _ in range(CONNECTIONS)
        ]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        while (now := time.monotonic()) < begun + seconds:
            tick(now - begun)
            time.sleep(min(0.5, begun + seconds - now))
        over.set()
        for thread in threads:
            thread.join()
        found.seconds = time.monotonic() - begun
        stop.set()
        child.join(60)
        end(child)
        complaints = server.complaints()
    _check(folder, notes, complaints, found)
    return found


def _pour(
    port: int, token: str, over: threading.Event, lock: threading.Lock, found: Flooded, chance: random.Random
) -> None:
    """Comment, correct, take back and answer again without pause, whatever the server says."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        connection.request("POST", path, json.dumps(body), headers)
        reply = connection.getresponse()
        text = reply.read()
        with lock:
            found.requests += 1
            found.statuses[reply.status] += 1
            if reply.status >= 500 and reply.status != 503:
                found.faults.append(f"{path} answered {reply.status}: {text!r:.200}")
            if reply.status == 429 and not reply.getheader("Retry-After"):
                found.faults.append(f"{path} answered 429 without Retry-After")
        answered: dict[str, Any] = json.loads(text) if text and reply.status < 300 else {}
        return answered

    ids: list[str] = []
    while not over.is_set():
        if len(ids) < 5:
            rows = post("/api/ask", {"n": 5}).get("rows", [])
            given = [row["id"] for row in rows]
            post("/api/tell", {"answers": [{"id": id, "label": "yes"} for id in given], "ask": 0})
            ids += given
            continue
        id = chance.choice(ids)
        what = chance.choice(["comment", "correct", "undo"])
        if what == "comment":
            post("/api/comment", {"id": id, "text": LONGEST})
        elif what == "correct":
            post("/api/correct", {"id": id, "label": chance.choice(CLASSES), "reason": LONGEST})
        else:
            post("/api/undo", {"id": id, "ask": 1})
            post("/api/tell", {"answers": [{"id": id, "label": chance.choice(CLASSES)}], "ask": 0})
    connection.close()


def _check(folder: Path, notes: Path, complaints: str, found: Flooded) -> None:
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        size = "SELECT SUM(LENGTH(CAST(body AS BLOB))) FROM events WHERE actor = ?"
        found.kilobytes = (connection.execute(size, (FLOODER,)).fetchone()[0] or 0) / 1000
    if found.kilobytes > found.allowed:
        found.faults.append(
            f"one annotator added {found.kilobytes:.0f} kB in {found.seconds:.0f} s, more than {found.allowed:.0f}"
        )
    said, found.others, odd = read_notes(notes)
    state = replay(folder)
    lost = [id for id, label in said.items() if state.labels.get(id) != label]
    found.faults += [*odd, *state.faults, *(f"row {id!r} was acknowledged and is lost" for id in lost)]
    if not found.others:
        found.faults.append("nobody else could answer")
    if "Traceback" in complaints:
        found.faults.append(f"unskew serve printed: {' '.join(complaints.split())[:600]}")
