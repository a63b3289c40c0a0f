"""kill -9 of workers, commands, server, planner and database: a short form of `make test-faults`."""

import os
import random
from pathlib import Path

import pytest

from faults.database import Database, NoDatabase
from faults.kills import Killed, kill_planners, kill_servers, kill_workers


def nothing(_: float) -> None:
    """No progress is shown."""


def check(found: Killed) -> None:
    assert not found.faults, "\n".join(found.faults)
    assert (found.lost, found.twice, found.over_budget, found.tracebacks) == (0, 0, 0, 0)
    assert found.acknowledged > 0


def test_workers_and_commands_are_killed(tmp_path: Path) -> None:
    found = kill_workers(tmp_path, kills=24, seconds=6, chance=random.Random(0), tick=nothing, budget=300, workers=8)
    check(found)
    assert found.kills.total() == 24 and len(found.kills) == 2


def test_the_database_crashes(tmp_path: Path) -> None:
    try:
        private = Database()
    except NoDatabase as why:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(why))
    with private as database:
        found = kill_workers(
            tmp_path, kills=12, seconds=6, chance=random.Random(0), tick=nothing, budget=300, workers=8,
            database=database, crashes=2,
        )  # fmt: skip
    check(found)
    assert found.kills["database"] == 2


def test_the_server_is_killed(tmp_path: Path) -> None:
    found = kill_servers(tmp_path, kills=4, seconds=6, chance=random.Random(0), tick=nothing, budget=600)
    check(found)
    assert found.kills["server"] == 4


def test_the_planner_is_killed(tmp_path: Path) -> None:
    found = kill_planners(tmp_path, seconds=4, chance=random.Random(0), tick=nothing, budget=600)
    check(found)
    assert found.kills["planner"] > 0
