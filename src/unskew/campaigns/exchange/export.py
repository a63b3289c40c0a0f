"""What a campaign leaves behind for others: the model as one object and as ONNX, and the ledger as a table."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import polars as pl
from sklearn.pipeline import Pipeline

from unskew.campaigns.campaign import Campaign
from unskew.campaigns.folder import put
from unskew.campaigns.ledger.store import Event
from unskew.errors import InputError, StoreError

FILES = ("model.joblib", "model.onnx", "ledger.parquet")

LEDGER = pl.Schema(
    {
        "event": pl.Int64,
        "at": pl.String,
        "kind": pl.String,
        "actor": pl.String,
        "round": pl.Int64,
        "id": pl.String,
        "place": pl.Int64,
        "rule": pl.String,
        "probability": pl.Float64,
        "label": pl.String,
        "was": pl.String,
        "details": pl.String,
    }
)


@dataclass(frozen=True)
class Exported:
    """The files that were written, and why there is no `model.onnx` among them, if there is none."""

    files: list[Path]
    no_onnx: str | None


def export(campaign: Campaign, folder: Path | str) -> Exported:
    """Write `model.joblib`, `model.onnx` where that is possible, and `ledger.parquet` into a folder.

    All are written aside first and then moved, so that a full disk leaves what was there. A `model.onnx` of an
    earlier export goes where there can be none now: it would be another model than the one beside it.
    """
    out = Path(folder)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out} cannot be made: {error.strerror}. Choose another folder.") from None
    pipeline = campaign.model()
    table = ledger_frame(campaign.ledger.events(campaign.id))
    content, reason = _onnx(pipeline)
    try:
        with TemporaryDirectory(prefix=".export-", dir=out) as drafts:
            joblib.dump(pipeline, Path(drafts, "model.joblib"), compress=3)
            if content is not None:
                Path(drafts, "model.onnx").write_bytes(content)
            table.write_parquet(Path(drafts, "ledger.parquet"))
            names = [name for name in FILES if Path(drafts, name).exists()]
            for name in names:
                put(out / name, partial(os.replace, Path(drafts, name)))
    except (OSError, pl.exceptions.PolarsError) as error:
        told = getattr(error, "strerror", None) or " ".join(str(error).split())[:120]
        raise StoreError(f"{out} cannot be written to: {told}. Make room, or choose another folder.") from None
    if content is None:
        (out / "model.onnx").unlink(missing_ok=True)
    return Exported([out / name for name in names], reason)


def _onnx(pipeline: Pipeline) -> tuple[bytes | None, str | None]:
    """The pipeline as ONNX, or why not."""
    try:
        from unskew.campaigns.exchange.onnx import to_onnx
    except ImportError:
        return None, "skl2onnx is not installed. Install it with: pip install 'unskew[onnx]'"
    try:
        return to_onnx(pipeline), None
    except InputError as error:
        return None, str(error)
    except Exception as error:  # skl2onnx raises whatever it likes on what it cannot convert
        return None, f"skl2onnx cannot convert it: {' '.join(str(error).split())[:200]}"


def ledger_frame(events: Iterable[Event]) -> pl.DataFrame:
    """The ledger as a table: one row for each event and row of the pool it is about.

    Round, rule and probability stand beside every lease, answer, skip and correction, so that the labels with the
    probabilities they were asked with are those rows whose `kind` is "answered" or "corrected". `details` is the
    rest of the event as JSON: on a planned row the values it was shown with.

    >>> planned = {"id": "17", "place": 16, "rule": "audit", "probability": 0.05, "values": {"income": 1.5}}
    >>> events = [Event(2, "2026-11-15T10:00:00+00:00", "planned", "ann", {"round": 1, "rows": [planned], "rest": 20}),
    ...           Event(3, "2026-11-15T10:01:00+00:00", "answered", "ann", {"id": "17", "label": "repaid"})]
    >>> frame = ledger_frame(events)
    >>> frame.select("event", "kind", "actor", "round", "id", "probability", "label").rows()
    [(2, 'planned', 'ann', 1, '17', 0.05, None), (3, 'answered', 'ann', 1, '17', 0.05, 'repaid')]
    """
    asked: dict[str, dict[str, Any]] = {}
    rows = []
    for event in events:
        for about in _about(event):
            if event.kind == "planned":
                asked[about["id"]] = {key: about[key] for key in ("round", "place", "rule", "probability")}
            known = {**asked.get(about.get("id", ""), {}), **about}
            rest = {key: value for key, value in known.items() if key not in LEDGER}
            one = {"event": event.id, "at": event.at, "kind": event.kind, "actor": event.actor, **known}
            one["details"] = json.dumps(rest) if rest else None
            rows.append([one.get(name) for name in LEDGER])
    frame = pl.DataFrame(rows, schema=LEDGER, orient="row")
    return frame.with_columns(pl.col("at").str.to_datetime(time_unit="us", time_zone="UTC"))


def _about(event: Event) -> Iterator[dict[str, Any]]:
    """The body of an event, once for each row of the pool it is about; tokens stay where they are."""
    body = {key: value for key, value in event.body.items() if key not in ("rows", "ids", "token_sha256")}
    if event.kind == "planned":
        yield from ({**body, **row} for row in event.body["rows"])
    elif event.kind == "leased":
        yield from ({**body, "id": id} for id in event.body["ids"])
    else:
        yield body
