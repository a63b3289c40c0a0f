"""The rules of a campaign, over SQLite and a real PostgreSQL: real files, and a clock that is set by hand."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import psycopg
import pytest

from unskew.campaigns import Campaign, Rejected, State
from unskew.errors import InputError, StoreError


class Clock:
    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.time

    def on(self, **by):
        self.time += timedelta(**by)


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A log that saw mostly x0 > 0, and a pool, with columns of every kind."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)

    def table(rows):
        x = rng.normal(size=(rows, 2))
        return pl.DataFrame(
            {
                "x0": x[:, 0],
                "x1": pl.Series(np.where(rng.random(rows) < 0.1, np.nan, x[:, 1])).fill_nan(None),
                "region": rng.choice(["north", "south", "west"], rows),
                "member": rng.random(rows) < 0.5,
                "since": pl.Series(rng.integers(0, 9000, rows)).cast(pl.Date),
                "seen": pl.Series(rng.integers(0, 2**50, rows)).cast(pl.Datetime("us")),
            }
        )

    log = table(200)
    q0 = np.where(log["x0"] > 0, 0.9, 0.2)
    paid = [int(x > 0.2) if z else None for x, z in zip(log["x0"], rng.random(200) < q0, strict=True)]
    log.with_columns(pl.Series("paid", paid), pl.Series("q0", q0)).write_parquet(folder / "log.parquet")
    pool = table(400).with_columns(pl.int_range(1000, 1400).alias("loan"))
    pool.write_parquet(folder / "pool.parquet")
    return folder


@pytest.fixture(scope="session")
def made(tables, tmp_path_factory):
    """A campaign to copy: fitting the first model once is enough."""
    folder = tmp_path_factory.mktemp("made") / "campaign"
    Campaign.create(
        folder, log=tables / "log.parquet", pool=tables / "pool.parquet", label="paid", propensity="q0", id="loan",
        budget=60, audit=0.5, lease=timedelta(minutes=10),
    ).close()  # fmt: skip
    return folder


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request, made, tmp_path):
    """A campaign that nobody was asked in yet."""
    copied = tmp_path / "campaign"
    shutil.copytree(made, copied)
    if request.param == "postgresql":
        move_to(request.getfixturevalue("postgresql_url"), copied)
    return copied


def move_to(url, folder):
    """The same campaign under a new id in another store."""
    from unskew.campaigns.ledger import Ledger

    with Campaign.open(folder) as campaign, Ledger(url) as ledger:
        name = f"{folder.parent.name}-{datetime.now(UTC).timestamp()}"[-36:]
        ledger.create(name, campaign.settings)
        with ledger.writing(name) as write:
            write.append("started", "", {})
    (folder / "campaign.json").write_text(json.dumps({"campaign": name, "store": url}))
    (folder / "ledger.sqlite").unlink()


@pytest.fixture
def campaign(folder, clock):
    with Campaign.open(folder, now=clock) as opened:
        yield opened


def truth(row):
    return "1" if row.values["x0"] > 0.2 else "0"


def told(rows):
    return [(k, row.id, truth(row)) for k, row in enumerate(rows, start=1)]


def replayed(campaign):
    return State(campaign.settings["budget"]).replay(campaign.ledger.events(campaign.id))


def test_ask_tell_ask(campaign):
    rows = campaign.ask(10, "ann")
    assert len({row.id for row in rows}) == 10
    assert all(1000 <= int(row.id) < 1400 for row in rows)
    assert {row.rule for row in rows} == {"chosen", "audit"}
    assert all((row.probability == 1.0) == (row.rule == "chosen") for row in rows)
    assert set(rows[0].values) == {"loan", "x0", "x1", "region", "member", "since", "seen"}
    assert campaign.ask(10, "ann") == rows  # again, before she answered: the same
    done = campaign.tell(told(rows), "ann")
    assert (done.answered, done.repeated) == (10, 0)
    more = campaign.ask(10, "ann")
    assert not {row.id for row in more} & {row.id for row in rows}
    assert more[0].round == 2
    status = campaign.status()
    assert (status.spent, status.leased, status.left, status.rounds) == (10, 10, 40, 2)
    assert replayed(campaign) == campaign.state


def test_values_in_the_ledger_are_those_of_the_pool(campaign):
    from unskew.campaigns.encoding import from_plain

    rows = campaign.ask(20, "ann")
    places = [campaign.row(row.id).place for row in rows]
    again = from_plain([row.values for row in rows], campaign.settings["types"])
    assert again.equals(campaign.pool_frame[places].select(again.columns))


def test_audit_probabilities_are_those_of_the_draw(campaign):
    rows = campaign.ask(10, "ann")
    drawn = [row for row in rows if row.rule == "audit"]
    rest = campaign.state.batches[0].rest
    assert rest == 400 - (10 - len(drawn))
    assert all(row.probability == len(drawn) / rest for row in drawn)


def test_two_people_never_hold_the_same_row(campaign):
    mine, hers = campaign.ask(10, "ann"), campaign.ask(10, "bob")
    assert not {row.id for row in mine} & {row.id for row in hers}
    campaign.tell(told(hers), "bob")
    assert campaign.ask(10, "bob")[0].round == 3  # nobody waits for a slow colleague


def test_an_expired_lease_comes_back_and_late_answers_count(campaign, clock):
    rows = campaign.ask(5, "ann")
    clock.on(minutes=11)
    assert campaign.status().expired == 5
    again = campaign.ask(5, "bob")
    assert {row.id for row in again} == {row.id for row in rows}
    assert len(campaign.state.batches) == 1
    late, other = rows[0], rows[1]
    campaign.answer(late.id, truth(late), "ann")  # late, and nobody was quicker
    assert campaign.tell([(1, late.id, truth(late))], "bob").repeated == 1
    campaign.answer(other.id, "1", "bob")
    with pytest.raises(Rejected, match="bob said '1'"):
        campaign.answer(other.id, "0", "ann")
    assert len(campaign.hand_out(5, "bob")) == 3


def test_asking_again_renews_a_lease_that_runs_out(campaign, clock):
    first = campaign.ask(3, "ann")
    clock.on(minutes=4)
    assert campaign.ask(3, "ann") == first
    clock.on(minutes=4)
    renewed = campaign.ask(3, "ann")
    assert [r.id for r in renewed] == [r.id for r in first]
    assert renewed[0].lease_until == clock() + timedelta(minutes=10)


def test_the_budget_is_never_overspent(campaign):
    rows = campaign.ask(100, "ann")
    assert len(rows) == 60
    assert campaign.ask(5, "bob") == [] and not campaign.plan(5)
    for row in rows[:2]:
        campaign.skip(row.id, "ann")
    assert len(campaign.ask(5, "bob")) == 2  # a skip gives its place back
    with pytest.raises(InputError, match="place in the budget is taken"):
        campaign.undo("ann")
    with pytest.raises(Rejected, match="place in the budget is taken"):
        campaign.tell([(1, rows[0].id, "1")], "ann", force_correct=True)
    assert campaign.status().left == 0


def test_tell_is_idempotent(campaign):
    rows = campaign.ask(10, "ann")
    campaign.tell(told(rows), "ann")
    before = campaign.ledger.events(campaign.id)
    assert campaign.tell(told(rows), "ann").repeated == 10
    assert campaign.tell(told(rows) * 2, "bob").repeated == 20
    assert campaign.ledger.events(campaign.id) == before


def test_a_bad_file_is_refused_whole_with_every_problem_by_line(campaign):
    rows = campaign.ask(6, "ann")
    campaign.answer(rows[0].id, "1", "ann")
    never = next(str(k) for k in range(1000, 1400) if str(k) not in campaign.state.rows)
    before = campaign.ledger.events(campaign.id)
    with pytest.raises(Rejected) as caught:
        campaign.tell(
            [
                (2, rows[1].id, "1"),
                (3, "nonsense", "1"),
                (4, never, "0"),
                (5, rows[2].id, "maybe"),
                (6, rows[0].id, "0"),
                (7, rows[1].id, "0"),
                (8, rows[0].id, None),
            ],
            "bob",
        )
    assert [line for line, _ in caught.value.problems] == [3, 4, 5, 6, 7, 8]
    wanted = ["unknown id", "never asked", "must be '0' or '1'", "ann said '1'", "in line 2", "skipped here and '0' in"]
    for words, (_, what) in zip(wanted, caught.value.problems, strict=True):
        assert words in what
    assert campaign.ledger.events(campaign.id) == before
    assert campaign.status().spent == 1


def test_labels_may_be_written_as_numbers(campaign):
    (row,) = campaign.ask(1, "ann")
    campaign.answer(row.id, "1.0", "ann")
    assert campaign.row(row.id).label == "1"


def test_force_correct(campaign):
    rows = campaign.ask(3, "ann")
    campaign.tell([(1, rows[0].id, "1"), (2, rows[1].id, None), (3, rows[2].id, "0")], "ann")
    done = campaign.tell([(1, rows[0].id, "0"), (2, rows[1].id, "1"), (3, rows[2].id, None)], "bob", force_correct=True)
    assert done.corrected == 3
    kept = [campaign.row(row.id) for row in rows]
    assert [(r.status, r.label, r.by) for r in kept] == [
        ("answered", "0", "bob"), ("answered", "1", "bob"), ("skipped", None, "bob"),
    ]  # fmt: skip
    assert (campaign.status().spent, campaign.status().skipped) == (2, 1)
    assert campaign.ledger.events(campaign.id)[-3].body == {"id": rows[0].id, "label": "0", "was": "1"}
    assert replayed(campaign) == campaign.state


def test_undo_takes_back_ones_own_last_answer(campaign):
    rows = campaign.ask(3, "ann")
    campaign.answer(rows[0].id, "1", "ann")
    campaign.skip(rows[1].id, "ann")
    assert campaign.undo("bob") is None
    assert campaign.undo("ann").id == rows[1].id
    assert campaign.undo("ann").id == rows[0].id
    assert campaign.undo("ann") is None
    assert {row.id for row in campaign.hand_out(3, "ann")} == {row.id for row in rows}
    assert (campaign.status().spent, campaign.status().skipped) == (0, 0)
    campaign.answer(rows[0].id, "0", "ann")
    assert campaign.row(rows[0].id).label == "0"
    assert replayed(campaign) == campaign.state


def test_a_round_closes_when_all_is_answered_skipped_or_expired(campaign, clock):
    rows = campaign.ask(6, "ann")
    assert campaign.close_due() == 0
    campaign.tell([*told(rows[:4]), (5, rows[4].id, None)], "ann")
    assert campaign.close_due() == 0
    clock.on(minutes=10)
    assert campaign.close_due() == 1
    assert campaign.close_due() == 0
    closed = campaign.state.batches[0].closed
    assert closed["labels"] == 4
    (labels, estimate), *_ = campaign.history()
    assert labels == 4 and estimate.low <= estimate.value <= estimate.high
    assert campaign.status().error["value"] == estimate.value
    campaign.answer(rows[5].id, truth(rows[5]), "ann")  # counts from the next fit on
    assert campaign.method().labels_ == 5


def test_planned_rows_wait_for_whoever_asks(campaign):
    assert campaign.hand_out(5, "ann") == []
    assert campaign.plan(8)
    assert len(campaign.hand_out(5, "ann")) == 5
    assert len(campaign.hand_out(5, "bob")) == 3
    assert len(campaign.state.batches) == 1


def test_a_plan_that_came_too_late_is_thrown_away(folder, campaign, clock, monkeypatch):
    draft = campaign._draft

    def slow(k):
        found = draft(k)
        if len(campaign.state.batches) == 0:
            with Campaign.open(folder, now=clock) as other:
                monkeypatch.setattr(other, "_planning", campaign_without_lock)
                other.ask(4, "bob")
        return found

    from contextlib import nullcontext as campaign_without_lock

    monkeypatch.setattr(campaign, "_draft", slow)
    rows = campaign.ask(4, "ann")
    assert [(b.number, len(b.ids)) for b in campaign.state.batches] == [(1, 4), (2, 4)]
    assert {row.round for row in rows} == {2}


def test_ten_annotators_at_once(folder):
    """Never the same row, never past the budget, no answer lost; each with her own connection to the ledger."""

    def work(name):
        mine = []
        with Campaign.open(folder) as own:
            while rows := own.ask(3, name):
                own.tell(told(rows), name)
                mine += [row.id for row in rows]
        return mine

    with ThreadPoolExecutor(10) as pool:
        answered = list(pool.map(work, [f"annotator {k}" for k in range(10)]))
    ids = [id for mine in answered for id in mine]
    assert len(ids) == len(set(ids)) == 60
    with Campaign.open(folder) as campaign:
        status = campaign.status()
        assert (status.spent, status.left, status.open) == (60, 0, 0)
        assert sum(work.answered for work in status.annotators.values()) == 60
        for k, mine in enumerate(answered):
            assert all(campaign.row(id).by == f"annotator {k}" for id in mine)


def test_ten_threads_share_one_object(campaign):
    campaign.plan(40)

    def work(name):
        mine = []
        while rows := campaign.hand_out(1, name):
            campaign.answer(rows[0].id, truth(rows[0]), name)
            mine.append(rows[0].id)
            campaign.status()
        return mine

    with ThreadPoolExecutor(10) as pool:
        ids = [id for mine in pool.map(work, [f"t{k}" for k in range(10)]) for id in mine]
    assert len(ids) == len(set(ids)) == 40 == campaign.status().spent
    assert replayed(campaign) == campaign.state


REFIT = """
import sys, numpy as np, polars as pl, hashlib
from unskew.campaigns import Campaign
with Campaign.open(sys.argv[1]) as campaign:
    model = campaign.model()
    print(hashlib.sha256(campaign.method().model_.posterior_.mode.tobytes()).hexdigest())
    print(hashlib.sha256(model.predict_proba(pl.read_parquet(sys.argv[2])).tobytes()).hexdigest())
    print(campaign._fitting.digest(campaign._snapshot()[0]))
