"""Waiting for another writer, with each kind of store."""

from pathlib import Path

import pytest

from unskew.campaigns import Campaign
from unskew.errors import LedgerBusy


def test_a_wait_for_another_writer_has_the_limit_one_gives_it(folder: Path) -> None:
    with Campaign.open(folder) as campaign, Campaign.open(folder, patience=0.1) as hasty:
        (row,) = campaign.ask(1, by="ann")
        with campaign.ledger.writing(campaign.id):
            with pytest.raises(LedgerBusy, match=r"Nothing was changed. Another process is writing; try again.$"):
                hasty.answer(row.id, "1", by="ann")
            assert hasty.status().spent == 0  # reading does not wait
        assert hasty.answer(row.id, "1", by="ann").answered == 1
