"""The paper's four AUC tables and the table of pairs, as Markdown and as LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from unskew.experiments.claims import ALIKE, CLOSE, verdicts
from unskew.experiments.paper import paper_auc
from unskew.experiments.protocols import GRIDS
from unskew.experiments.summary import Summary

NOTES = {
    "planned": (
        "Area under the curve of test error against labels bought, over [0, 2 (B + 1)]: less is better, the least of a "
        "row is in bold, ± one standard error. The label budget B differs from the paper's, so an AUC can be compared "
        "with the others of its row but not with the paper's; ratios can."
    ),
    "stream": (
        "Area under the curve of test error against labels bought, from horizon to horizon, and on to n labels with "
        "the error of the last horizon, where n is the number of rows of the stream: less is better, the least of a "
        "row is in bold, ± one standard error. The text names no range, so an AUC can be compared with the others of "
        "its row but not with the paper's; ratios can."
    ),
}
PAIR_NOTE = (
    "Won: cells with an AUC ratio below 1. Clear: the 95 % interval of the ratio, paired over repeats, excludes 1; it "
    "knows that repeats share rows. Means are geometric; those of the paper are over the same cells."
)
CLAIM_NOTE = (
    "What the paper says of its results, in our words. Numbers of cells won and mean ratios are in the order of the "
    "policies Identical, Uniform, Uncertainty, Certainty, as far as the claim speaks of them. A majority is more than "
    f"half under each of them, close is a mean ratio of at most {CLOSE:g}, or in a single cell an AUC of at most "
    f"{CLOSE:g} times the least, and numbers of best cells are alike if they differ by at most {ALIKE}."
)
STANDING_NOTE = (
    "How many labels a method needs to reach the error at which Passive ends its whole budget B, as a share of B. The "
    "median is over all cells, and counts those that never reach it."
)
EDGE_NOTE = "The number of cells in which the chosen value is the first or the last of the grid."
SUM_NOTE = (
    "The sum that the text prints as AUC has no range of its own: a setting that buys few labels has a small sum. The "
    "table shows which share of the stream the setting with the least sum buys, and the setting chosen above, in the "
    "median cell. Passive buys every row with every setting, so for Passive the sum has a meaning; the last column is "
    "this sum divided by the AUC that the paper prints: the median over all cells, the least and the greatest."
)
PAIR_HEADINGS = (
    "Pair",
    "Cells won",
    "Clear wins",
    "Clear losses",
    "Mean AUC ratio (95 %)",
    "Paper: won",
    "Paper: mean",
)


@dataclass(frozen=True)
class Entry:
    """What a table says about one data set, policy and method."""

    auc: float
    se: float
    least: bool
    setting: str


Row = tuple[str, list[Entry | None]]


def auc_table(summary: Summary, policy: str) -> list[Row]:
    """One row per data set, one entry per method; None if there is no result."""
    found: dict[tuple[str, str], Entry] = {
        (cell["dataset"], cell["method"]): Entry(cell["auc"], cell["auc_se"], cell["least"], setting_text(cell))
        for cell in summary.cells.filter(pl.col("policy") == policy).iter_rows(named=True)
    }
    return [(name, [found.get((name, method)) for method in summary.methods]) for name in summary.datasets]


def setting_text(cell: dict[str, Any]) -> str:
    """The chosen parameters in words; for a method from outside, as recorded."""
    if cell["eta"] is None:
        return str(cell["setting"]).strip("{}").replace('"', "")
    C = "" if cell["C"] is None else f"C = {cell['C']:g}, "
    return f"{C}eta = {cell['eta']:g}"


def pair_rows(summary: Summary, policy: str | None = None) -> list[tuple[str, ...]]:
    """The table of pairs as text, under PAIR_HEADINGS, over all cells or those of one policy."""
    rows: list[tuple[str, ...]] = []
    frame = summary.pairs if policy is None else summary.by_policy.filter(pl.col("policy") == policy)
    for pair in frame.iter_rows(named=True):
        printed = bool(pair["paper_cells"])
        rows.append((
            f"{pair['method']} / {pair['against']}",
            f"{pair['won']} of {pair['cells']}",
            str(pair["clear_wins"]),
            str(pair["clear_losses"]),
            f"{pair['mean_ratio']:.3f} ({pair['low']:.3f} to {pair['high']:.3f})",
            f"{pair['paper_won']} of {pair['paper_cells']}" if printed else "–",
            f"{pair['paper_mean_ratio']:.3f}" if printed else "–",
        ))  # fmt: skip
    return rows


STANDING_HEADINGS = ("Method", "Cells that reach it", "Median share of B")


def standing_rows(summary: Summary) -> list[tuple[str, ...]]:
    """How soon each method is as good as Passive with its whole budget, under STANDING_HEADINGS."""
    rows: list[tuple[str, ...]] = []
    for row in summary.standings.iter_rows(named=True):
        median = row["median_share_of_budget"]
        reached = f"{row['reached']} of {row['targets']}"
        rows.append((row["method"], reached, "–" if median is None else f"{median:.2f}"))
    return rows


CLAIM_HEADINGS = ("Claim", "The paper's tables", "", "Here", "")


def claim_rows(summary: Summary) -> list[tuple[str, ...]]:
    """The table of claims as text, under CLAIM_HEADINGS."""
    words = {True: "**holds**", False: "**does not hold**"}
    return [(one.said, one.printed, words[one.printed_holds], one.found, words[one.holds]) for one in verdicts(summary)]


EDGE_HEADINGS = ("Method", "Cells", "least C", "greatest C", "least eta", "greatest eta")


def edge_rows(summary: Summary) -> list[tuple[str, ...]]:
    """How often the ends of the grid were chosen, under EDGE_HEADINGS; methods that are not tuned are left out."""
    rows: list[tuple[str, ...]] = []
    for method in summary.methods:
        cells = summary.cells.filter(pl.col("method") == method, pl.col("eta").is_not_null())
        if cells.is_empty():
            continue
        ends = []
        for name, values in zip(("C", "eta"), GRIDS[summary.run["grid"]], strict=True):
            tuned = cells[name].null_count() == 0
            ends += [str((cells[name] == end).sum()) if tuned else "–" for end in (min(values), max(values))]
        rows.append((method, str(len(cells)), *ends))
    return rows


SUM_HEADINGS = ("Method", "Bought with the least sum", "Bought as chosen", "Least sum / printed AUC")


def sum_rows(summary: Summary) -> list[tuple[str, ...]]:
    """What the sum as printed would choose, under SUM_HEADINGS."""
    rows: list[tuple[str, ...]] = []
    for method in summary.methods:
        cells = summary.cells.filter(pl.col("method") == method).drop_nulls("least_sum")
        if cells.is_empty():
            continue
        share = [
            float(np.median((cells[name] / cells["label_budget"]).to_numpy()))
            for name in ("least_sum_labels", "labels")
        ]
        beside = [
            cell["least_sum"] / printed
            for cell in cells.iter_rows(named=True)
            if (printed := paper_auc().get((cell["dataset"], cell["policy"], method))) is not None
        ]
        shown = method == "Passive" and beside
        ratio = f"{np.median(beside):.1f} ({min(beside):.1f} to {max(beside):.1f})" if shown else "–"
        rows.append((method, *(f"{100.0 * one:.1f} %" for one in share), ratio))
    return rows


def best_text(summary: Summary) -> str:
    """The number of cells in which each method is best, ours and the paper's."""
    cells = summary.standings["cells"][0]
    ours = ", ".join(f"{name} {best}" for name, best in summary.standings.select("method", "best").iter_rows())
    printed = summary.standings.drop_nulls("paper_best").select("method", "paper_best")
    paper = ", ".join(f"{name} {best}" for name, best in printed.iter_rows())
    where = f"{cells} cell{'s' if cells != 1 else ''}"
    return f"Best of all in {where}: {ours}." + (f" In the paper: {paper}." if paper else "")


