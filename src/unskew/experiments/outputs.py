"""Everything that a run writes beside its store: data frames, tables, figures and the report.

The same results give the same bytes, so a run that was killed and resumed ends with the same files as one that was not.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import polars as pl

from unskew.experiments import figures, report, tables
from unskew.experiments.store import holds_results
from unskew.experiments.summary import Record, Summary, summarise
from unskew.writing import Output

REPORT = "report.html"
DATA = ("results.parquet", "results.csv", "summary.parquet", "summary.csv", "ratios.csv", "pairs.csv")
TABLES = ("tables.md", "tables.tex")


def check(out: Path, policies: Sequence[str], *, overwrite: bool = False) -> None:
    """Refuse a folder in which the outputs of a run would replace files that no run wrote."""
    pictures = [f"{name}.{kind}" for name in (*_curves(policies), "ratios") for kind in figures.FORMATS]
    for name in (*DATA, *TABLES, *pictures, REPORT):
        _output(out / name, overwrite)


def _curves(policies: Sequence[str]) -> dict[str, str]:
    return {f"curves-{policy}": policy for policy in policies}


def _output(path: Path, overwrite: bool) -> Output:
    """A file of a run. In a folder that holds results of a run, files with these names are a run's."""
    return Output(path, "unskew reproduce", lambda there: holds_results(there.parent), overwrite, make_folder=True)


def write(records: Sequence[Record], out: Path, *, overwrite: bool = False) -> list[Path]:
    """Write all outputs of these results into the folder, and return their paths, the report last."""
    return write_summary(summarise(records), out, overwrite=overwrite)


def write_summary(summary: Summary, out: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the outputs of a summary."""
    check(out, summary.policies, overwrite=overwrite)
    pictures = {
        name: figures.curves_page(summary, policy)
        for name, policy in _curves(summary.policies).items()
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
        "pairs.csv": _csv(pl.concat((summary.pairs, summary.by_policy))),
        "tables.md": tables.markdown(summary).encode(),
        "tables.tex": tables.latex(summary).encode(),
    }
    for name, formats in pictures.items():
        contents |= {f"{name}.{kind}": content for kind, content in formats.items()}
    contents[REPORT] = report.html(summary, {name: formats["png"] for name, formats in pictures.items()}).encode()
    for name, content in contents.items():
        _output(out / name, overwrite).put_bytes(content)
    return [out / name for name in contents]


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv().encode()


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()
