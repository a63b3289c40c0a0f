"""More than two classes in the report: what is known of each, and which of them are taken for which."""

from typing import Any

from unskew.campaigns.measuring import Measuring
from unskew.estimation.population import PopulationEstimate, Side
from unskew.estimation.sentences import interval, percent

MATRIX = 12
"""With more classes, the matrix would not fit on the page: then only the commonest confusions are listed."""

LISTED = 8

LEAST = 0.0005
"""A smaller share of everyone is not listed as a confusion."""


def class_facts(measuring: Measuring) -> dict[str, Any]:
    """A line for each class, the confusion matrix if it fits, and the commonest confusions, most of everyone first."""
    names, cells = measuring.fitting.settings.classes, measuring.confusion()
    assert cells is not None  # there are more than two classes
    lines = [
        (name, f"{percent(one.share)} %", _cell(one.recall, "no row found yet"), _cell(one.precision, "never said"))
        for name, one in measuring.classes().items()
    ]
    pairs = [(cells[k][j], names[k], names[j]) for k in range(len(names)) for j in range(len(names)) if j != k]
    worst = sorted(pairs, key=lambda pair: -pair[0].value)[:LISTED]
    most = max(pair[0].value for pair in pairs) or 1.0
    return {
        "classes": lines,
        "matrix": [_line(cells[k], k, most) for k in range(len(names))] if len(names) <= MATRIX else [],
        "confusions": [(interval(cell), actual, said) for cell, actual, said in worst if cell.value >= LEAST],
    }


def _cell(found: PopulationEstimate | None, none: str) -> str:
    return none if found is None else interval(found)


def _line(cells: list[Side], k: int, most: float) -> list[dict[str, Any]]:
    """A row of the matrix: shares, intervals, and how dark an error is shown, from 0 to 1."""
    return [
        {
            "share": f"{100 * cell.value:.1f}" if cell.value >= LEAST else "·",
            "interval": f"{percent(cell.low)} to {percent(cell.high)} %",
            "right": j == k,
            "shade": round(min(cell.value / most, 1.0), 2) if j != k else 0.0,
        }
        for j, cell in enumerate(cells)
    ]