def markdown(summary: Summary) -> str:
    """All tables as one Markdown page."""
    parts = ["# AUC of every method", NOTES[summary.run["budget"]]]
    for policy in summary.policies:
        body = [[name, *map(_markdown_entry, row)] for name, row in auc_table(summary, policy)]
        parts += [f"## {policy.capitalize()} policy", _markdown_table(["Data set", *summary.methods], body)]
    if not summary.pairs.is_empty():
        parts += ["## Pairs of methods", PAIR_NOTE, _markdown_table(PAIR_HEADINGS, pair_rows(summary))]
        parts.append(best_text(summary))
        for policy in summary.policies if len(summary.policies) > 1 else ():
            alone = _markdown_table(PAIR_HEADINGS, pair_rows(summary, policy))
            parts += [f"### {policy.capitalize()} policy alone", alone]
    if summary.standings["targets"].sum():
        parts += [
            "## Labels to match Passive",
            STANDING_NOTE,
            _markdown_table(STANDING_HEADINGS, standing_rows(summary)),
        ]
    if claimed := claim_rows(summary):
        parts += ["## Claims of the paper", CLAIM_NOTE, _markdown_table(CLAIM_HEADINGS, claimed)]
    if edges := edge_rows(summary):
        parts += ["## The edges of the grid", EDGE_NOTE, _markdown_table(EDGE_HEADINGS, edges)]
    if summary.run["budget"] == "stream" and (sums := sum_rows(summary)):
        parts += ["## The sum as printed", SUM_NOTE, _markdown_table(SUM_HEADINGS, sums)]
    if not summary.failed.is_empty():
        parts += ["## Failed", _markdown_table(["Data set", "Policy", "Method", "Error"], summary.failed.rows())]
    return "\n\n".join(parts) + "\n"


