"""The pages of curves, one per policy, and the figure of AUC ratios beside the paper's, for A4 and black-and-white.

Every figure is returned as bytes that depend only on the results: no date, no version, no random name.
"""

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from unskew.experiments.summary import Summary
from unskew.methods.registry import PAPER_METHODS
from unskew.rows import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "pdf")
COLUMNS = 3
HEADLINE = (("IDBAL", "Passive"), ("IDBAL", "DBALw"), ("IDBAL", "DBALwm"), ("DBALwm", "DBALw"))
"""The pairs of the ratio figure, in addition to those of methods from outside."""

STYLES = {  # colours apart for the colour-blind (Okabe and Ito), shapes and lines apart for everyone
    "Passive": ("#000000", "o", ":"),
    "DBALw": ("#E69F00", "s", "--"),
    "DBALwm": ("#009E73", "^", "-."),
    "IDBAL": ("#0072B2", "D", "-"),
}
OUTSIDE = (
    ("#D55E00", "v", (0, (5, 1))),
    ("#CC79A7", "P", (0, (3, 1, 1, 1))),
    ("#56B4E9", "X", (0, (1, 1))),
    ("#7F7F7F", "*", (0, (7, 2, 1, 2))),
)
POLICY_MARKERS = {"identical": "o", "uniform": "s", "uncertainty": "^", "certainty": "D", "blind-spot": "P"}
OURS, PAPERS = "#0072B2", "0.4"
WIDEST = (0.4, 2.5)
"""The range of ratios that is drawn to scale."""
RATIO_TICKS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.5)
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same on every machine
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 8.5,
    "axes.linewidth": 0.6,
    "pdf.fonttype": 42,
}


