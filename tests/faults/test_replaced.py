"""The ledger is deleted, replaced and put back under workers: a short form of `make test-faults`."""

import random
from pathlib import Path

from faults.replaced import KINDS, replace


def test_the_ledger_is_replaced_under_workers(tmp_path: Path) -> None:
    found = replace(
        tmp_path, incidents=len(KINDS), seconds=12, chance=random.Random(0), tick=lambda _: None, budget=600, workers=4
    )
    assert not found.faults, "\n".join(found.faults)
    assert found.lost == 0 and found.acknowledged > 0 and found.refused > 0
    assert found.incidents.total() == len(KINDS) and found.saved > 0
