"""What a long history costs: open, ask, tell, status and the page at 1,000 events and at a million.

    python -m benchmarks.history [--events N] [--rows N] [--natural N] [--runs N] [--write docs/tables/history.md]

A campaign of `--rows` labels gets a history of 1,000 events, and a copy of it one of `--events`: rows are leased
again, answers taken back and given again, corrected there and back, and every row has 20 comments. In the end both
have the same rows and labels. The events are appended as a transaction of the campaign would do it, chained. A third
campaign has `--natural` events of which every one that can is an answer to another row, so that its state grows too.

Each figure is the median of `--runs` processes, but those that read every event are of one. Modules are imported before
the clock starts. The processor time is that of all threads; wall time includes whatever else the machine does.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path

import numpy as np
import polars as pl

from unskew.campaigns import Campaign
from unskew.campaigns.ledger.events import Answered, Closed, Commented, Corrected, Leased, Planned, PlannedRow, Undone
from unskew.campaigns.user_cache import user_cache

COLUMNS, LOG_ROWS, OPEN, COMMENTS, BATCH = 6, 400, 200, 20, 20_000
FEW = 1000
UNTIL = datetime(2027, 1, 1, tzinfo=UTC)


def frame(rows, seed):
    x = np.random.default_rng(seed).normal(size=(rows, COLUMNS)).round(4)
    columns = {f"column_{k}": x[:, k] for k in range(COLUMNS)}
    return pl.DataFrame({"id": [str(k) for k in range(rows)], **columns, "y": np.where(x[:, 0] > 0, "yes", "no")})


def begin(folder, pool):
    folder.mkdir(parents=True)
    seen = pl.Series(np.random.default_rng(2).random(LOG_ROWS) < 0.3)
    log = frame(LOG_ROWS, 0).with_columns(pl.when(seen).then("y").alias("y"), q0=pl.lit(0.3))
    log.write_parquet(folder / "log.parquet")
    frame(pool, 1).drop("y").write_parquet(folder / "pool.parquet")
    return Campaign.create(
        folder / "campaign", log=folder / "log.parquet", pool=folder / "pool.parquet", label="y", propensity="q0",
        id="id", budget=pool, same_ids="separate", lease=timedelta(hours=12),
    )  # fmt: skip


def append(campaign, events):
    """Append (event, actor) pairs, many in one transaction."""
    while some := list(islice(events, BATCH)):
        with campaign.ledger.writing(campaign.id) as write:
            begun = 0
            for end in range(1, len(some) + 1):
                if end == len(some) or some[end][1] != some[begun][1]:
                    write.append(*(event for event, _ in some[begun:end]), by=some[begun][1])
                    begun = end


def answer(campaign, rows):
    """Plan, hand out and answer that number of rows, and plan some more that stay open."""
    while len(campaign.state.rows) < rows:
        campaign.tell({row.id: "yes" for row in campaign.ask(50, by="ada")}, by="ada")
    campaign.close_due()
    campaign.plan(OPEN)


def history(campaign, wanted):
    """Events that end where they begin, so that the number of events of the campaign is the one wanted."""
    state = campaign.state
    done = [row for row in state.rows.values() if row.done]
    waiting = [row.id for row in state.open.values()][: OPEN // 2]  # others stay free to be asked for
    closing = [(batch.closed, "") for batch in state.batches if batch.closed is not None]
    left = wanted - campaign.ledger.last(campaign.id).number - len(closing)

    def there_and_back() -> Iterator[list]:
        for k, row in zip(count(), cycle(done), strict=False):
            if k < COMMENTS * len(done):
                yield [(Commented(row.id, "The note says something else than the table. Who knows?"), "ada")]
            yield [(Undone(row.id, row.label, UNTIL), "ada"), (Answered(row.id, row.label), "ada")]
            yield [(Corrected(row.id, "no", was="yes"), "ada"), (Corrected(row.id, "yes", was="no"), "ada")]
            yield [(Leased((waiting[k % len(waiting)],), UNTIL), "bob")]

    written = 0
    for events in there_and_back():
        if written + len(events) > left:
            break
        written += len(events)
        yield from events
    yield from islice(cycle([(Leased((waiting[0],), UNTIL), "bob")]), left - written)
    yield from closing


def natural(campaign, events):
    """Rounds of 50 rows, leased five at a time and answered: 61 events for 50 answers, and one to close the round."""
    closed = campaign.state.batches[0].closed
    asked = {row.place for row in campaign.state.rows.values()}
    free = (place for place in count() if place not in asked)
    labels = campaign.state.spent
    for number in range(len(campaign.state.batches) + 1, len(campaign.state.batches) + 1 + events // 62):
        places, labels = list(islice(free, 50)), labels + 50
        rows = tuple(
            PlannedRow(str(p), p, "drawn", 0.5, {f"column_{k}": p / (k + 7) for k in range(COLUMNS)}) for p in places
        )
        yield Planned(number, rows, 10**6, "model", 0.1), ""
        for some in (rows[k : k + 5] for k in range(0, 50, 5)):
            yield Leased(tuple(row.id for row in some), UNTIL), "ada"
            yield from ((Answered(row.id, "yes"), "ada") for row in some)
        yield Closed(number, labels, closed.error, closed.prospect, closed.others), ""


# One process for one figure


def timed(work: Callable[[], object]):
    wall, processor = time.perf_counter(), time.process_time()
    work()
    found = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}
    memory = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return found | {"memory": int(memory[1]) / 1024}


def one(what, folder):
    """The figures of one operation, in this process."""
    if what in ("progress", "label"):
        return page(what, folder)
    if what in ("open", "first open"):
        campaign = None

        def opened():
            nonlocal campaign
            campaign = Campaign.open(folder)
            return campaign.state

        if what == "first open":
            shutil.rmtree(user_cache(), ignore_errors=True)
        found = timed(opened)
        campaign.close()  # which may keep a snapshot
        return found
    with Campaign.open(folder) as campaign:
        if what == "verify":
            return timed(campaign.verify)
        campaign.refresh()
        if what == "ask":
            return timed(lambda: campaign.ask(5, by="eve"))
        if what == "tell":
            rows = campaign.ask(5, by="eve")
            return timed(lambda: campaign.tell({row.id: "yes" for row in rows}, by="eve"))
        return timed(campaign.status)


class Nobody:
    """A planner that does nothing."""

    def __init__(self):
        from unskew.web.planner import Outlook

        self.outlook = Outlook()

    def start(self):
        pass

    stop = start


def page(what, folder):
    """The middle one of 20 requests to the page, in this process."""
    from fastapi.testclient import TestClient

    from unskew.web.access import Admins
    from unskew.web.app import create_app

    with Campaign.open(folder) as campaign:
        admins = Admins("grace", campaign.id)
        app = create_app(campaign, Nobody(), name="history", admins=admins, limits=None)
        with TestClient(app) as client:
            code = admins.code() if what == "progress" else campaign.invite("eve")
            client.post("/api/enter", json={"code": code}).raise_for_status()
            path = "/api/status" if what == "progress" else "/label"
            found = [timed(lambda: client.get(path).raise_for_status()) for _ in range(20)]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def measured(what, folder, runs):
    command = [sys.executable, "-m", "benchmarks.history", "--one", what, str(folder)]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(runs)
    ]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


WORDS = {
    "open": "open the campaign",
    "ask": "`ask` for 5 rows that are planned",
    "tell": "`tell` 5 answers",
    "status": "`status`",
    "progress": "the progress page's figures",
    "label": "the page for labelling",
    "first open": "open without a snapshot",
    "verify": "`verify`",
}


def markdown(figures, columns, options):
    head = [f"{name}: wall, processor, memory" for name in columns]
    lines = [f"| | {' | '.join(head)} | times the processor time |", f"|---|{'---:|' * (len(columns) + 1)}"]
    for what, words in WORDS.items():
        cells = [
            f"{1000 * one['wall']:,.0f} ms, {1000 * one['processor']:,.0f} ms, {one['memory']:,.0f} MB"
            for one in (figures[name][what] for name in columns)
        ]
        few, many = (figures[name][what]["processor"] for name in list(columns)[:2])
        lines.append(f"| {words} | {' | '.join(cells)} | {many / few:.1f} |")
    sizes = "; ".join(f"{name}: {one['ledger']:,.1f} MB, {one['snapshot']:,.1f} MB" for name, one in columns.items())
    machine = f"{len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"
    given = f"--events {options.events} --rows {options.rows} --natural {options.natural}"
    return "\n".join(
        [
            f"`python -m benchmarks.history {given}`",
            "",
            *lines,
            "",
            f"Medians of {options.runs} processes, {machine}. Ledger and snapshot: {sizes}.",
            "",
        ]
    )


def megabytes(path):
    return sum(file.stat().st_size for file in path) / 1e6


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.history", description="What a long history costs.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--natural", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    parser.add_argument("--one", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(one(options.one[0], Path(options.one[1]))))
        return None
    with tempfile.TemporaryDirectory() as scratch:
        few, many, answers = (Path(scratch, name) for name in ("few", "many", "natural"))
        with begin(few, options.rows + 2 * OPEN) as campaign:
            answer(campaign, options.rows)
        shutil.copytree(few, many)
        for folder, events in ((few, FEW), (many, options.events)):
            with Campaign.open(folder / "campaign") as campaign:
                append(campaign, history(campaign, events))
        with begin(answers, options.natural) as campaign:
            answer(campaign, 50)
            append(campaign, natural(campaign, options.natural))
        figures, columns = {}, {}
        names = (f"{FEW:,} events", f"{options.events:,} events", f"{options.natural:,} events, most of them answers")
        for name, folder in zip(names, (few, many, answers), strict=True):
            os.environ["XDG_CACHE_HOME"] = str(folder / "home")
            place = folder / "campaign"
            figures[name] = {what: measured(what, place, 1) for what in ("first open", "verify")}
            figures[name] |= {what: measured(what, place, options.runs) for what in WORDS if what not in figures[name]}
            columns[name] = {
                "ledger": megabytes(place.glob("ledger.sqlite*")),
                "snapshot": megabytes(user_cache().glob("ledger-*/*")),
            }
    table = markdown(figures, columns, options)
    print(table)
    if options.write:
        options.write.write_text(table)
    return figures


if __name__ == "__main__":
    main()
