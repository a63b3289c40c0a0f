"""One annotator floods the page: a short form of `make test-faults`."""

import random
from pathlib import Path

from faults.floods import flood


def test_a_few_seconds_of_a_flood(tmp_path: Path) -> None:
    found = flood(tmp_path, seconds=6, chance=random.Random(0), tick=lambda _: None)
    assert not found.faults, "\n".join(found.faults)
    assert found.statuses[201] <= 20 and found.statuses[429] > 0
    assert 0 < found.kilobytes <= found.allowed and found.others > 0
