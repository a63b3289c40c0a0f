"""20 annotators without pause on the page, and the figures of a run: a short form of `make test-faults`."""

import random
from collections import Counter
from pathlib import Path

from faults.figures import Figures
from faults.flips import Damaged
from faults.soak import Soaked, soak
from unskew.web.planner import ROUND


def test_a_few_seconds_of_twenty_annotators(tmp_path: Path) -> None:
    found = soak(tmp_path, seconds=5, chance=random.Random(0), tick=lambda _: None, budget=1500)
    assert not found.faults, "\n".join(found.faults)
    assert found.lost == found.tracebacks == 0 and found.answers > 0
    assert 0 < found.p50 <= found.p95 <= found.p99 <= 1000 * found.longest
    assert found.memory_end > 0
    assert 0 <= found.wait_p50 <= found.wait_p99
    assert found.round > ROUND, "rounds stay small although people wait"


def test_people_who_think_get_rows_too(tmp_path: Path) -> None:
    found = soak(tmp_path, seconds=5, chance=random.Random(1), tick=lambda _: None, budget=1500, ahead=11, pause=0.5)
    assert not found.faults, "\n".join(found.faults)
    assert found.answers > 0 and found.rounds > 1


def test_figures_as_tables() -> None:
    found = Figures(
        "python -m faults", flips=Damaged({"log.parquet": Counter(harmless=1200, faults=1)}, faults=["odd"])
    )
    assert "| log.parquet | 1,201 | 1,200 | 0 | 1 |" in found.markdown()
    assert "| faults | 1 |" in found.markdown() and found.faults == ["files: odd"]


def test_ways_to_work_stand_beside_each_other() -> None:
    soaks = {"quick": Soaked(seconds=10, answers=1300), "slow": Soaked(seconds=10, answers=90, faults=["late"])}
    found = Figures("python -m faults", soaks=soaks)
    assert "| 20 annotators | quick | slow |" in found.markdown()
    assert "| answers a second | 130.0 | 9.0 |" in found.markdown()
    assert "| answers acknowledged | 1,390 |" in found.markdown() and found.faults == ["slow: late"]
