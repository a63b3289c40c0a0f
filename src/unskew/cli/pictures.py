"""Pictures: error against labels, each method with its own marker so that grey print stays legible."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from unskew.experiments import Point
    from unskew.experiments.demo import Story

FORMATS = (".png", ".pdf", ".svg")


def checked(path: Path) -> Path:
    """The path of a picture that can be written there; asked before the work, so that none is lost."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"a picture's name must end in {', '.join(FORMATS)}; got {path.name!r}. Try {path.stem}.png.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {str(path.parent)!r} does not exist. Make it first, or name another.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {str(path.parent)!r} may not be written to. Name another.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file.")
    return path


def save(figure: "Figure", path: Path) -> Path:
    """Write the picture whole or not at all, and return its full name."""
    whole = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        figure.savefig(whole, dpi=150)
        whole.replace(path)
    except OSError as error:
        whole.unlink(missing_ok=True)
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}. Name a folder you may write to.") from None
    return path.resolve()


def draw_curves(axes: "Axes", curves: Mapping[str, Sequence["Point"]]) -> None:
    """Test error against labels bought, with standard errors as bars."""
    from unskew.experiments.figures import style

    for name, curve in curves.items():
        points = sorted(curve, key=lambda point: point.labels)
        colour, marker, line = style(name, tuple(curves))
        axes.errorbar(
            [point.labels for point in points],
            [100 * point.error for point in points],
            yerr=[100 * point.error_se for point in points],
            color=colour, marker=marker, linestyle=line, markersize=5, linewidth=1.4, capsize=2, label=name,
        )  # fmt: skip
    axes.set_xlabel("labels bought")
    axes.set_ylabel("test error, %")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def curves_picture(curves: Mapping[str, Sequence["Point"]], title: str) -> "Figure":
    """The picture of `unskew curve`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    draw_curves(axes, curves)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(frameon=False)
    return figure


def story_picture(story: "Story") -> "Figure":
    """The picture of `unskew demo`: who is in the log, and what buying labels does about it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _draw_log(left, story)
    draw_curves(right, story.curves)
    for error, name, above in ((story.naive.everyone, "naive model of the log", True),
                               (story.all_labels.everyone, "all outcomes known", False)):  # fmt: skip
        right.axhline(100 * error, color="0.35", linewidth=1.0, linestyle=(0, (1, 1.5)))
        right.annotate(
            f"{name}: {100 * error:.0f} %", (story.budget, 100 * error), xytext=(0, 4 if above else -4),
            textcoords="offset points", ha="right", va="bottom" if above else "top", fontsize=9, color="0.25",
        )  # fmt: skip
    right.set_xlim(-0.015 * story.budget, 1.08 * story.budget)
    right.set_ylim(100 * story.all_labels.everyone - 4, 100 * story.naive.everyone + 3)
    right.set_ylabel("error on everyone, %")
    right.set_title(f"Four methods buy further outcomes (mean of {story.banks} banks)", fontsize=10.5, loc="left")
    right.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.9), ncols=2)
    return figure


def _draw_log(axes: "Axes", story: "Story") -> None:
    z, units = story.bank.revealed, story.bank.loans.units
    income, employed = units["income"][: len(z)], units["years employed"][: len(z)]
    axes.scatter(income[~z], employed[~z], s=9, facecolors="none", edgecolors="0.72", linewidths=0.6)
    axes.scatter(income[z], employed[z], s=11, color="#0072B2", marker="x", linewidths=0.8)
    axes.set_xlabel("income, thousand a year")
    axes.set_ylabel("years employed")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"Outcomes are known for {z.sum()} of {len(z)} applicants", fontsize=10.5, loc="left")
    handles = [
        axes.scatter([], [], s=22, color="#0072B2", marker="x", label="outcome known"),
        axes.scatter([], [], s=22, facecolors="none", edgecolors="0.6", label="turned away"),
    ]
    axes.legend(handles=handles, loc="upper right", frameon=True, framealpha=0.9, edgecolor="none")
