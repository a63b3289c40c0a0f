"""Everything a run leaves beside its store: frames, tables, pictures and the report, each written whole or not at all.

The same results give the same bytes, so a run that was killed and taken up again ends like one that was not.
"""

import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import polars as pl

from unskew.errors import InputError
from unskew.experiments import figures, report, tables
from unskew.experiments.summary import Record, Summary, summarise

REPORT = "report.html"


def write(records: Sequence[Record], out: Path) -> list[Path]:
    """Write all outputs of these results into the folder; their paths, the report last."""
    return write_summary(summarise(records), out)


def write_summary(summary: Summary, out: Path) -> list[Path]:
    """The same from a summary already made."""
    pictures = {
        f"curves-{policy}": figures.curves_page(summary, policy)
        for policy in summary.policies
        if not summary.points.filter(pl.col("policy") == policy).is_empty()
    }
    if not summary.pairs.is_empty():
        pictures["ratios"] = figures.ratio_picture(summary)
    contents = {
        "results.parquet": _parquet(summary.points),
        "results.csv": _csv(summary.points),
        "summary.parquet": _parquet(summary.cells),
        "summary.csv": _csv(summary.cells),
        "ratios.csv": _csv(summary.ratios),
        "pairs.csv": _csv(summary.pairs),
        "tables.md": tables.markdown(summary).encode(),
        "tables.tex": tables.latex(summary).encode(),
    }
    for name, formats in pictures.items():
        contents |= {f"{name}.{kind}": content for kind, content in formats.items()}
    contents[REPORT] = report.html(summary, {name: formats["png"] for name, formats in pictures.items()}).encode()
    try:
        out.mkdir(parents=True, exist_ok=True)
        return [_write(out / name, content) for name, content in contents.items()]
    except OSError as error:
        raise InputError(f"cannot write to {str(out)!r}: {error.strerror}. Make room or name another --out.") from None


def _write(path: Path, content: bytes) -> Path:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
