"""Making a campaign: whole, or nothing at all."""

import fcntl
import os
import resource
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from campaign_folder import make, told
from unskew.campaigns import Campaign
from unskew.campaigns.user_cache import user_cache
from unskew.errors import InputError, StoreError
from unskew.methods.pools.unskew import Unskew


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"store": "mysql://host/db"}, "store must be postgresql://"),
        ({"store": "nonsense"}, "store must be postgresql://"),
        ({"store": "postgresql://nobody@127.0.0.1:1/none"}, "Check that the server runs"),
        ({"label": "nope"}, "nope"),
        ({"propensity": "x0"}, "must be in \\(0, 1\\]"),
        ({"budget": 0}, "budget must be at least 1"),
        ({"budget": 2.5}, "budget must be a whole number; got 2.5. Pass one, such as 500."),
        ({"budget": "5"}, "budget must be a whole number; got '5'"),
        ({"budget": True}, "budget must be a whole number; got True"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5. Pass one, such as 0."),
        ({"seed": None}, "seed must be a whole number; got None"),
        ({"method": Unskew}, "method must be a name; got the class Unskew. Pass 'Unskew'."),
        ({"method": Unskew()}, "method must be a name; got Unskew. Pass 'Unskew' or module:Class."),
        ({"method": None}, "method must be a name; got NoneType"),
        ({"method": "Wishful"}, "unknown method"),
        ({"log": Path("nowhere.csv")}, "no file"),
        ({"classes": ["0", "2"]}, "must be '0' or '2'"),
    ],
)
def test_bad_input_leaves_nothing(tables, tmp_path, changed, match):
    with pytest.raises((InputError, StoreError), match=match):
        make(tables, tmp_path / "new" / "campaign", **changed)
    assert names(tmp_path) == []
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    with pytest.raises((InputError, StoreError), match=match):
        make(tables, tmp_path / "there", **changed)
    assert names(tmp_path) == ["there", "there/notes.txt"]


def test_whole_numbers_of_numpy_are_taken(tables, tmp_path):
    with make(tables, tmp_path / "campaign", budget=np.int64(7), seed=np.uint8(3)) as campaign:
        assert (campaign.settings.budget, campaign.settings.seed) == (7, 3)


def test_what_cannot_be_fitted_leaves_nothing(tables, tmp_path):
    same = pl.read_parquet(tables / "log.parquet").select("paid", "q0", pl.lit(1.0).alias("x0"))
    same.write_parquet(tmp_path / "same.parquet")
    with pytest.raises(InputError, match="no column of the log can be learned from"):
        make(tables, tmp_path / "campaign", log=tmp_path / "same.parquet", pool=same[:50].drop("paid"), id=None)
    assert names(tmp_path) == ["same.parquet"]


def test_a_folder_that_cannot_be_made(tables, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        make(tables, tmp_path / "file" / "campaign")
    with pytest.raises(InputError, match="is a file. Name a folder"):
        make(tables, tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be written"):
        make(tables, Path("/proc/campaign"))
    assert names(tmp_path) == ["file"]


def test_a_campaign_that_is_there_stays_as_it_is(tables, folder):
    with Campaign.open(folder) as campaign:
        campaign.tell(told(campaign.ask(3, by="ann")), by="ann")
        before = campaign.ledger.events(campaign.id)
    kept = names(folder)
    with pytest.raises(InputError, match="holds a campaign already"):
        make(tables, folder)
    assert names(folder) == kept
    with Campaign.open(folder) as campaign:
        assert campaign.ledger.events(campaign.id) == before


@pytest.mark.parametrize("name", ["log.parquet", "pool.parquet", "pool.files.json", "ledger.sqlite", "ledger.head"])
def test_files_of_the_same_name_are_not_replaced(tables, tmp_path, name):
    """Neither the log that lies beside, nor a ledger whose campaign.json was lost."""
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"{name} exists, and a campaign would replace it"):
        make(tables, tmp_path)
    assert names(tmp_path) == [name] and (tmp_path / name).read_text() == "mine"


def test_what_a_kill_left_behind_is_cleared_away(tables, tmp_path):
    for left in (
        ".unfinished",
        "log.parquet",
        ".pool.parquet.0123",
        "ledger.sqlite",
        "ledger.sqlite-wal",
        "ledger.head",
    ):
        (tmp_path / left).write_text("half")
    with make(tables, tmp_path) as campaign:
        assert len(campaign.ask(2, by="ann")) == 2
    assert not {".unfinished", ".pool.parquet.0123"} & set(os.listdir(tmp_path))


def test_two_cannot_make_one_campaign_at_once(tables, tmp_path):
    with open(tmp_path / ".unfinished", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="is being made"):
            make(tables, tmp_path)
    make(tables, tmp_path).close()


def test_the_curve_begins_with_the_log_alone(tables, tmp_path):
    with make(tables, tmp_path / "campaign") as campaign:
        (labels, found), *more = campaign.history()
        assert labels == 0 and not more
        assert found == campaign.error()
        assert campaign.status().error.value == found.value
        campaign.tell(told(campaign.ask(6, by="ann")), by="ann")
        campaign.close_due()
        assert [labels for labels, _ in campaign.history()] == [0, 6]
        assert campaign.status().error.value == campaign.error().value


FULL = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from campaign_folder import make
from unskew.campaigns import Campaign
from unskew.errors import StoreError
tables, folder, most = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[4])
import unskew.campaigns.creating, unskew.campaigns.report.report
if len(sys.argv) > 5:
    campaign = Campaign.open(folder)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    if len(sys.argv) > 5:
        campaign.model()
    else:
        make(tables, folder).close()
    print("it went well")