"""


def test_ledger_and_log_refit_the_very_same_model_elsewhere(folder, tables, clock, tmp_path):
    with Campaign.open(folder, now=clock) as campaign:
        for name in ("ann", "bob", "eve"):
            rows = campaign.ask(8, name)
            campaign.tell([*told(rows)[:6], (7, rows[6].id, None)], name)
        campaign.tell([(1, rows[0].id, "0" if truth(rows[0]) == "1" else "1")], "eve", force_correct=True)
        campaign.model()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("campaign.json", "ledger.sqlite", "log.parquet"):
        if (folder / name).exists():
            shutil.copy(folder / name, elsewhere)

    def refit(at):
        command = [sys.executable, "-c", REFIT, str(at), str(tables / "pool.parquet")]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert refit(elsewhere) == refit(folder)  # the second from its cache, after five fits in another process
    with Campaign.open(elsewhere, now=clock) as moved:
        assert len(moved.hand_out(2, "ann")) == 1
        with pytest.raises(StoreError, match="pool.parquet is missing"):
            moved.ask(30, "ann")


def test_a_broken_or_missing_cache_is_made_again(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        rows = campaign.ask(6, "ann")
        campaign.tell(told(rows), "ann")
        before = campaign.predict(campaign.pool_frame)
    for file in (folder / "cache").iterdir():
        file.write_bytes(file.read_bytes()[:100])
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        assert len(campaign.ask(4, "ann")) == 4
    shutil.rmtree(folder / "cache")
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.predict(campaign.pool_frame).equals(before)
        assert len(campaign.ask(4, "ann")) == 4


def test_predict_gives_id_class_and_probability(campaign):
    found = campaign.predict(campaign.pool_frame)
    assert found.columns == ["loan", "prediction", "probability"]
    assert set(found["prediction"]) == {"0", "1"}
    assert found["probability"].is_between(0, 1).all()


def test_tokens(campaign):
    token = campaign.invite("ann", "annotator")
    assert campaign.who(token) == ("ann", "annotator")
    assert token not in json.dumps([event.body for event in campaign.ledger.events(campaign.id)])
    newer = campaign.invite("ann", "admin")
    assert campaign.who(token) is None and campaign.who(newer) == ("ann", "admin")
    campaign.revoke("ann")
    assert campaign.who(newer) is None
    with pytest.raises(InputError, match="nobody named 'ann'"):
        campaign.revoke("ann")
    with pytest.raises(InputError, match="unknown role 'boss'"):
        campaign.invite("bob", "boss")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101])
def test_names_must_be_such(campaign, name):
    with pytest.raises(InputError, match="1 to 100 printable"):
        campaign.ask(1, name)


def test_no_rows_is_not_a_question(campaign):
    with pytest.raises(InputError, match="n must be at least 1"):
        campaign.ask(0, "ann")


def test_a_store_that_goes_away_and_comes_back(folder, campaign, request):
    rows = campaign.ask(3, "ann")
    if "store" in json.loads((folder / "campaign.json").read_text()) and not (folder / "ledger.sqlite").exists():
        with psycopg.connect(request.getfixturevalue("postgresql_url"), autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert campaign.tell(told(rows), "ann").answered == 3
