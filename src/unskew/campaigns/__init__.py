"""Real labelling: a log and a pool, a budget, people who answer, and a ledger of everything that happened.

Names are imported on first use, so that commands can read what a campaign takes without a delay.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.campaigns.campaign import Campaign
    from unskew.campaigns.ledger.events import Recorded
    from unskew.campaigns.ledger.settings import Settings
    from unskew.campaigns.ledger.state import Row, RowStatus, State
    from unskew.campaigns.ledger.status import Status
    from unskew.campaigns.ledger.store import Ledger
    from unskew.campaigns.ledger.work import Work
    from unskew.campaigns.telling import Rejected, Told

__all__ = [
    "Campaign", "Ledger", "Recorded", "Rejected", "Row", "RowStatus", "Settings", "State", "Status", "Told", "Work",
]  # fmt: skip

_HOME = {
    "Campaign": "campaign",
    "Ledger": "ledger.store",
    "Recorded": "ledger.events",
    "Rejected": "telling",
    "Row": "ledger.state",
    "RowStatus": "ledger.state",
    "Settings": "ledger.settings",
    "State": "ledger.state",
    "Status": "ledger.status",
    "Told": "telling",
    "Work": "ledger.work",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'unskew.campaigns' has no attribute {name!r}")
    value = getattr(import_module(f"unskew.campaigns.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