except StoreError as error:
    print(error)
"""


def full_disk(tables, folder, most, *more):
    command = [sys.executable, "-c", FULL, str(tables), str(folder), str(Path(__file__).parents[1]), str(most), *more]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("most", [2_000, 10_000, 40_000])
def test_a_full_disk_while_it_is_made_leaves_nothing(tables, tmp_path, most):
    """The log, the pool, the first model: whichever does not fit."""
    assert "Make room on the disk" in full_disk(tables, tmp_path / "campaign", most)
    assert names(tmp_path) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != most


@pytest.mark.parametrize("folder", ["sqlite"], indirect=True)
def test_a_full_disk_while_a_model_is_kept_breaks_nothing(tables, folder, tmp_path, monkeypatch):
    """It is fitted, and not kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    with Campaign.open(folder) as campaign:
        campaign.tell(told(campaign.ask(6, by="ann")), by="ann")
        name = campaign.digest()
    assert "it went well" in full_disk(tables, folder, 2_000, "fit")
    assert not list(user_cache().rglob(f"*{name}*"))
    with Campaign.open(folder) as campaign:
        assert campaign.method().labels_ == 6
    assert list(user_cache().rglob(f"*{name}*"))


@pytest.mark.parametrize("which", ["log", "pool"])
def test_a_number_that_no_model_bears_is_refused_before_there_is_a_campaign(tables, tmp_path, which):
    """Single precision ends at 3.4e38: a campaign with the largest double took labels and then never answered again."""
    frame = pl.read_parquet(tables / f"{which}.parquet")
    marked = frame.with_columns(x1=pl.Series([1.7976931348623157e308, *frame["x1"][1:]]))
    marked.write_parquet(tmp_path / "marked.parquet")
    with pytest.raises(InputError, match="row 1: column 'x1' .* leave the cell empty where it means missing"):
        make(tables, tmp_path / "campaign", **{which: tmp_path / "marked.parquet"})
    assert names(tmp_path) == ["marked.parquet"]


def test_the_log_decides_what_the_columns_of_a_small_pool_hold(tables, tmp_path):
    """Alone, 36 and S are half numbers, and true and false are no words."""
    log = pl.read_parquet(tables / "log.parquet").select("x0", "paid", "q0")
    words = {"size": ["S", "M", "L", "36"] * 50, "said": ["True", "False", "Unknown", "True"] * 50}
    log.with_columns(**{name: pl.Series(column) for name, column in words.items()}).write_csv(tmp_path / "log.csv")
    (tmp_path / "pool.csv").write_text("loan,x0,size,said\n1,0.5,36,True\n2,-0.5,S,False\n")
    with make(tables, tmp_path / "campaign", log=tmp_path / "log.csv", pool=tmp_path / "pool.csv") as campaign:
        assert campaign.pool_frame.select("size", "said").rows() == [("36", "True"), ("S", "False")]


def test_columns_that_never_differ_are_not_among_those_learned_from(tables, tmp_path):
    for name in ("log", "pool"):
        frame = pl.read_parquet(tables / f"{name}.parquet")
        more = frame.with_columns(pl.lit("one").alias("same"), pl.lit(None, pl.Float64).alias("none"))
        more.write_parquet(tmp_path / f"{name}.parquet")
    with make(tmp_path, tmp_path / "campaign") as campaign:
        assert list(campaign.settings.kinds) == ["x0", "x1", "region", "member", "since", "seen"]
        assert len(campaign.ask(2, by="ann")) == 2


@pytest.mark.parametrize("name", ["prediction", "probability"])
def test_ids_that_predictions_could_not_be_told_from(tables, tmp_path, name):
    pl.read_parquet(tables / "pool.parquet").rename({"loan": name}).write_parquet(tmp_path / "pool.parquet")
    with pytest.raises(InputError, match=f"ids may not be in a column '{name}'"):
        make(tables, tmp_path / "campaign", pool=tmp_path / "pool.parquet", id=name)


@pytest.mark.parametrize("lease", [timedelta(0), timedelta(days=366), timedelta.max])
def test_a_lease_is_of_a_second_to_a_year(tables, tmp_path, lease):
    with pytest.raises(InputError, match="lease must be from a second to a year"):
        make(tables, tmp_path / "campaign", lease=lease)


def test_whole_numbers_as_ids_in_both_files(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").with_columns(pl.int_range(200).alias("loan"))
    log.write_parquet(tmp_path / "log.parquet")
    with make(tables, tmp_path / "campaign", log=tmp_path / "log.parquet") as campaign:
        assert campaign.settings.types["loan"] == "String"
        assert 1000 <= int(campaign.ask(1, by="ann")[0].id) < 1400
