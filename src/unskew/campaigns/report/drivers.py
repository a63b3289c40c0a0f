"""What drives the model, as a section of the report and as a record for programs."""

from typing import Any

from unskew.campaigns.learning.drivers import Importance, Rise
from unskew.campaigns.report.chart import importance_chart

MOST = 15
"""The most columns on the page, those that matter most."""


def driver_facts(found: Importance | None) -> dict[str, Any]:
    """The facts of the section."""
    if found is None:
        return {"importance": None}
    shown = found.columns[:MOST]
    return {
        "importance": found,
        "drivers": [(one.column, *_told(one.log_loss, 1.0, 3), *_told(one.error, 100.0, 1)) for one in shown],
        "more_columns": len(found.columns) - len(shown),
        "driver_charts": [importance_chart(shown, narrow=narrow) for narrow in (False, True)],
    }


def as_record(found: Importance | None) -> dict[str, Any] | None:
    """What drives the model, ready for JSON."""
    if found is None:
        return None
    columns = [
        {"column": one.column, "log_loss": one.log_loss._asdict(), "error": one.error._asdict()}
        for one in found.columns
    ]
    return {**found._asdict(), "columns": columns}


def _told(rise: Rise, unit: float, digits: int) -> tuple[str, str]:
    """A rise and its interval in words."""
    value, low, high = (f"{round(unit * part, digits) + 0.0:.{digits}f}" for part in rise)  # no minus before a zero
    return value, f"{low} to {high}"
