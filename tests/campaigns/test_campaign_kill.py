"""kill -9 at any moment: no answer lost, no double spend, and the next command goes on."""

import multiprocessing
import random
import shutil
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from campaign_folder import STORES
from unskew.campaigns import Campaign, State
from unskew.errors import InputError

# Each child is forked from a process that has imported everything and done nothing: starting one takes no time.
server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["unskew.campaigns.creating"])

LONGEST = {1: 0.1, 2: 0.015, 3: 0.1}
"""Seconds within which `ask`, `tell` and `close_due` are killed, counted from their beginning: about what they take."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    paid = [int(v > 0) if v > 0 or k % 5 == 0 else None for k, v in enumerate(x)]
    log = pl.DataFrame({"x": x, "paid": paid, "q0": np.where(x > 0, 1.0, 0.2)})
    log.write_parquet(folder / "log.parquet")
    pl.DataFrame({"x": rng.normal(size=4000)}).write_parquet(folder / "pool.parquet")
    return folder


def create(tables, folder, store=None):
    return Campaign.create(
        folder, log=tables / "log.parquet", pool=tables / "pool.parquet", label="paid", propensity="q0", budget=3000,
        drawn=0.5, store=store, lease=timedelta(hours=1),
    )  # fmt: skip


def work(folder, said, phase):
    """Ask, tell and close forever; what was told is noted once `tell` has returned."""
    with Campaign.open(folder) as campaign, open(said, "a") as notes:
        while True:
            phase.value = 1
            rows = campaign.ask(3, by="ann")
            answers = {row.id: "1" if row.values["x"] > 0 else "0" for row in rows}
            phase.value = 2
            campaign.tell(answers, by="ann")
            notes.write("".join(f"{id},{label};" for id, label in answers.items()))
            notes.flush()
            phase.value = 3
            campaign.close_due()


@pytest.mark.parametrize("kills", [12, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("store", STORES)
def test_killed_while_asking_telling_and_closing(tables, tmp_path, request, store, kills):
    url = None if store == "sqlite" else request.getfixturevalue("postgresql_url")
    folder, said = tmp_path / "campaign", tmp_path / "said"
    create(tables, folder, url).close()
    said.touch()
    chance = random.Random(0)
    for number in range(kills):
        phase = server.Value("i", 0)
        child = server.Process(target=work, args=(folder, said, phase))
        child.start()
        aim = 1 + number % 3
        deadline = time.monotonic() + 60
        while phase.value != aim and child.is_alive() and time.monotonic() < deadline:
            time.sleep(0.0005)
        assert phase.value == aim, "it must go on by itself until it is killed"
        time.sleep(chance.uniform(0.0, LONGEST[aim]))
        child.kill()
        child.join()
        child.close()
        check(folder, said)
    with Campaign.open(folder) as campaign:
        before = campaign.status()
        rows = campaign.ask(5, by="bob")
        campaign.tell({row.id: "1" for row in rows}, by="bob")
        campaign.close_due()
        assert campaign.status().spent == before.spent + 5
        assert campaign.status().closed > 0


def check(folder: Path, said: Path):
    """All that was said is there; every row was planned once; no more rows are out than the budget has."""
    noted = dict(note.split(",") for note in said.read_text().split(";") if note)
    with Campaign.open(folder) as campaign:
        state = State(campaign.settings.budget).replay(campaign.ledger.events(campaign.id))
    rows = state.rows.values()
    assert {id: state.rows[id].label for id in noted} == noted
    assert len({row.place for row in rows}) == len(rows) == sum(len(batch.ids) for batch in state.batches)
    assert state.left >= 0
    assert state.spent - len(noted) in range(4 + 3 * 100), "told, and killed before that was noted"
    assert len(state.open) <= 3, "what was asked for and not answered is asked for again"
    assert [batch.number for batch in state.batches] == list(range(1, len(state.batches) + 1))


def start(tables, folder):
    create(tables, folder).close()


def test_killed_while_it_is_made(tables, tmp_path):
    folder = tmp_path / "campaign"
    chance = random.Random(1)
    cut_short = 0
    for _ in range(12):
        child = server.Process(target=start, args=(tables, folder))
        child.start()
        child.join(chance.uniform(0.05, 0.8))
        child.kill()
        child.join()
        if (folder / "campaign.json").exists():
            Campaign.open(folder).close()
            shutil.rmtree(folder)
        else:
            cut_short += 1
            with pytest.raises(InputError, match="holds no campaign"):
                Campaign.open(folder)
    assert cut_short
    with create(tables, folder) as campaign:
        assert len(campaign.ask(2, by="ann")) == 2
    with pytest.raises(InputError, match="holds a campaign already"):
        create(tables, folder)