def curves_page(summary: Summary, policy: str) -> dict[str, bytes]:
    """Mean test error against labels, one panel per data set; each panel has its own scales."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    page = summary.points.filter(pl.col("policy") == policy)
    budgets = dict(summary.cells.filter(pl.col("policy") == policy).select("dataset", "label_budget").iter_rows())
    planned = summary.run["budget"] == "planned"
    datasets = [name for name in summary.datasets if name in budgets]
    columns = min(COLUMNS, max(1, len(datasets)))
    rows = max(1, -(-len(datasets) // columns))
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=((4.6, 6.2, 7.5)[columns - 1], 1.2 + 2.3 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, name in zip(grid.flat, datasets, strict=False):
            end = 2 * (budgets[name] + 1) if planned else budgets[name]
            _draw_panel(axes, page.filter(pl.col("dataset") == name), summary.methods, budgets[name], end)
            axes.set_title(name, loc="left", fontweight="bold", pad=4)
        for axes in grid.flat[len(datasets) :]:
            axes.set_visible(False)
        upright = " (grey upright: the label budget B)" if planned else ""
        figure.supxlabel(
            f"labels bought{upright}\neach panel has its own scales; bars: one standard error", fontsize=8.5
        )
        figure.supylabel("test error, %", fontsize=8.5)
        handles = [_handle(name, style(name, summary.methods)) for name in summary.methods]
        title = f"{policy.capitalize()} policy: mean of {summary.run['repeats']} repeats"
        figure.legend(
            handles=handles, loc="outside upper center", ncols=min(len(handles), 2 * columns), frameon=False,
            title=title, title_fontproperties={"size": 10, "weight": "bold"}, handlelength=3.2,
        )  # fmt: skip
        return _saved(figure)


def style(method: str, methods: tuple[str, ...]) -> tuple[str, str, Any]:
    """Colour, marker and line of a method; methods from outside get the remaining ones in order."""
    if method in STYLES:
        return STYLES[method]
    outside = [name for name in methods if name not in STYLES]
    return OUTSIDE[outside.index(method) % len(OUTSIDE)]


def _handle(name: str, look: tuple[str, str, Any]) -> Any:
    from matplotlib.lines import Line2D

    colour, marker, line = look
    return Line2D([], [], color=colour, marker=marker, linestyle=line, markersize=4, linewidth=1.2, label=name)


def _draw_panel(axes: "Axes", points: pl.DataFrame, methods: tuple[str, ...], budget: int, end: int) -> None:
    """`end` is the range of the AUC."""
    from matplotlib.ticker import MaxNLocator

    lowest, highest = np.inf, -np.inf
    for k, name in enumerate(methods):
        mine = points.filter(pl.col("method") == name).sort("labels", maintain_order=True)
        if mine.is_empty():
            continue
        labels, labels_se, error, error_se = (
            mine[column].to_numpy() for column in ("labels", "labels_se", "error", "error_se")
        )
        colour, marker, line = style(name, methods)
        axes.errorbar(
            labels, 100 * error, xerr=labels_se, yerr=100 * error_se, color=colour, marker=marker, linestyle=line,
            markersize=3.2, linewidth=1.1, elinewidth=0.6, markeredgewidth=0.4,
            zorder=3 + len(methods) - k,  # DBALw may run along Passive: the dotted line goes on top of the dashed one
        )  # fmt: skip
        seen = labels <= end
        lowest = min(lowest, float(np.min((error - error_se)[seen])))
        highest = max(highest, float(np.max((error + error_se)[seen])))
    axes.axvline(budget, color="0.7", linewidth=1.6, zorder=0)
    axes.set_xlim(-0.03 * end, end)
    margin = 0.06 * (highest - lowest) + 1e-3
    axes.set_ylim(100 * max(lowest - margin, -0.005), 100 * (highest + margin))
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def ratio_picture(summary: Summary) -> dict[str, bytes]:
    """AUC ratios of the headline pairs, one dot per cell, ours above the paper's, with geometric means."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with mpl.rc_context(SETTINGS):
        strips = _strips(summary, _pictured(summary))
        figure = Figure(figsize=(7.5, 1.3 + 0.62 * len(strips)), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale("log")
        low, high = _ratio_range(strips)
        axes.set_xlim(low / 1.03, high * 1.03)
        for strip in strips:
            _draw_strip(axes, strip, low, high)
            axes.annotate(
                f"{strip.mean:.3f}", (1.02, strip.level), xycoords=("axes fraction", "data"), va="center",
                fontweight="bold" if strip.ours else "normal",
            )  # fmt: skip
        axes.annotate("mean", (1.02, 0.85), xycoords=("axes fraction", "data"), va="center")
        _ratio_ticks(axes, low, high)
        axes.axvline(1.0, color="0.6", linewidth=1.2, zorder=0)
        axes.set_yticks([strip.level for strip in strips], [strip.title for strip in strips])
        axes.tick_params(axis="y", length=0, pad=6)
        axes.set_ylim(strips[-1].level - 0.65, 0.65)
        axes.set_xlabel("AUC ratio, log scale: left of 1 the first method is the better one")
        axes.grid(axis="x", alpha=0.25, linewidth=0.5)
        axes.spines[["top", "right", "left"]].set_visible(False)
        handles = [
            Line2D([], [], linestyle="", marker=POLICY_MARKERS[name], color=OURS, markersize=4.5, label=name)
            for name in summary.policies
        ]
        mean = Line2D([], [], linestyle="", marker="|", color="black", markersize=12, markeredgewidth=1.6)
        mean.set_label("geometric mean")
        figure.legend(handles=[*handles, mean], loc="outside upper center", ncols=6, frameon=False, handletextpad=0.3)
        return _saved(figure)


@dataclass(frozen=True)
class Strip:
    """The ratios of one pair in all cells, ours or the paper's, at one height of the figure."""

    title: str
    ours: bool
    level: float
    ratios: Floats
    policies: list[str]
    mean: float


def _strips(summary: Summary, pairs: list[tuple[str, str]]) -> list[Strip]:
    strips: list[Strip] = []
    for method, against in pairs:
        this = (pl.col("method") == method, pl.col("against") == against)
        means = summary.pairs.filter(*this).row(0, named=True)
        for ours in (True, False):
            column, mean = ("ratio", "mean_ratio") if ours else ("paper_ratio", "paper_mean_ratio")
            frame = summary.ratios.filter(*this).drop_nulls(column).sort(column, maintain_order=True)
            if frame.is_empty():
                continue
            title = f"{method} / {against}" if ours else "in the paper"
            level = strips[-1].level - (1.3 if ours else 1.0) if strips else 0.0
            strips.append(Strip(title, ours, level, frame[column].to_numpy(), frame["policy"].to_list(), means[mean]))
    return strips


def _ratio_range(strips: list[Strip]) -> tuple[float, float]:
    """An axis wide enough for all ratios, within limits; ratios beyond them are drawn as arrows at the edge."""
    drawn = np.concatenate([strip.ratios for strip in strips])
    low, high = WIDEST
    return max(low, min(0.8, float(drawn.min()) / 1.04)), min(high, max(1.2, float(drawn.max()) * 1.04))


def _pictured(summary: Summary) -> list[tuple[str, str]]:
    """The headline pairs and those of methods from outside that were run; all pairs if there are none of these."""
    run = [(method, against) for method, against in summary.pairs.select("method", "against").iter_rows()]
    return [pair for pair in run if pair in HEADLINE or pair[0] not in PAPER_METHODS] or run


def _draw_strip(axes: "Axes", strip: Strip, low: float, high: float) -> None:
    colour = OURS if strip.ours else PAPERS
    heights = strip.level + 0.11 * _spread(np.log(strip.ratios), 0.018 * np.log(high / low))
    inside = (strip.ratios >= low) & (strip.ratios <= high)
    for policy, marker in POLICY_MARKERS.items():
        mine = inside & (np.array(strip.policies) == policy)
        axes.scatter(
            strip.ratios[mine], heights[mine], s=26 if marker == "^" else 18, marker=marker, linewidths=0.7, zorder=3,
            facecolors=colour if strip.ours else "none", edgecolors="white" if strip.ours else colour,
        )  # fmt: skip
    axes.plot([strip.mean] * 2, [strip.level - 0.46, strip.level + 0.46], color="black", linewidth=1.6, zorder=4)
    for edge, beyond, marker, inwards in (
        (low, strip.ratios[strip.ratios < low], "<", 1),
        (high, strip.ratios[strip.ratios > high], ">", -1),
    ):
        if beyond.size:
            axes.plot(edge, strip.level, marker=marker, color=colour, markersize=5, clip_on=False, zorder=5)
            axes.annotate(
                ", ".join(f"{ratio:.2g}" for ratio in beyond), (edge, strip.level), xytext=(7 * inwards, 0),
                textcoords="offset points", va="center", ha="left" if inwards > 0 else "right", fontsize=7,
            )  # fmt: skip


def _spread(values: Floats, width: float) -> Floats:
    """Steps up and down, so that dots at ascending values do not overlap if they are less than `width` apart."""
    steps = np.array([0, 1, -1, 2, -2, 3, -3])
    chosen = np.zeros(len(values), dtype=int)
    last = dict.fromkeys(range(len(steps)), -np.inf)
    for i, value in enumerate(values):
        free = [k for k in range(len(steps)) if value - last[k] >= width]
        k = free[0] if free else min(last, key=last.__getitem__)
        chosen[i], last[k] = steps[k], value
    return chosen.astype(float)


def _ratio_ticks(axes: "Axes", low: float, high: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.xaxis.set_major_locator(FixedLocator([tick for tick in RATIO_TICKS if low <= tick <= high]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _saved(figure: "Figure") -> dict[str, bytes]:
    """The figure in every format, without the metadata that would differ from run to run."""
    nothing: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    saved = {}
    for kind in FORMATS:
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, dpi=170, metadata=nothing[kind])
        saved[kind] = buffer.getvalue()
    return saved
