"""The work behind the page: closes rounds, chooses the next rows ahead of time, looks at the blind spots."""

import logging
import multiprocessing
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from unskew.campaigns import Campaign
from unskew.errors import UnskewError
from unskew.web.models import BlindSpot

AHEAD = 3
"""Rows that should be waiting for each person at work, so that nobody waits while the next are chosen."""
ROUND = 10
"""Rows in a round at least: every round is a fit."""
EVERY, AFTER_TROUBLE = 0.2, 5.0
PATIENCE = 5.0
"""Seconds in which work in hand may come to its end when the page stops."""
SPOTS = 5
"""Blind spots on the page: the largest."""

if TYPE_CHECKING:
    from unskew.campaigns.audit.filling import BlindSpots

_log = logging.getLogger("unskew")


@dataclass(frozen=True)
class Outlook:
    """What the planner has to say: why rows cannot be chosen, while that is so, and where labels are few."""

    trouble: str | None = None
    spots: tuple[BlindSpot, ...] = ()


class Runner(Protocol):
    """Something in which a planner runs beside the page."""

    outlook: Outlook

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Planner:
    """Does what takes long. Everything it needs to know is in the ledger."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._blind: BlindSpots | None = None

    def run(self, stopped: Callable[[float], bool], say: Callable[[Outlook], None]) -> None:
        """Work until `stopped(seconds)`, which waits that long for a stop, says so."""
        outlook, wait, first = Outlook(), 0.0, True
        while not stopped(wait):
            try:
                closed, planned = self.step()
                spots = self.spots() if closed or first else outlook.spots
                found, wait = Outlook(None, spots), 0.0 if closed or planned else EVERY
            except UnskewError as error:
                found, wait = Outlook(str(error), outlook.spots), AFTER_TROUBLE
            if first or found != outlook:  # the first time anyhow: the trouble of a planner before this one is over
                outlook = found
                say(outlook)
            first = first and found.trouble is not None

    def step(self) -> tuple[int, bool]:
        """Choose rows if too few wait, then close the rounds that are due. How many closed, whether one was chosen."""
        campaign = self.campaign
        state, now = campaign.refresh(), campaign.ledger.now()
        free = sum(row.free(now) for row in state.open.values())
        here = {row.holder for row in state.open.values() if not row.free(now)}  # whoever labels holds a row
        wanted = AHEAD * max(1, len(here))
        planned = free < wanted and campaign.room(state) > 0 and campaign.plan(max(ROUND, wanted))
        return campaign.close_due(), planned

    def spots(self) -> tuple[BlindSpot, ...]:
        """Labels per thousand rows in the largest blind spots of the log, by the log alone and by now."""
        from unskew.campaigns.audit.filling import BlindSpots  # not in the page's process, which fits no models

        campaign, settings = self.campaign, self.campaign.settings
        if self._blind is None:
            self._blind = BlindSpots(
                campaign.log_frame,
                campaign.pool_frame,
                campaign.settings["kinds"],
                campaign.settings["label"],
                most=SPOTS,
            )
        found = self._blind.filled(self.campaign.refresh().answered())
        return tuple(
            BlindSpot(rule=s.rule, share=s.population_share, before=1000 * s.rate_before, now=1000 * s.rate_now)
            for s in found
        )


class InProcess:
    """A planner in a process of its own, started again should it die."""

    def __init__(self, dir: Path) -> None:
        self.outlook = Outlook()
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
                trouble = f"the process that chooses rows ended with status {ended}; it is started again"
            except OSError as error:
                ended, trouble = None, f"the process that chooses rows cannot be started: {error.strerror}"
            if ended != 0 and not self._stop.is_set():  # at 0 it has said what its trouble is
                self._say(Outlook(trouble, self.outlook.spots))
            self._stop.wait(AFTER_TROUBLE)

    def _run(self) -> int | None:
        """One process, until it ends or is to stop; its status."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        with here, there:
            child = context.Process(target=_child, args=(self._dir, there), daemon=True)
            child.start()
            there.close()
            with suppress(EOFError, OSError):
                while not self._stop.is_set():
                    if here.poll(EVERY):
                        self._say(here.recv())
        child.join(PATIENCE)  # it sees that its end of the pipe is the last one
        for end in (child.terminate, child.kill):
            if child.exitcode is None:
                end()
                child.join(2)
        return child.exitcode

    def _say(self, outlook: Outlook) -> None:
        self.outlook = outlook
        if outlook.trouble:
            _log.warning("%s", outlook.trouble)


def _child(dir: Path, pipe: Connection) -> None:
    """The planner's process. It ends when the page closes its end of the pipe, also by dying."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to both; the page decides when to stop
    with suppress(BrokenPipeError):
        try:
            with Campaign.open(dir) as campaign:
                Planner(campaign).run(pipe.poll, pipe.send)
        except UnskewError as error:  # the ledger cannot be opened: say why, and be started again
            pipe.send(Outlook(str(error)))
