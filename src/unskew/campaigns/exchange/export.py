"""A campaign's results for others: the model as one object and as ONNX, and the ledger as a table."""

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
from unskew.campaigns.exchange.readme import NAME, is_listed, listed, written
from unskew.campaigns.ledger.events import Event, Leased, Planned, Recorded
from unskew.writing import Output, unwritable

FILES = ("model.joblib", "model.onnx", "ledger.parquet", NAME)

LEDGER = pl.Schema(
    {
        "event": pl.Int64,
        "at": pl.String,
        "kind": pl.String,
        "actor": pl.String,
        "round": pl.Int64,
        "id": pl.String,
        "place": pl.Int64,
        "reason": pl.String,
        "probability": pl.Float64,
        "label": pl.String,
        "was": pl.String,
        "details": pl.String,
    }
)


@dataclass(frozen=True)
class Exported:
    """The files that were written and, if `model.onnx` is not among them, the reason."""

    files: list[Path]
    no_onnx: str | None


def export(campaign: Campaign, folder: Path | str, *, overwrite: bool = False) -> Exported:
    """Write `model.joblib`, `model.onnx` where that is possible, `ledger.parquet` and `README.txt` into a folder.

    All are written to a temporary folder first and then moved, so that a full disk leaves the old files in place. If
    no ONNX file can be written, that of an earlier export is removed: it would differ from the model beside it. Only
    files of an earlier export are replaced, unless `overwrite` is given.
    """
    out = Path(folder)
    outputs = {name: Output(out / name, "unskew export", is_listed, overwrite, make_folder=True) for name in FILES}
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error) from None
    pipeline = campaign.model()
    decision = campaign.settings.decision(campaign.method().costs.threshold)
    own = campaign.measuring().fitting.own
    versions = None if own is None else own.versions
    table = ledger_frame(campaign.ledger.events(campaign.id))
    content, reason = _onnx(pipeline)
    try:
        with TemporaryDirectory(prefix=".export-", dir=out) as drafts:
            joblib.dump(pipeline, Path(drafts, "model.joblib"), compress=3)
            if content is not None:
                Path(drafts, "model.onnx").write_bytes(content)
            table.write_parquet(Path(drafts, "ledger.parquet"))
            names = [name for name in FILES if Path(drafts, name).exists()]
            beside = written([Path(drafts, name) for name in names], reason, decision, versions)
            before = listed(out)
            outputs[NAME].put_text(beside + "".join(before))  # if this is interrupted, old and new files are listed
            for name, output in outputs.items():
                if name in names:
                    output.put(partial(os.replace, Path(drafts, name)))
                elif name != NAME:
                    output.remove()
            outputs[NAME].put_text(beside)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unwritable(out, error) from None
    return Exported([out / name for name in (*names, NAME)], reason)


def _onnx(pipeline: Pipeline) -> tuple[bytes | None, str | None]:
    """The pipeline as ONNX, or why not."""
    try:
        from unskew.campaigns.exchange.onnx import NotConvertible, to_onnx  # an optional dependency
    except ImportError:
        return None, "skl2onnx is not installed. Install it with: pip install 'unskew[onnx]'"
    try:
        return to_onnx(pipeline), None
    except NotConvertible as error:
        return None, str(error)
    except Exception as error:  # skl2onnx has no error type of its own for what it cannot convert
        return None, f"skl2onnx cannot convert it: {' '.join(str(error).split())[:200]}"


def ledger_frame(events: Iterable[Recorded]) -> pl.DataFrame:
    """The ledger as a table: one row for each event and each row of the pool that the event is about.

    Every lease, answer, skip and correction has the round, reason and probability of its row beside it. So the labels,
    with the probabilities with which they were asked for, are the rows whose `kind` is "answered", "seconded" (by one
    more person, who did not see the others' answers) or "corrected".
    `details` is the rest of the event as JSON: for a planned row, the values that people are shown.

    >>> from unskew.campaigns.ledger.events import Answered, PlannedRow
    >>> row = PlannedRow("17", 16, "drawn", 0.05, {"income": 1.5})
    >>> frame = ledger_frame([Recorded(2, "2026-11-15T10:00:00+00:00", "", Planned(1, (row,), 20)),
    ...                       Recorded(3, "2026-11-15T10:01:00+00:00", "ann", Answered("17", "repaid"))])
    >>> frame.select("event", "kind", "actor", "round", "id", "reason", "probability", "label").rows()
    [(2, 'planned', '', 1, '17', 'drawn', 0.05, None), (3, 'answered', 'ann', 1, '17', 'drawn', 0.05, 'repaid')]
    """
    asked: dict[str, dict[str, Any]] = {}
    rows = []
    for recorded in events:
        for about in _about(recorded.event):
            if recorded.kind == Planned.kind:
                asked[about["id"]] = {key: about[key] for key in ("round", "place", "reason", "probability")}
            known = {**asked.get(about.get("id", ""), {}), **about}
            rest = {key: value for key, value in known.items() if key not in LEDGER}
            one = {"event": recorded.id, "at": recorded.at, "kind": recorded.kind, "actor": recorded.actor}
            one |= {**known, "details": json.dumps(rest) if rest else None}
            rows.append([one.get(name) for name in LEDGER])
    frame = pl.DataFrame(rows, schema=LEDGER, orient="row")
    return frame.with_columns(pl.col("at").str.to_datetime(time_unit="us", time_zone="UTC"))


def _about(event: Event) -> Iterator[dict[str, Any]]:
    """The body of an event, once for each row of the pool it is about. Hashes of tokens are left out."""
    whole = event.as_body()
    body = {key: value for key, value in whole.items() if key not in ("ids", "token_sha256")}
    if isinstance(event, Planned):
        rows = body.pop("rows")
        yield from ({**body, **row} for row in rows)
    elif isinstance(event, Leased):
        yield from ({**body, "id": id} for id in event.ids)
    else:
        yield body
