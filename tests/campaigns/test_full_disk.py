"""A campaign on a disk without any room: what only reads goes on, and what writes says what to do."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress

import pytest

from campaign_folder import make, told, write_tables
from unskew.campaigns import Campaign
from unskew.cli import main

STATUS = """
import resource, sys
from unskew.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
sys.exit(main([*sys.argv[1:]]))
"""
"""A command that can make no file as large as the one that SQLite keeps beside a ledger."""
WRITE_AND_DIE = """
import os, sys
from unskew.campaigns import Campaign
campaign = Campaign.open(sys.argv[1])
campaign.comment(sys.argv[2], "the last words", by="ann")
os._exit(0)
"""


@pytest.fixture
def folder(tmp_path):
    """A campaign with some labels."""
    (tmp_path / "tables").mkdir()
    make(write_tables(tmp_path / "tables"), tmp_path / "loans").close()
    with Campaign.open(tmp_path / "loans") as campaign:
        campaign.tell(told(campaign.ask(20, by="ann")), by="ann")
        campaign.close_due()
    return tmp_path / "loans"


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", path], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    assert not shutil.disk_usage(disk).free


def run(*words):
    return subprocess.run([sys.executable, "-c", STATUS, *words], capture_output=True, text=True)


def test_status_where_no_file_can_grow(folder):
    shown = run("status", str(folder), "--json")
    assert (shown.returncode, shown.stderr) == (0, "") and json.loads(shown.stdout)["spent"] == 20
    refused = run("ask", str(folder), "-n", "3", "--by", "bob")
    assert refused.returncode == 2 and refused.stderr.endswith("is full. Make room on it and try again.\n")
    served = run("serve", str(folder), "--port", "0")
    assert served.returncode == 2 and served.stderr.endswith("is full. Make room on it and try again.\n")
    with Campaign.open(folder) as campaign:  # there is room again
        assert len(campaign.ask(3, by="bob")) == 3


@pytest.mark.parametrize("settled", [True, False])
def test_all_that_only_reads_works_on_a_full_disk(folder, disk, tmp_path, monkeypatch, capfd, settled):
    there = shutil.copytree(folder, disk / "loans")
    with Campaign.open(there) as campaign:
        id = next(iter(campaign.state.rows))
    if not settled:  # the latest writes are in a file of their own
        subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(there), id], check=True)
        assert (there / "ledger.sqlite-wal").stat().st_size
    (disk / "cache").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "cache"))
    fill(disk)
    page = tmp_path / "report.html"
    for words in (
        ("status", there, "--json"), ("error", there), ("answers", there, "--json"), ("people", there),
        ("why", there, id), ("report", there, "--out", page), ("export", there, "--out", tmp_path / "exported"),
    ):  # fmt: skip
        assert main([*map(str, words)]) == 0, words
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        if words[0] == "status":
            assert json.loads(out)["spent"] == 20
        if words[0] == "answers":
            assert json.loads(out)["found"] == 20 and (settled or "the last words" in out)
    assert "</html>" in page.read_text() and (tmp_path / "exported" / "model.joblib").exists()
    assert main(["comment", str(there), id, "x" * 2000, "--by", "ann"]) in (0, 2)  # a little room may be left in it
    assert "Traceback" not in capfd.readouterr().err
    os.unlink(disk / "filler")
    with Campaign.open(there) as campaign:
        assert campaign.status().spent == 20 and len(campaign.ask(3, by="bob")) == 3
