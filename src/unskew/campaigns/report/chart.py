"""Pictures for a page: how good the model is by the number of labels, over thresholds; which columns drive it.

Their colours are those of the page, light or dark: matplotlib draws with the colours below, and in the SVG each becomes
a variable of the page's look (`templates/look.css`).
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from unskew.rows import Floats

if TYPE_CHECKING:
    from unskew.campaigns.learning.drivers import Driver
    from unskew.estimation.everyone import AtThreshold

ACCENT, OTHER, SOFT, LINE, EDGE = "#0b6e75", "#6a4a8c", "#566473", "#dde2e7", "#828f9b"
VARIABLES = {ACCENT: "accent", OTHER: "other", SOFT: "soft", LINE: "line", EDGE: "edge"}


class ChartPoint(NamedTuple):
    """An estimate, the number of labels it rests on, and how often the pool had grown by then."""

    labels: int
    value: float
    low: float
    high: float
    grown: int = 0


AXES = {"error": "error on everyone, %", "cost": "cost of a row", "recall": "recall, %"}


def chart(
    points: Sequence[ChartPoint],
    budget: int,
    measure: str = "error",
    wanted: float | None = None,
    *,
    narrow: bool = False,
) -> str:
    """The estimates of a measure with their intervals as SVG, for a wide page or for a phone.

    A dotted line marks the value that is `wanted`, if there is one. Where the pool grew, the line breaks.

    >>> chart([ChartPoint(0, 0.33, 0.17, 0.49), ChartPoint(20, 0.2, 0.11, 0.3)], 100).startswith("<svg ")
    True
    """
    unit = 1.0 if measure == "cost" else 100.0
    with _drawn("narrow" if narrow else "wide", narrow) as (axes, picture):
        labels = [point.labels for point in points]
        for _, some in groupby(points, key=lambda point: point.grown):
            at, value, low, high, _ = np.array(list(some), dtype=np.float64).T * [[1.0], [unit], [unit], [unit], [1.0]]
            axes.fill_between(at, low, high, color=ACCENT, alpha=0.14, linewidth=0)
            axes.vlines(at, low, high, color=ACCENT, alpha=0.45, linewidth=1.0)
            axes.plot(at, value, color=ACCENT, linewidth=2.0, marker="o", markersize=4.5)
            if at[0] > labels[0]:
                axes.axvline(at[0], color=SOFT, linewidth=1.0, linestyle=":")
        most = 1.08 * unit * max(point.high for point in points)
        if wanted is not None:
            axes.axhline(unit * wanted, color=SOFT, linewidth=1.0, linestyle=":")
            most = max(most, 1.08 * unit * wanted)
        axes.set_xlim(-0.02 * budget, 1.02 * max(budget, labels[-1]))
        axes.set_ylim(0, most if measure == "cost" else min(100.0, most))
        axes.set_xlabel("labels spent", color=SOFT)
        axes.set_ylabel(AXES[measure], color=SOFT)
    return picture[0]


def threshold_chart(points: Sequence["AtThreshold"], decided: float, *, narrow: bool = False) -> str:
    """Recall and precision over thresholds, with their intervals, as SVG; a line marks the threshold that `decided`.

    >>> from unskew.estimation.everyone import AtThreshold
    >>> from unskew.estimation.population import Side
    >>> threshold_chart([AtThreshold(0.1, Side(0.9, 0.8, 1.0), None)], 0.5).startswith("<svg ")
    True
    """
    with _drawn("thresholds, narrow" if narrow else "thresholds, wide", narrow) as (axes, picture):
        for colour, dashes, name in ((ACCENT, "-", "recall"), (OTHER, "--", "precision")):
            some = [(at.threshold, *side) for at in points if (side := getattr(at, name)) is not None]
            at, value, low, high = 100.0 * np.array(some).reshape(-1, 4).T
            axes.fill_between(at, low, high, color=colour, alpha=0.14, linewidth=0)
            axes.plot(at, value, dashes, color=colour, linewidth=2.0, label=name)
        axes.axvline(100 * decided, color=SOFT, linewidth=1.0, linestyle=":")
        axes.set_xscale("function", functions=(_logit, _expit))
        ticks = (1, 10, 50, 90, 99) if narrow else (1, 3, 10, 25, 50, 75, 90, 97, 99)
        axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
        axes.set_xlim(1, 99)
        axes.set_ylim(0, 100)
        axes.set_xlabel("flagged from this probability on, %", color=SOFT)
        axes.set_ylabel("on everyone, %", color=SOFT)
        axes.legend(frameon=False, labelcolor=SOFT, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    return picture[0]


def importance_chart(columns: Sequence["Driver"], *, narrow: bool = False) -> str:
    """How much the log loss rises without each of these columns, with its interval, as SVG.

    >>> from unskew.campaigns.learning.drivers import Driver, Rise
    >>> importance_chart([Driver("income", Rise(0.2, 0.1, 0.3), Rise(0.0, 0.0, 0.0))]).startswith("<svg ")
    True
    """
    name, longest, height = f"drivers, {'narrow' if narrow else 'wide'}", 16 if narrow else 32, 0.9 + 0.3 * len(columns)
    with _drawn(name, narrow, height=height, grid="x") as (axes, picture):
        at = range(len(columns))
        value, low, high = np.array([one.log_loss for one in columns]).T
        axes.barh(at, value, height=0.55, color=ACCENT, alpha=0.55)
        axes.hlines(at, low, high, color=ACCENT, linewidth=1.6)
        axes.axvline(0.0, color=SOFT, linewidth=1.0)
        axes.set_yticks(at, [_short(one.column, longest) for one in columns])
        axes.invert_yaxis()
        axes.set_xlabel("log loss rises by", color=SOFT)
    return picture[0]


def _short(name: str, longest: int) -> str:
    """A name that fits beside a bar; a dollar sign does not begin a formula, and what cannot be shown is marked."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    return (shown if len(shown) <= longest else f"{shown[: longest - 1]}…").replace("$", r"\$")


def _logit(percent: Floats) -> Floats:
    p = np.clip(percent / 100.0, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(p / (1.0 - p)))


def _expit(x: Floats) -> Floats:
    return np.asarray(100.0 / (1.0 + np.exp(-x)))


@contextmanager
def _drawn(
    name: str, narrow: bool, *, height: float | None = None, grid: Literal["x", "y"] = "y"
) -> Iterator[tuple[Any, list[str]]]:
    """Axes to draw on, and a list that then holds the SVG; `name` makes the names in it unlike those of others."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    picture: list[str] = []
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif", "font.size": 10.0}):
        size = (3.9, height or 3.1) if narrow else (8.2, height or 3.4)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        yield axes, picture
        axes.tick_params(colors=SOFT, length=0)
        axes.grid(axis=grid, color=LINE, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(EDGE)
        text = StringIO()
        unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        with warnings.catch_warnings():  # a letter that this machine has no font for is drawn by the browser
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            figure.savefig(text, format="svg", transparent=True, metadata=unsaid)
    svg = text.getvalue()
    picture.append(_themed(svg[svg.index("<svg") :].strip()))


def _themed(svg: str) -> str:
    """The picture with the colours of the page it stands on.

    >>> _themed('<path style="fill: none; stroke: #0b6e75"/>')
    '<path style="fill: none; stroke: var(--accent)"/>'
    """
    return re.sub(rf"\b(fill|stroke): ({'|'.join(VARIABLES)})", lambda m: f"{m[1]}: var(--{VARIABLES[m[2]]})", svg)
