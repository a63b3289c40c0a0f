"""The time from an answer to the next row on the page, for ten annotators at once on a pool of 20,000 rows.

    python -m benchmarks.page [--annotators N] [--pool ROWS] [--think SECONDS] [--answers N] [--json FILE]

Each annotator is a thread with its own connection. It sends an answer, takes the next row from the same reply,
and thinks for an exponentially distributed time. The server runs in one process, the planner in another.
If a reply has no row because the next rows were still being chosen, the time runs until the row arrives.
This is the longest that annotators wait, because the page itself holds one row in advance.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import polars as pl

from unskew.campaigns import Campaign

COLUMNS, LOG_ROWS = 10, 2000
SERVER = """
import sys
from pathlib import Path
from unskew.web import server
from unskew.web.limits import Limits
server.Limits = lambda: Limits(person_rate=1e6, person_burst=10**6)
from unskew.cli.serve import serve
serve(Path(sys.argv[1]), annotator=sys.argv[2:], port=0, as_json=True)
"""


def frame(rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS)).round(4)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.5, rows) > 0, "yes", "no")
    columns = {f"column_{k}": X[:, k] for k in range(COLUMNS)}
    return pl.DataFrame({"id": [str(k) for k in range(rows)], **columns, "y": y})


def begin(folder, pool, budget):
    """Create a campaign on a pool; return its folder and the true label of every id."""
    log, rows = frame(LOG_ROWS, 0), frame(pool, 1)
    seen = pl.Series(np.random.default_rng(2).random(LOG_ROWS) < 0.3)
    log.with_columns(pl.when(seen).then("y").alias("y"), q0=pl.lit(0.3)).write_parquet(folder / "log.parquet")
    rows.drop("y").write_parquet(folder / "pool.parquet")
    Campaign.create(
        folder / "campaign", log=folder / "log.parquet", pool=folder / "pool.parquet", label="y", propensity="q0",
        id="id", budget=budget, same_ids="separate",
    ).close()  # fmt: skip
    return folder / "campaign", dict(zip(rows["id"], rows["y"], strict=True))


def label(address, token, truth, answers, think, times, late):
    rng = random.Random(token)
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:

        def row(work, counted=True):
            while not work["rows"]:
                late.append(counted)
                time.sleep(0.05)
                work = client.post("/api/ask", json={"n": 2}).raise_for_status().json()
            return work["rows"][0]["id"]

        id = row(client.post("/api/ask", json={"n": 2}).raise_for_status().json(), counted=False)
        for _ in range(answers):
            time.sleep(rng.expovariate(1 / think) if think else 0.0)
            start = time.perf_counter()
            said = {"answers": [{"id": id, "label": truth[id]}], "ask": 2}
            id = row(client.post("/api/tell", json=said).raise_for_status().json()["work"])
            times.append(time.perf_counter() - start)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description="Time until the next row.")
    parser.add_argument("--annotators", type=int, default=10)
    parser.add_argument("--pool", type=int, default=20_000)
    parser.add_argument("--think", type=float, default=2.0, help="mean seconds an annotator takes for a row")
    parser.add_argument("--answers", type=int, default=30, help="number of answers of each annotator")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    names = [f"annotator {k}" for k in range(options.annotators)]
    with tempfile.TemporaryDirectory() as folder:
        budget = options.annotators * (options.answers + 20)
        campaign, truth = begin(Path(folder), options.pool, budget)
        command = [sys.executable, "-c", SERVER, str(campaign), *names]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            links = json.loads(server.stdout.readline())
            times, late = [], []
            tokens = [link.partition("#")[2] for link in links["annotators"].values()]
            work = (links["address"], truth, options.answers, options.think, times, late)
            threads = [threading.Thread(target=label, args=(work[0], token, *work[1:])) for token in tokens]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            server.terminate()
    found = {f"{q} %": 1000 * float(np.quantile(times, q / 100)) for q in (50, 90, 99, 100)}
    print(
        f"answer to next row, {options.annotators} annotators, {options.think:g} s a row, pool of {options.pool:,}: "
        + ", ".join(f"{q} {ms:.0f} ms" for q, ms in found.items())
        + f"; {len(times)} answers, {sum(late)} times asked again while rows were being chosen"
    )
    if options.json:
        options.json.write_text(json.dumps(found | {"answers": len(times), "late": sum(late)}, indent=1) + "\n")
    return found


if __name__ == "__main__":
    main()
