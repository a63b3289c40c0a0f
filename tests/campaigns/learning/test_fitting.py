"""The model of a campaign: the same wherever it is fitted, and whatever the cache holds."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest

from campaign_folder import told, truth
from paths import ROOT
from unskew.campaigns import Campaign
from unskew.campaigns.learning.fitting import Fitting
from unskew.campaigns.ledger.state import Snapshot
from unskew.errors import StoreError
from unskew.methods import Method, Unskew
from unskew.methods.prospect import LEAST
from unskew.methods.stopping import prospect


def test_values_in_the_ledger_are_those_of_the_pool(campaign):
    from unskew.campaigns.tables.encoding import from_plain

    rows = campaign.ask(20, by="ann")
    places = [campaign.row(row.id).place for row in rows]
    again = from_plain([row.values for row in rows], campaign.settings.types)
    assert again.equals(campaign.pool_frame[places].select(again.columns))


REFIT = """
import sys, numpy as np, polars as pl, hashlib
from unskew.campaigns import Campaign
with Campaign.open(sys.argv[1]) as campaign:
    model = campaign.model()
    print(hashlib.sha256(campaign.method().model_.weights_.tobytes()).hexdigest())
    print(hashlib.sha256(model.predict_proba(pl.read_parquet(sys.argv[2])).tobytes()).hexdigest())
    print(campaign.digest())
"""


def test_ledger_and_log_refit_the_very_same_model_elsewhere(folder, tables, clock, tmp_path):
    with Campaign.open(folder, now=clock) as campaign:
        for name in ("ann", "bob", "eve"):
            rows = campaign.ask(8, by=name)
            campaign.tell({**told(rows[:6]), rows[6].id: None}, by=name)
        wrong = "0" if truth(rows[0]) == "1" else "1"
        campaign.tell({rows[0].id: wrong}, by="eve", force_correct=True)
        campaign.model()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("campaign.json", "ledger.sqlite", "log.parquet"):
        if (folder / name).exists():
            shutil.copy(folder / name, elsewhere)

    def refit(at, threads):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", REFIT, str(at), str(tables / "pool.parquet")]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout

    assert refit(elsewhere, "2") == refit(folder, "1")  # the second from its cache, after five fits in another process
    with Campaign.open(elsewhere, now=clock) as moved:
        assert len(moved.hand_out(2, by="ann")) == 1
        with pytest.raises(StoreError, match="pool.parquet is missing"):
            moved.ask(30, by="ann")


def test_a_pool_in_another_order_is_refused(folder, clock):
    """Although its features are cached, and its size and time are the same; a file that was only touched is not."""
    pool = folder / "pool.parquet"
    os.utime(pool)
    with Campaign.open(folder, now=clock) as campaign:
        assert len(campaign.ask(3, by="ann")) == 3
    before = pool.stat()
    pl.read_parquet(pool).reverse().write_parquet(pool, compression="uncompressed")
    os.truncate(pool, before.st_size)
    os.utime(pool, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (pool.stat().st_size, pool.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with Campaign.open(folder, now=clock) as campaign:
        with pytest.raises(StoreError, match=r"pool.parquet is not the file the campaign began with"):
            campaign.ask(10, by="ann")
        assert campaign.status().rounds == 1


def test_features_of_other_settings_are_not_taken_for_these(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        other = replace(campaign.settings, pool_sha256="another")
        with pytest.raises(StoreError, match="not the file"):
            Fitting(campaign.folder, other).estimates(Snapshot([], [], []))


def test_predict_gives_id_class_and_probability(campaign):
    found = campaign.predict(campaign.pool_frame)
    assert found.columns == ["loan", "prediction", "probability"]
    assert set(found["prediction"]) == {"0", "1"}
    assert found["probability"].is_between(0, 1).all()


def test_a_model_of_a_method_of_ones_own_has_another_name_once_its_source_changed(campaign, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setenv("UNSKEW_METHODS", "spread:SpreadOut")
    own = replace(campaign.settings, method="spread:SpreadOut")
    before, package = Fitting(campaign.folder, own).digest([]), campaign.digest()
    monkeypatch.setattr("inspect.getsource", lambda kind: "another text")
    assert Fitting(campaign.folder, own).digest([]) != before
    assert Fitting(campaign.folder, campaign.settings).digest([]) == package  # the package's own go by its version


def test_what_the_next_labels_are_expected_to_gain(campaign, clock, monkeypatch):
    """It is made when a round closes, as the stopping rule makes it, and kept; methods that cannot tell say nothing."""
    assert campaign.status().prospect is None
    campaign.tell(told(campaign.ask(40, by="ann")), by="ann")
    campaign.close_due()
    found = campaign.status().prospect
    by_hand = prospect(campaign.method())
    assert (found.labels, found.gain) == (50, pytest.approx(by_hand.gain)) and found.least >= LEAST
    with Campaign.open(campaign.folder.path, now=clock) as again:
        assert again.status().prospect == found
    monkeypatch.setattr(Unskew, "belief", Method.belief)
    assert Fitting(campaign.folder, campaign.settings).prospect(campaign.state.answered()) is None
