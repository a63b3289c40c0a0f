"""The audit of a log as one self-contained HTML page."""

import textwrap
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from unskew.campaigns.audit.blind_spots import BlindSpot
from unskew.pages import png_address, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unskew.campaigns.audit.log_audit import LogAudit

POPULATION, LABELS = "#9a9a9a", "#0072B2"


def html(audit: "LogAudit", name: str) -> str:
    """The page; `name` is the name of the log."""
    picture = _png(blind_spot_picture(audit.blind_spots)) if audit.blind_spots else None
    return rendered("unskew.campaigns.report", "audit.html.j2", {"audit": audit, "name": name, "picture": picture})


def blind_spot_picture(spots: Sequence[BlindSpot]) -> "Figure":
    """For each region a bar for its share of the population, and below it one for its share of the labels."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(8.6, 1.0 + 0.72 * len(spots)), layout="constrained")
    axes = figure.subplots()
    most = max(max(spot.population_share, spot.label_share) for spot in spots)
    for k, spot in enumerate(spots):
        for share, offset, colour in ((spot.population_share, -0.17, POPULATION), (spot.label_share, 0.17, LABELS)):
            axes.barh(k + offset, 100 * share, height=0.32, color=colour)
            axes.text(100 * (share + 0.012 * most), k + offset, f"{100 * share:.1f} %", va="center", fontsize=8.5)
    texts = ["\n".join(textwrap.wrap(_unbroken(spot), 44)) for spot in spots]
    axes.set_yticks(range(len(spots)), texts, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 112 * most)
    axes.set_xlabel("share, %")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    handles = [Patch(color=POPULATION, label="of everyone"), Patch(color=LABELS, label="of the labels")]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    return figure


def _unbroken(spot: BlindSpot) -> str:
    """The rule, with line breaks only between its conditions; a dollar sign does not begin a formula."""
    told = [str(condition).replace(" ", "\N{NO-BREAK SPACE}") for condition in spot.rule.conditions]
    return " and ".join(told).replace("$", r"\$")


def _png(figure: "Figure") -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return png_address(buffer.getvalue())
