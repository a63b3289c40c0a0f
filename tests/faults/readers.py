"""Every reader of files, called as a black box with bytes: it returns, or it refuses with an error of ours."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from faults import inputs
from faults.scene import ID, LABEL, truth
from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.exchange.label_files import answers
from unskew.campaigns.tables.files import check_log, check_pool, read_table

SECRET = "hunter2"
"""A password. No message may show it."""


@dataclass(frozen=True)
class Reader:
    """The inputs, and the call that takes one."""

    inputs: st.SearchStrategy[bytes]
    read: Callable[[bytes], object]


def readers(scratch: Path, campaign: Path) -> dict[str, Reader]:
    """All of them, by their names in the table of figures. `campaign` is copied, and the tables beside it are read."""
    folder = scratch / "loans"
    shutil.copytree(campaign, folder)
    log, pool = (pl.read_parquet(campaign.parent / f"{name}.parquet") for name in ("log", "pool"))
    few, many, some = log.head(40), log.head(120), pool.head(40)
    opened = Campaign.open(folder)
    rows = opened.ask(20, by="ann")
    marker = json.loads((folder / "campaign.json").read_text())
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as ledger:
        settings = json.loads(ledger.execute("SELECT settings FROM campaigns").fetchone()[0])

    def put(name: str, raw: bytes) -> Path:
        path = scratch / name
        path.write_bytes(raw)
        return path

    def read_log(path: Path) -> None:
        check_log(read_table(path, name="the log"), LABEL, "q0", ID)

    def read_pool(path: Path) -> None:
        check_pool(log, read_table(path, text=[ID, "purpose"], name="the pool"), LABEL, "q0", ID)

    def tell(path: Path) -> None:
        lines, _ = answers(path, opened.settings)
        opened.tell_lines(lines, by="ann")

    def start(path: Path) -> None:
        made = scratch / "made"
        shutil.rmtree(made, ignore_errors=True)
        Campaign.create(made, log=path, pool=scratch / "pool.parquet", label=LABEL, propensity="q0", id=ID,
                        budget=5).close()  # fmt: skip

    def open_marker(raw: bytes) -> None:
        (folder / "campaign.json").write_bytes(raw)
        with Campaign.open(folder) as again:
            again.status()

    def open_settings(raw: bytes) -> None:
        changed = scratch / "changed"
        shutil.rmtree(changed, ignore_errors=True)
        shutil.copytree(campaign, changed, copy_function=_link_tables, ignore=shutil.ignore_patterns("cache"))
        with closing(sqlite3.connect(changed / "ledger.sqlite")) as ledger, ledger:
            for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                ledger.execute(f"DROP TRIGGER {name}")
            ledger.execute("UPDATE campaigns SET settings = ?", (raw.decode("utf-8", "replace"),))
        with Campaign.open(changed) as again:
            again.status()
            again.hand_out(1, by="ann")

    def of(name: str, call: Callable[[Path], object]) -> Callable[[bytes], object]:
        return lambda raw: call(put(name, raw))

    put("pool.parquet", (campaign.parent / "pool.parquet").read_bytes())
    csv, known = inputs.csv_bytes(few), [{"id": row.id, "label": truth(row.id)} for row in rows]
    labels = pl.DataFrame({ID: [one["id"] for one in known], LABEL: [one["label"] for one in known]})
    stores = st.sampled_from([
        f"postgresql://u:{SECRET}@127.0.0.1:1/x", f"postgresql://u:{SECRET}@127.0.0.1:port/x",
        f"postgresql://127.0.0.1:1/x?password={SECRET}", f"postgres//u:{SECRET}@127.0.0.1/x", "sqlite:////tmp/odd",
        f"mysql://u:{SECRET}@127.0.0.1/x", "sqlite://", "", 3, [], {"a": 1},
    ])  # fmt: skip
    markers = st.one_of(inputs.json_bytes(marker), stores.map(lambda store: inputs.dumped({**marker, "store": store})))
    return {
        "log, CSV": Reader(csv, of("log.csv", read_log)),
        "log, CSV in gzip": Reader(inputs.zipped(csv), of("log.csv.gz", read_log)),
        "log, TSV": Reader(inputs.csv_bytes(few, "\t"), of("log.tsv", read_log)),
        "log, Parquet": Reader(inputs.parquet_bytes(few), of("log.parquet", read_log)),
        "pool, CSV": Reader(inputs.csv_bytes(some), of("pool.csv", read_pool)),
        "pool, Parquet": Reader(inputs.parquet_bytes(some), of("rows.parquet", read_pool)),
        "labels, CSV": Reader(inputs.csv_bytes(labels), of("said.csv", tell)),
        "labels, JSON lines": Reader(inputs.json_lines(known), of("said.jsonl", tell)),
        "labels, Label Studio's JSON": Reader(inputs.json_bytes(*exports(rows)), of("said.json", tell)),
        "campaign.json": Reader(markers, open_marker),
        "settings in the ledger": Reader(inputs.json_bytes(settings), open_settings),
        "unskew audit": Reader(inputs.csv_bytes(many), of("audit.csv", lambda p: audit_log(p, LABEL, "q0", ID))),
        "unskew start": Reader(inputs.csv_bytes(many), of("start.csv", start)),
        "unskew predict": Reader(inputs.csv_bytes(some), of("predict.csv", lambda p: opened.predict(p))),
    }


def _link_tables(source: str, target: str) -> None:
    """Copy a file; large ones, which never change, need no copy."""
    (os.link if source.endswith(".parquet") else shutil.copy2)(source, target)


def exports(rows: list[Any]) -> list[Any]:
    """Label Studio's two exports, as it writes them."""
    full = [
        {
            "id": k, "data": {"unskew_id": row.id, "unskew_round": 1, "unskew_probability": 0.5, "row": {"x": 1}},
            "annotations": [{
                "id": k, "completed_by": 1, "was_cancelled": False, "updated_at": "2026-01-01T00:00:00Z",
                "result": [{"from_name": "label", "to_name": "row", "type": "choices",
                            "value": {"choices": [truth(row.id)]}}],
            }],
        }
        for k, row in enumerate(rows[:3])
    ]  # fmt: skip
    short = [
        {
            "unskew_id": row.id,
            "annotation_id": k + 1,
            "annotator": 1,
            "updated_at": "2026-01-01",
            "label": truth(row.id),
        }
        for k, row in enumerate(rows[:3])
    ]
    return [full, short]
