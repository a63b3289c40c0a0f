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
