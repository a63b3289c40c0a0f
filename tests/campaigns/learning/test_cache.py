"""The cache: the user's own, checked before use, and never needed."""

import os
import shutil
import time

import numpy as np
import pytest

from campaign_folder import make, told
from unskew.campaigns import Campaign
from unskew.campaigns.folder import digest
from unskew.campaigns.learning import cache
from unskew.campaigns.learning.cache import Cache
from unskew.campaigns.user_cache import UNUSED, user_cache
from unskew.methods import pool


@pytest.fixture
def own(monkeypatch, tmp_path):
    """A cache that holds nothing else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "unskew" / "campaigns"


@pytest.fixture
def labelled(own, tables, tmp_path):
    """A campaign with some labels, what it predicts, and what is cached of it."""
    with make(tables, tmp_path / "campaign") as campaign:
        campaign.tell(told(campaign.ask(6, by="ann")), by="ann")
        before = campaign.predict(campaign.pool_frame)
        campaign.ask(2, by="ann")
    return tmp_path / "campaign", before


class Bomb:
    """What a pickle may do: run anything."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_nothing_in_a_campaigns_folder_is_unpickled(labelled, monkeypatch, tmp_path):
    """Neither in the place where earlier versions had their cache, nor under the names of today's."""
    import joblib

    folder, before = labelled
    monkeypatch.chdir(tmp_path)
    assert not (folder / "cache").exists()
    (folder / "cache").mkdir()
    with Campaign.open(folder) as campaign:
        old = [f"model-{campaign.digest()}.joblib", f"start-{campaign.digest()}.joblib"]
    for name in [*old, *(path.name for path in user_cache().rglob("*.joblib"))]:
        for place in (folder, folder / "cache"):
            joblib.dump(Bomb(), place / name)
    shutil.rmtree(user_cache())
    with Campaign.open(folder) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        assert len(campaign.ask(4, by="ann")) == 4
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "reversed", "gone", "empty folder"])
def test_a_damaged_cache_is_made_again(labelled, own, damage):
    folder, before = labelled
    files = [path for path in own.rglob("*.*") if path.is_file()]
    assert {path.name.partition(".")[0].partition("-")[0] for path in files} == {"features", "model", "start"}
    for path in files:
        content = bytearray(path.read_bytes())
        if damage == "cut":
            content = content[:100]
        elif damage == "flipped":
            content[-9] ^= 1  # in the last number of an array: nothing but the digest can tell
        elif damage == "reversed" and path.suffix == ".npy":
            rows = np.load(path)
            content = content[: -rows.nbytes] + bytearray(rows[::-1].tobytes())
        path.write_bytes(content)
        if damage == "gone":
            path.unlink()
    if damage == "empty folder":
        shutil.rmtree(own)
    with Campaign.open(folder) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        asked = [row.id for row in campaign.ask(4, by="bob")]
    with Campaign.open(folder) as campaign:
        assert [row.id for row in campaign.ask(4, by="bob")] == asked


def test_it_may_be_deleted_while_it_is_in_use(labelled, own):
    folder, before = labelled
    with Campaign.open(folder) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        shutil.rmtree(own)
        for _ in range(2):
            campaign.tell(told(campaign.ask(4, by="ann")), by="ann")
            campaign.close_due()
        assert campaign.status().closed == 4


@pytest.mark.parametrize("why", ["others may write to it", "it is a link", "it is a file", "there is no home"])
def test_a_folder_that_is_not_ones_own_is_not_used(labelled, own, monkeypatch, tmp_path, why):
    import joblib

    folder, before = labelled
    monkeypatch.chdir(tmp_path)
    (place,) = own.iterdir()
    joblib.dump(Bomb(), tmp_path / "bomb")
    for model in list(place.glob("model-*")):
        model.unlink()
        shutil.copy(tmp_path / "bomb", place / f"{model.name.partition('.')[0]}.{digest(tmp_path / 'bomb')}.joblib")
    if why == "others may write to it":
        place.chmod(0o777)
    elif why == "it is a link":
        shutil.move(place, tmp_path / "elsewhere")
        place.symlink_to(tmp_path / "elsewhere")
    elif why == "it is a file":
        shutil.rmtree(place)
        place.write_text("mine")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with Campaign.open(folder) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        assert len(campaign.ask(4, by="ann")) == 4
    assert not (tmp_path / "exploded").exists()
    assert why != "it is a file" or place.read_text() == "mine"


def test_only_the_owner_may_enter_it(labelled, own):
    (place,) = own.iterdir()
    assert place.stat().st_mode & 0o777 == 0o700


def test_what_is_long_unused_or_was_never_finished_is_removed(own):
    long_ago = time.time() - UNUSED - 60
    for name in ("old", "new"):
        Cache(name).array("zeros", (3,), lambda path: cache.save(path, np.zeros(3)))
    (own / "new" / ".half.npy").write_bytes(b"half")
    for path in (own / "old", own / "new" / ".half.npy"):
        os.utime(path, (long_ago, long_ago))
    assert Cache("new").array("zeros", (3,), lambda path: 1 / 0).tolist() == [0.0, 0.0, 0.0]
    assert [path.name for path in own.iterdir()] == ["new"]
    assert [path.suffix for path in (own / "new").iterdir()] == [".npy"]


def test_only_the_latest_models_are_kept(tables, tmp_path, own):
    with make(tables, tmp_path / "campaign") as campaign:
        for _ in range(6):
            campaign.tell(told(campaign.ask(2, by="ann")), by="ann")
            campaign.model()
    assert len(list(own.rglob("model-*.joblib"))) == cache.KEPT_MODELS


def test_the_rule_for_propensities_is_fitted_once(labelled, monkeypatch):
    """It takes as long as the other parts of a round together, and never changes."""

    def again(log):
        raise AssertionError("fitted again")

    folder, _ = labelled
    monkeypatch.setattr(pool, "read_off", again)
    with Campaign.open(folder) as campaign:
        campaign.tell(told(campaign.ask(2, by="ann")), by="ann")
        assert len(campaign.ask(4, by="ann")) == 4
