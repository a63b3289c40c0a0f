"""People at work: processes that ask and tell through the library or by commands, and annotators on the page."""

import json
import random
import threading
import time
import traceback
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from faults.forks import HANG, command
from faults.scene import ID, LABEL, ROUND, Notes, truth

PAUSE = 0.05
SHARE_SKIPPED, SHARE_CHANGED = 0.04, 0.08


def said_of(ids: list[str], chance: random.Random) -> dict[str, str | None]:
    return {id: None if chance.random() < SHARE_SKIPPED else truth(id) for id in ids}


class Clocked:
    """Notes in shared memory when a call began, so that a call that never ends is seen from outside."""

    def __init__(self, began: Any, at: int) -> None:
        self._began, self._at = began, at

    def __enter__(self) -> None:
        self._began[self._at] = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._began[self._at] = 0.0


def by_calls(folder: Path, at: int, notes: Path, began: Any, seed: int) -> None:
    """Ask, tell, skip, correct, undo, plan and close until killed, in one process that keeps the campaign open."""
    from unskew.campaigns import Campaign
    from unskew.errors import UnskewError

    chance, said, clock = random.Random(seed), Notes(notes), Clocked(began, at)
    while True:
        try:
            with clock:
                campaign = Campaign.open(folder)
            while True:
                _work(campaign, f"worker-{at:02d}", said, chance, clock)
        except UnskewError:  # refused, or the database is down: one line, and on
            time.sleep(PAUSE)
        except BaseException:
            said.odd(traceback.format_exc())
            return


def _work(campaign: Any, name: str, said: Notes, chance: random.Random, clock: Clocked) -> None:
    with clock:
        ids = [row.id for row in campaign.ask(4, by=name)]
    answers = said_of(ids, chance)
    with clock:
        campaign.tell(answers, by=name)
    said.taken(answers)
    if ids and chance.random() < SHARE_CHANGED:
        said.changing(ids[-1])
        with clock:
            campaign.undo(ids[-1], by=name)
    elif ids and chance.random() < SHARE_CHANGED:
        other = {ids[0]: "yes" if answers[ids[0]] != "yes" else "no"}
        said.changing(ids[0])
        with clock:
            campaign.tell(other, by=name, force_correct=True)
        said.taken(other)
    with clock:
        if chance.random() < 0.05:
            campaign.plan(ROUND)
        if chance.random() < 0.2:
            campaign.close_due()
    time.sleep(chance.expovariate(1 / PAUSE))


def by_commands(folder: Path, at: int, notes: Path, began: Any, seed: int) -> None:
    """`unskew ask`, `unskew tell` and `unskew status`, one after the other, until killed."""
    chance, said, clock = random.Random(seed), Notes(notes), Clocked(began, at)
    name, file = f"worker-{at:02d}", notes.parent.parent / f"told-{at:02d}.csv"

    def run(*words: str) -> str:
        with clock:
            ran = command([*words, "--json"])
        if ran.status != 0 and not ran.refused:
            said.odd(f"unskew {words[0]} ended with {ran.status}: {ran.err}")
        if ran.status != 0:
            time.sleep(PAUSE)
        return ran.out if ran.status == 0 else ""

    while True:
        rows = run("ask", str(folder), "-n", "4", "--by", name)
        answers = said_of([row["id"] for row in json.loads(rows)["rows"]] if rows else [], chance)
        if answers:
            lines = [f"{ID},{LABEL}", *(f"{id},{label or 'skip'}" for id, label in answers.items())]
            file.write_text("".join(f"{line}\n" for line in lines))
            if run("tell", str(folder), str(file), "--by", name):
                said.taken(answers)
        if chance.random() < 0.2:
            run("status", str(folder))
        time.sleep(chance.expovariate(1 / PAUSE))


