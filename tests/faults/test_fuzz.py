"""Odd inputs for every reader and every route of the page: a short form of `make test-faults`."""

import random
from pathlib import Path

from faults.fuzz import NAMES, PAGE, fuzz
from faults.readers import readers
from faults.scene import begin


def test_every_input_is_taken_or_refused_in_one_line(tmp_path: Path) -> None:
    found = fuzz(tmp_path, inputs=400, chance=random.Random(0), tick=lambda _: None)
    assert not found.faults, "\n".join(found.faults)
    assert found.inputs > 300 and set(found.verdicts) == set(NAMES)
    assert all(counts.total() for counts in found.verdicts.values())
    assert (found.hangs, found.crashes, found.tracebacks) == (0, 0, 0)


def test_every_reader_has_a_share(tmp_path: Path) -> None:
    campaign = begin(tmp_path / "made", budget=60, pool=200)
    (tmp_path / "scratch").mkdir()
    assert {*readers(tmp_path / "scratch", campaign), PAGE} == set(NAMES)
