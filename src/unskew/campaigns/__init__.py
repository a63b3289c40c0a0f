"""Real labelling: a log and a pool, a budget, people who answer, and a ledger of everything that happened."""

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
