"""The error on everyone by the number of labels, as a picture for a page."""

from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple


class ChartPoint(NamedTuple):
    """An estimate, in per cent, and the number of labels it rests on."""

    labels: int
    value: float
    low: float
    high: float


def error_chart(points: Sequence[ChartPoint], budget: int, *, narrow: bool = False) -> str:
    """The estimates with their intervals as SVG, for a wide page or for a phone.

    >>> error_chart([ChartPoint(0, 33, 17, 49), ChartPoint(20, 20, 11, 30)], 100).startswith("<svg ")
    True
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    name = "narrow" if narrow else "wide"
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif", "font.size": 10.0}):
        figure = Figure(figsize=(3.9, 3.1) if narrow else (8.2, 3.4), layout="constrained")
        axes = figure.subplots()
        labels = [point.labels for point in points]
        low, high = [point.low for point in points], [point.high for point in points]
        axes.fill_between(labels, low, high, color="#0b6e75", alpha=0.14, linewidth=0)
        axes.vlines(labels, low, high, color="#0b6e75", alpha=0.45, linewidth=1.0)
        axes.plot(labels, [point.value for point in points], color="#0b6e75", linewidth=2.0, marker="o", markersize=4.5)
        axes.set_xlim(-0.02 * budget, 1.02 * max(budget, labels[-1]))
        axes.set_ylim(0, min(100.0, 1.08 * max(high)))
        axes.set_xlabel("labels spent", color="#566473")
        axes.set_ylabel("error on everyone, %", color="#566473")
        axes.tick_params(colors="#566473", length=0)
        axes.grid(axis="y", color="#dde2e7", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color("#c3ccd4")
        text = StringIO()
        unsaid = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(text, format="svg", transparent=True, metadata=unsaid)
    picture = text.getvalue()
    return picture[picture.index("<svg") :].strip()
