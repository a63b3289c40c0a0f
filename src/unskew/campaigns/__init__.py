"""Real labelling: a log and a pool of files, a budget, people who answer, and a ledger of all of it."""

from unskew.campaigns.campaign import Campaign
from unskew.campaigns.ledger.state import Asked, Row, State
from unskew.campaigns.ledger.status import Status
from unskew.campaigns.ledger.store import Event, Ledger
from unskew.campaigns.telling import Rejected, Told

__all__ = ["Asked", "Campaign", "Event", "Ledger", "Rejected", "Row", "State", "Status", "Told"]
