"""The work behind the page: close rounds, choose the next rows in advance, watch the blind spots."""

import logging
import multiprocessing
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from unskew.campaigns import Campaign
from unskew.errors import UnskewError
from unskew.methods.prospect import AHEAD
from unskew.web.demand import Demand, Wish, rows_ready
from unskew.web.models import SpotShown

ROUND = 10
"""The smallest number of rows in a round: every round needs a fit."""
EVERY, AFTER_TROUBLE = 0.2, 5.0
ROUNDS, FIRST = 3, 1.0
"""The slowest of that number of last rounds says how long one takes; seconds before there was one."""
PATIENCE = 5.0
"""Seconds for the planner to finish its current work when the page stops."""
SPOTS = 5
"""The number of blind spots on the page, the largest ones."""

if TYPE_CHECKING:
    from unskew.campaigns.audit.filling import BlindSpots
    from unskew.estimation.ahead import Ahead

_log = logging.getLogger("unskew")


@dataclass(frozen=True)
class Outlook:
    """The planner's report: why rows cannot be chosen, while that is so, where labels are few, what more would do."""

    trouble: str | None = None
    spots: tuple[SpotShown, ...] = ()
    spent: int = 0
    """The number of labels given when the report was made; `ahead` and `next` begin there."""
    ahead: "Ahead | None" = None
    next: tuple[int, float] | None = None
    """A number of next labels, and half the width that the interval should have after them."""
    doubts: dict[str, float] = field(default_factory=dict)
    """By row, the chance that its label is wrong."""
    damage: str | None = None
    """What is wrong with the ledger, once that was seen."""