class Annotator:
    """Somebody who labels on the page over one connection, and sends again what was not acknowledged.

    They think about each row for `pause` seconds, on average. They hold `ahead` rows, as the page
    does: one is shown.
    """

    def __init__(self, port: int, token: str, notes: Path, pause: float, seed: int, ahead: int = 2) -> None:
        self.said, self.chance, self.pause, self.ahead = Notes(notes), random.Random(seed), pause, ahead
        self.times: list[float] = []
        self.waits: list[float] = []
        """Seconds from an answer until the next row can be seen: none, if one was held already."""
        self._without_row: float | None = None
        self._connection = HTTPConnection("127.0.0.1", port, timeout=3 * HANG)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._held: list[str] = []
        self._answer: dict[str, str | None] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._step()
            except (OSError, HTTPException):  # the server is gone, or went while it answered
                self._connection.close()
                time.sleep(PAUSE)
            except Exception:
                self.said.odd(traceback.format_exc())
                time.sleep(1)
        self._connection.close()

    def _step(self) -> None:
        if not self._held:
            found = self._post("/api/ask", {"n": self.ahead})
            self._hold(found)
            if found is not None and not self._held:
                time.sleep(PAUSE)  # the next rows are being chosen
            return
        id = self._held[0]
        if id not in self._answer:
            if self._without_row is not None:
                self.waits.append(time.perf_counter() - self._without_row)
                self._without_row = None
            if self.pause:
                time.sleep(self.chance.expovariate(1 / self.pause))
            self._answer = said_of([id], self.chance)
            if len(self._held) > 1:
                self.waits.append(0.0)
            else:
                self._without_row = time.perf_counter()
        begun = time.perf_counter()
        told = {"answers": [{"id": id, "label": self._answer[id]}], "ask": self.ahead}
        found = self._post("/api/tell", told)
        if found is None:
            return
        self.times.append(time.perf_counter() - begun)
        self.said.taken(self._answer)
        self._hold(found["work"])
        if self.chance.random() < SHARE_CHANGED / 2:
            self.said.changing(id)
            self._held = []  # if the connection breaks now, ask what is held
            self._hold(self._post("/api/undo", {"id": id, "ask": self.ahead}, refused=(409,)))

    def _hold(self, work: dict[str, Any] | None) -> None:
        if work is not None:
            self._held = [row["id"] for row in work["rows"]]

    def _post(self, path: str, body: dict[str, Any], refused: tuple[int, ...] = ()) -> dict[str, Any] | None:
        """The reply; None, after the wait that was asked for, if it is to be sent again."""
        self._connection.request("POST", path, json.dumps(body), self._headers)
        reply = self._connection.getresponse()
        text = reply.read()
        if reply.status in (429, 503):
            wait = reply.getheader("Retry-After")
            if wait is None:
                self.said.odd(f"{path} answered {reply.status} without Retry-After")
            time.sleep(float(wait or 1))
            return None
        if reply.status != 200:
            if reply.status not in refused:
                self.said.odd(f"{path} {body} answered {reply.status}: {text!r:.300}")
                time.sleep(PAUSE)
            self._held = []
            return None
        found: dict[str, Any] = json.loads(text)
        return found


def annotate(
    port: int, tokens: dict[str, str], notes: Path, figures: Path, stop: Any, pause: float, seed: int, ahead: int = 2
) -> None:
    """All annotators, each in a thread, until `stop` is set. Then all times and waits are written."""
    everyone = [
        Annotator(port, token, notes / name, pause, seed + k, ahead) for k, (name, token) in enumerate(tokens.items())
    ]
    ended = threading.Event()
    threads = [threading.Thread(target=one.run, args=(ended,)) for one in everyone]
    for thread in threads:
        thread.start()
    stop.wait()
    ended.set()
    for thread in threads:
        thread.join()
    times = [time for one in everyone for time in one.times]
    waits = [wait for one in everyone for wait in one.waits]
    figures.write_text(json.dumps({"times": times, "waits": waits}))