def _markdown_entry(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    auc = f"**{entry.auc:.2f}**" if entry.least else f"{entry.auc:.2f}"
    return f"{auc} ± {entry.se:.2f}"


def _markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in headings[1:])]
    lines = [headings, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


LATEX_HEAD = r"""% \input this file in a document that has \usepackage{booktabs}, or compile it as it is.
\expandafter\ifx\csname @twoclasseserror\endcsname\documentclass
  \def\unskewtablesend{}
\else
  \documentclass{article}
  \usepackage[a4paper,margin=2cm]{geometry}
  \usepackage{booktabs}
  \begin{document}
  \def\unskewtablesend{\end{document}}
\fi"""  # \documentclass becomes \@twoclasseserror once a document has a class


def latex(summary: Summary) -> str:
    """All tables as LaTeX floats, to be compiled alone or included in a document."""
    parts = [LATEX_HEAD]
    for policy in summary.policies:
        body = [[_escaped(name), *map(_latex_entry, row)] for name, row in auc_table(summary, policy)]
        caption = f"AUC under the {policy.capitalize()} policy, with standard errors"
        headings = ["Data set", *map(_escaped, summary.methods)]
        parts.append(_latex_table(headings, body, caption, f"auc-{policy}"))
    if not summary.pairs.is_empty():
        parts.append(_latex_pairs(summary))
    parts.append(r"\unskewtablesend")
    return "\n\n".join(parts) + "\n"


def _latex_entry(entry: Entry | None) -> str:
    if entry is None:
        return "--"
    auc = rf"\textbf{{{entry.auc:.2f}}}" if entry.least else f"{entry.auc:.2f}"
    return rf"{auc} ({entry.se:.2f})"


def _latex_pairs(summary: Summary) -> str:
    groups = r" & \multicolumn{4}{c}{Ours} & \multicolumn{2}{c}{Paper} \\ \cmidrule(lr){2-5}\cmidrule(l){6-7}"
    headings = ["Pair", "won", "clear wins", "losses", r"mean (95\,\%)", "won", "mean"]
    rows = [[_escaped(cell).replace(" to ", "--") for cell in row] for row in pair_rows(summary)]
    caption = (
        "AUC ratios between methods. Won: cells with a ratio below 1. Clear wins, losses: cells whose "
        r"95\,\% interval, paired over repeats, excludes 1. Means are geometric, the paper's over the same cells"
    )
    return _latex_table(headings, rows, caption, "auc-pairs", groups)


def _latex_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str, groups: str = ""
) -> str:
    lines = [
        r"\begin{table}[htb]",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{caption}}}\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"\toprule",
        *([groups] if groups else []),
        " & ".join(headings) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    for character in "&%#_":
        text = text.replace(character, rf"\{character}")
    return text.replace("–", "--")
