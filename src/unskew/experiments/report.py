"""The report: one self-contained HTML page, figures included, that prints well."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from unskew.experiments import tables
from unskew.experiments.claims import verdicts
from unskew.experiments.summary import RESAMPLES, Summary
from unskew.pages import png_address, rendered

MARKS = {"win": "clear win", "loss": "clear loss", "noise": "within noise"}


def html(summary: Summary, pictures: Mapping[str, bytes]) -> str:
    """The page of one run; `pictures` are PNG images by name."""
    facts = {
        "run": summary.run,
        "resamples": RESAMPLES,
        "datasets": summary.datasets,
        "policies": summary.policies,
        "methods": summary.methods,
        "pairs": summary.pairs.rows(named=True),
        "standings": summary.standings.rows(named=True),
        "auc": {policy: tables.auc_table(summary, policy) for policy in summary.policies},
        "columns": [f"{pair['method']} / {pair['against']}" for pair in summary.pairs.iter_rows(named=True)],
        "calls": _calls(summary),
        "reach": _reach(summary),
        "plan": _plan(summary),
        "claims": verdicts(summary),
        "claim_note": tables.CLAIM_NOTE,
        "failed": summary.failed.rows(named=True),
        "pictures": {name: png_address(content) for name, content in pictures.items()},
        "marks": MARKS,
    }
    return rendered("unskew.experiments", "report.html.j2", facts)


def _calls(summary: Summary) -> list[tuple[str, list[tuple[str, list[Any]]]]]:
    """By policy and data set, the ratio of each pair in the table of pairs; None if one of the two is missing."""
    pairs = summary.pairs.select("method", "against").rows()
    found = {
        (ratio["policy"], ratio["dataset"], ratio["method"], ratio["against"]): ratio
        for ratio in summary.ratios.iter_rows(named=True)
    }
    return [
        (policy, [(name, [found.get((policy, name, *pair)) for pair in pairs]) for name in summary.datasets])
        for policy in summary.policies
    ]


def _reach(summary: Summary) -> list[tuple[str, list[dict[str, Any]]]]:
    """By policy and data set, the labels each method needs to reach Passive's final error; the fewest are marked."""
    known = summary.cells.filter(pl.col("target_error").is_not_null())
    sections = []
    for policy in summary.policies:
        rows = []
        for name in summary.datasets:
            cell = known.filter(pl.col("policy") == policy, pl.col("dataset") == name)
            if cell.is_empty():
                continue
            needed: dict[str, float | None] = dict(cell.select("method", "labels_to_target").iter_rows())
            rows.append({
                "dataset": name,
                "target": cell["target_error"][0],
                "budget": cell["label_budget"][0],
                "needed": needed,
                "fewest": min((labels for labels in needed.values() if labels is not None), default=None),
            })  # fmt: skip
        if rows:
            sections.append((policy, rows))
    return sections


def _plan(summary: Summary) -> dict[tuple[str, str], tuple[float, int]]:
    """Logged fraction and label budget by data set and policy."""
    frame = summary.cells.select("dataset", "policy", "logged_fraction", "label_budget").unique(maintain_order=True)
    return {(name, policy): (fraction, budget) for name, policy, fraction, budget in frame.iter_rows()}
