"""Everything that a run writes beside its store: data frames, tables, figures and the report.

The same results give the same bytes, so a run that was killed and resumed ends with the same files as one that was not.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import polars as pl

from unskew.experiments import figures, report, tables
from unskew.experiments.summary import Record, Summary, summarise
from unskew.writing import put_bytes, unwritable

REPORT = "report.html"


def write(records: Sequence[Record], out: Path) -> list[Path]:
    """Write all outputs of these results into the folder, and return their paths, the report last."""
    return write_summary(summarise(records), out)


def write_summary(summary: Summary, out: Path) -> list[Path]:
    """Write the outputs of a summary."""
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
    except OSError as error:
        raise unwritable(out, error) from None
    for name, content in contents.items():
        put_bytes(out / name, content)
    return [out / name for name in contents]


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