class Runner(Protocol):
    """Something that runs a planner beside the page."""

    outlook: Outlook
    demand: Demand
    """The page notes here who asks for rows."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Planner:
    """Does everything slow. What it needs to know is in the ledger, and in `wishes`: who waits."""

    def __init__(self, campaign: Campaign, wishes: Callable[[], Mapping[str, Wish]] = dict) -> None:
        self.campaign, self.wishes = campaign, wishes
        self._seconds: deque[float] = deque(maxlen=ROUNDS)
        self._blind: tuple[int, BlindSpots] | None = None

    def run(self, stopped: Callable[[float], bool], say: Callable[[Outlook], None]) -> None:
        """Work until `stopped(seconds)`, which waits that long for the signal to stop, returns True."""
        outlook, wait, first, about = Outlook(), 0.0, True, (0, 0, False)
        watch = self.campaign.watching()
        while not stopped(wait):
            begun = time.monotonic()
            try:
                closed, planned = self.step()
                self.campaign.keep()
                before, about = about, self._about()
                renew = closed or first or about != before
                found = self.outlook() if renew else replace(outlook, trouble=None)
                wait = 0.0 if closed or planned else EVERY
            except UnskewError as error:
                found, wait = replace(outlook, trouble=str(error)), AFTER_TROUBLE
            found = replace(found, damage=watch.look())
            if first or found != outlook:  # the first time always: it clears the trouble of an earlier planner
                outlook = found
                say(outlook)
            if wait == 0.0 and not first:  # the first round also imports what a fit needs
                self._seconds.append(time.monotonic() - begun)
            first = first and found.trouble is not None

    def _about(self) -> tuple[int, int, bool]:
        """What may change without a label being given, and with it what more labels would do."""
        state = self.campaign.refresh()
        return self.campaign.settings.pool_rows, state.budget, state.arrangement.ended

    def step(self) -> tuple[int, bool]:
        """Choose rows if too few are ready, then close rounds that are due.

        Returns the number of rounds closed, and whether a round was chosen.
        """
        campaign = self.campaign
        state, now = campaign.refresh(), campaign.ledger.now()
        free = sum(row.free(now) for row in state.open.values())
        open = (*state.open.values(), *state.again.values())
        held = Counter(row.holder for row in open if row.holder is not None and not row.free(now))
        ready = rows_ready(self.wishes(), held, max(self._seconds, default=FIRST))
        planned = free < ready and campaign.room(state) > 0 and campaign.plan(max(ROUND, ready))
        return campaign.close_due(), planned

    def spots(self) -> tuple[SpotShown, ...]:
        """The number of labels per thousand rows in the largest blind spots of the log, before the campaign and now."""
        # scikit-learn takes seconds to import, and the page's own process does not need it
        from unskew.campaigns.audit.filling import BlindSpots

        campaign = self.campaign
        answered, settings = campaign.refresh().answered(), campaign.settings
        if self._blind is None or self._blind[0] != settings.pool_rows:
            self._blind = settings.pool_rows, BlindSpots(campaign.log_frame, campaign.pool_sample, settings, most=SPOTS)
        found = self._blind[1].filled(answered)
        return tuple(
            SpotShown(rule=s.rule, share=s.population_share, before=1000 * s.rate_before, now=1000 * s.rate_now)
            for s in found
        )

    def outlook(self) -> Outlook:
        """What more labels would do, and which of those given are in doubt."""
        campaign = self.campaign
        status, measuring = campaign.status(), campaign.measuring()
        found, soon = measuring.ahead(status.more), measuring.ahead(min(AHEAD, status.more or status.unasked))
        then = None if soon is None or soon.half_width >= 1.0 else (soon.left, soon.half_width)
        return Outlook(None, self.spots(), status.spent, found, then, measuring.doubts())


class InProcess:
    """A planner in a process of its own, which is started again if it dies."""

    def __init__(self, dir: Path) -> None:
        self.outlook, self.demand = Outlook(), Demand()
        self._dir = dir
        self._stop = Event()
        self._thread = Thread(target=self._watch, name="unskew-planner", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait a little for the work in hand, then break it off: the ledger holds every round in full or not at all."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                ended = self._run()
                trouble = f"the process that chooses rows ended with status {ended}; it will be started again"
            except OSError as error:
                ended, trouble = None, f"the process that chooses rows cannot be started: {error.strerror}"
            if ended != 0 and not self._stop.is_set():  # if 0, it has reported its trouble itself
                self._say(replace(self.outlook, trouble=trouble))
            self._stop.wait(AFTER_TROUBLE)

    def _run(self) -> int | None:
        """Run one process until it ends or has to stop, and return its status."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        with here, there:
            child = context.Process(target=_child, args=(self._dir, there), daemon=True)
            child.start()
            there.close()
            with suppress(EOFError, OSError):
                while not self._stop.is_set():
                    if here.poll(EVERY):
                        self._heard(here)
        child.join(PATIENCE)  # it notices that the other end of the pipe is closed
        for end in (child.terminate, child.kill):
            if child.exitcode is None:
                end()
                child.join(2)
        return child.exitcode

    def _heard(self, pipe: Connection) -> None:
        """Take in an outlook, or answer the question who asks for rows."""
        outlook: Outlook | None = pipe.recv()
        if outlook is None:
            pipe.send(self.demand.lately())
        else:
            self._say(outlook)

    def _say(self, outlook: Outlook) -> None:
        self.outlook = outlook
        for what in (outlook.trouble, outlook.damage):
            if what:
                _log.warning("%s", what)


def _child(dir: Path, pipe: Connection) -> None:
    """The planner's process. It ends when the page closes its end of the pipe, or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; the page decides when to stop

    def wishes() -> dict[str, Wish]:
        # It asks, instead of being told: what nobody reads would fill the pipe during a long fit.
        pipe.send(None)
        asked: dict[str, Wish] = pipe.recv()
        return asked

    with suppress(EOFError, ConnectionError):
        try:
            with Campaign.open(dir) as campaign:
                Planner(campaign, wishes).run(pipe.poll, pipe.send)
        except UnskewError as error:  # the ledger cannot be opened: report it, and be started again
            pipe.send(Outlook(str(error)))
