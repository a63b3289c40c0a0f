"""What is recorded with an answer beside its label, each thing described once.

A new one is a field of `Remarks`. The JSON interface takes it with an answer, the ledger keeps it
in the answer's event, and the history shows it. So far there is none: an event has itself who
answered, when, and what.
"""

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from unskew.campaigns.options import check, described


class Remarks(TypedDict, total=False):
    """What may be said of an answer, by whoever gave it or by the page."""


REMARKS = described(Remarks)
"""Each of them, by name."""


def remarks_in(record: Mapping[str, Any]) -> Remarks:
    """What the record of an answer holds of them, checked."""
    some = {name: record[name] for name in REMARKS if record.get(name) is not None}
    return cast(Remarks, {name: check(REMARKS[name], value, name) for name, value in some.items()})
