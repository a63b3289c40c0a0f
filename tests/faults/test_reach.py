"""Folders that name addresses, paths outside and classes: a short form of `make test-faults`."""

import socket
from pathlib import Path

from faults.forks import Ran, run_commands
from faults.reach import ALL, VISITED, WITHOUT, Reached, environment, prepare, reach, server, variant

SHORT = [
    "dask chain", "upper-case http", "http", "filecache", "reference", "zip over http", "memory",
    "s3", "two slashes", "a file here", "store", "an event with a path outside", "a method",
]  # fmt: skip


def test_thirteen_folders_reach_nobody(tmp_path: Path) -> None:
    found = reach(tmp_path, tick=lambda _: None, names=SHORT)
    assert not found.faults, "\n".join(found.faults)
    tried = {words: sum(counts.values()) for words, counts in found.verdicts.items()}
    commands = dict.fromkeys(["ask", "report", "predict", "status"], len(SHORT))
    assert tried == {**commands, "page": 25}
    assert found.verdicts["ask"]["refused"] == found.verdicts["report"]["refused"] == len(SHORT)
    assert found.verdicts["status"]["harmless"] == 1 and found.verdicts["predict"]["harmless"] == 3


def test_every_kind_has_variants() -> None:
    assert len(set(ALL)) == len(ALL) > 40 and set(SHORT) < set(ALL)
    assert set(WITHOUT["predict"]) < set(ALL) and set(VISITED) < set(ALL)


def test_the_server_is_reached_by_those_who_agree(tmp_path: Path) -> None:
    """Otherwise that nobody reached it would say nothing."""
    with server() as theirs:
        places = {"at": f"127.0.0.1:{theirs.port}", "port": theirs.port, "outside": tmp_path / "outside"}
        whole = prepare(tmp_path)
        folder = variant(whole, tmp_path / "tried" / "0", "store", places)
        agreed = {"UNSKEW_ADDRESSES": f"postgresql://ann@{places['at']}/bank"}
        home = environment(tmp_path / "home", theirs.port)
        run_commands(tmp_path / "ran", [["status", str(folder)]], environment={**home, **agreed}, limit=60.0)
        assert theirs.connections > 0
        good, why = run_commands(
            tmp_path / "ran", [["status", str(whole / "files")], ["status", str(whole / "copied")]], environment=home
        )
        assert not why and [one.status for one in good] == [0, 0]


def test_what_is_a_fault() -> None:
    found = Reached()
    found.judge("x", "status", Ran(2, "", "no\n", 0.1), 0)
    assert not found.faults
    for ran, connections in (
        (Ran(2, "", "no\n", 0.1), 1),
        (Ran(0, "fine\n", "", 0.1), 0),
        (Ran(2, "", "a\nb\n", 0.1), 0),
    ):
        found.judge("x", "status", ran, connections)
    assert len(found.faults) == 3 and found.verdicts["status"] == {"refused": 1, "faults": 3}


def test_a_connection_is_counted() -> None:
    with server() as theirs:
        for _ in range(3):
            socket.create_connection(("127.0.0.1", theirs.port)).close()
        while theirs.connections < 3:
            pass
