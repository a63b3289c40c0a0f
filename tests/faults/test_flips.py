"""Flipped bits and cut-off ends in every file of a campaign: a short form of `make test-faults`."""

import random
from pathlib import Path

from faults.flips import damage, damage_files, difference, said
from faults.forks import Ran

FILES = {
    "user's cache/ledger-state.json",
    "campaign.json",
    "ledger.sqlite",
    "ledger.sqlite-shm",
    "ledger.sqlite-wal",
    "log.parquet",
    "pool.parquet",
}


def test_sixty_random_flips_are_harmless_or_refused_in_one_line(tmp_path: Path) -> None:
    found = damage_files(tmp_path, flips=60, chance=random.Random(0), tick=lambda _: None)
    assert not found.faults, "\n".join(found.faults)
    assert found.flips == 60 and set(found.verdicts) >= FILES
    assert (found.hangs, found.tracebacks) == (0, 0)
    assert set(found.verdicts["user's cache/ledger-state.json"]) == {"harmless"}


def test_damage_is_done(tmp_path: Path) -> None:
    file = tmp_path / "file"
    lengths = set()
    for seed in range(40):
        file.write_bytes(bytes(100))
        before = file.stat().st_mtime_ns
        damage(file, random.Random(seed))
        assert file.read_bytes() != bytes(100) and file.stat().st_mtime_ns == before
        lengths.add(file.stat().st_size)
    assert 100 in lengths and min(lengths) < 100


def test_a_refusal_is_one_line() -> None:
    assert Ran(2, "", "it is broken. Restore it.\n", 0.1).refused
    for status, err in ((2, ""), (2, "one\ntwo\n"), (1, "one\n"), (0, "one\n"), (2, "Traceback: x\n")):
        assert not Ran(status, "", err, 0.1).refused


def test_wrong_numbers_are_seen() -> None:
    expected = said(Ran(0, '{"spent": 48, "value": 0.12345678901, "rows": [{"id": "a"}]}', "", 0.1))
    assert said(Ran(0, '{"spent": 48, "value": 0.12345678902, "rows": [{"id": "a"}]}', "", 0.1)) == expected
    found = said(Ran(0, '{"spent": 24, "value": 0.123456789, "rows": [{"id": "b"}]}', "", 0.1))
    assert difference(found, expected) == "spent 24, not 48; rows ['b'], not ['a']"
