"""Pictures of error against labels. Each method has its own marker, so that a black-and-white print stays legible."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.writing import Output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from unskew.experiments import Point

COMMAND = "unskew curve"
FIELDS = {".png": "Software", ".pdf": "Creator", ".svg": "Creator"}
"""The formats, and the field in which a picture names the program that drew it."""

MARKS = (f"Software\0{COMMAND}", f"/Creator ({COMMAND})", f"<dc:title>{COMMAND}</dc:title>")
LARGEST = 2**22
"""No picture of ours has as many bytes."""


def checked(path: Path, overwrite: bool = False) -> Output:
    """The file, if a picture may be written there; ask before the work starts, so that none is lost."""
    return Output(path, COMMAND, _ours, overwrite, tuple(FIELDS))


def _ours(path: Path) -> bool:
    with open(path, "rb") as file:
        content = file.read(LARGEST)
    return any(mark.encode() in content for mark in MARKS)


def save(figure: "Figure", output: Output) -> Path:
    """Write the picture whole or not at all, and return its full path."""
    metadata = {FIELDS[output.path.suffix.lower()]: COMMAND}
    output.put(lambda beside: figure.savefig(beside, dpi=150, metadata=metadata))
    return output.path.absolute()


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
