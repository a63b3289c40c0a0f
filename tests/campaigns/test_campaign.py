"""The rules of a campaign, over SQLite and a real PostgreSQL: real files, and a clock that is set by hand."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from campaign_folder import lines, replayed, told, truth
from unskew.campaigns import Campaign, Rejected
from unskew.campaigns.ledger.events import Corrected
from unskew.errors import InputError, StoreError


def test_ask_tell_ask(campaign):
    rows = campaign.ask(10, by="ann")
    assert len({row.id for row in rows}) == 10
    assert all(1000 <= int(row.id) < 1400 for row in rows)
    assert {row.reason for row in rows} == {"chosen", "drawn"}
    assert all((row.probability == 1.0) == (row.reason == "chosen") for row in rows)
    assert set(rows[0].values) == {"loan", "x0", "x1", "region", "member", "since", "seen"}
    assert campaign.ask(10, by="ann") == rows  # again, before she answered: the same
    done = campaign.tell(told(rows), by="ann")
    assert (done.answered, done.repeated) == (10, 0)
    more = campaign.ask(10, by="ann")
    assert not {row.id for row in more} & {row.id for row in rows}
    assert more[0].round == 2
    status = campaign.status()
    assert (status.spent, status.leased, status.left, status.rounds) == (10, 10, 40, 2)
    assert replayed(campaign) == campaign.state


def test_probabilities_of_drawn_rows_are_those_of_the_draw(campaign):
    rows = campaign.ask(10, by="ann")
    drawn = [row for row in rows if row.reason == "drawn"]
    rest = campaign.state.batches[0].rest
    assert rest == 400 - (10 - len(drawn))
    assert len(drawn) == 5 and all(0.1 / 400 < row.probability < 0.5 for row in drawn)
    assert campaign.state.batches[0].spread > 0.0


def test_two_people_never_hold_the_same_row(campaign):
    mine, hers = campaign.ask(10, by="ann"), campaign.ask(10, by="bob")
    assert not {row.id for row in mine} & {row.id for row in hers}
    campaign.tell(told(hers), by="bob")
    assert campaign.ask(10, by="bob")[0].round == 3  # nobody waits for a slow colleague


def test_an_expired_lease_comes_back_and_late_answers_count(campaign, clock):
    rows = campaign.ask(5, by="ann")
    clock.on(minutes=11)
    assert campaign.status().expired == 5
    again = campaign.ask(5, by="bob")
    assert {row.id for row in again} == {row.id for row in rows}
    assert len(campaign.state.batches) == 1
    late, other = rows[0], rows[1]
    campaign.answer(late.id, truth(late), by="ann")  # late, and nobody was quicker
    assert campaign.tell({late.id: truth(late)}, by="bob").repeated == 1
    campaign.answer(other.id, "1", by="bob")
    with pytest.raises(Rejected, match="bob said '1'"):
        campaign.answer(other.id, "0", by="ann")
    assert len(campaign.hand_out(5, by="bob")) == 3


def test_a_late_skip_does_not_stand_in_the_way_of_who_has_the_row_now(campaign, clock):
    (row,) = campaign.ask(1, by="ann")
    clock.on(minutes=11)
    assert campaign.ask(1, by="bob")[0].id == row.id
    before = campaign.ledger.events(campaign.id)
    done = campaign.tell({row.id: None}, by="ann")
    assert (done.skipped, done.repeated) == (0, 1)
    assert campaign.ledger.events(campaign.id) == before
    assert campaign.tell({row.id: "1"}, by="bob").answered == 1
    (other,) = campaign.ask(1, by="ann")
    clock.on(minutes=11)
    assert campaign.tell({other.id: None}, by="bob").skipped == 1  # nobody has it any more: a skip counts


def test_a_label_stands_against_the_skip_of_somebody_else(campaign, clock):
    (row,) = campaign.ask(1, by="ann")
    clock.on(minutes=11)
    campaign.ask(1, by="bob")
    campaign.skip(row.id, by="bob")
    with pytest.raises(Rejected, match="bob said skipped"):
        campaign.answer(row.id, "1", by="bob")  # ones own is a mistake until it is said to be none
    done = campaign.tell({row.id: "1"}, by="ann")
    assert (done.answered, done.corrected) == (1, 0)
    kept = campaign.row(row.id)
    assert (kept.status, kept.label, kept.by) == ("answered", "1", "ann")
    assert (campaign.status().spent, campaign.status().skipped) == (1, 0)
    assert campaign.undo(by="bob") is None
    assert replayed(campaign) == campaign.state
    last = campaign.ask(59, by="ann")[0]
    campaign.skip(last.id, by="ann")
    assert len(campaign.ask(1, by="bob")) == 1
    with pytest.raises(Rejected, match="place in the budget is taken"):
        campaign.answer(last.id, "1", by="bob")


def test_asking_again_renews_a_lease_that_runs_out(campaign, clock):
    first = campaign.ask(3, by="ann")
    clock.on(minutes=4)
    assert campaign.ask(3, by="ann") == first
    clock.on(minutes=4)
    renewed = campaign.ask(3, by="ann")
    assert [r.id for r in renewed] == [r.id for r in first]
    assert renewed[0].lease_until == clock() + timedelta(minutes=10)


def test_the_budget_is_never_overspent(campaign):
    rows = campaign.ask(100, by="ann")
    assert len(rows) == 60
    assert campaign.ask(5, by="bob") == [] and not campaign.plan(5)
    for row in rows[:2]:
        campaign.skip(row.id, by="ann")
    assert len(campaign.ask(5, by="bob")) == 2  # a skip gives its place back
    with pytest.raises(InputError, match="place in the budget is taken"):
        campaign.undo(by="ann")
    with pytest.raises(Rejected, match="place in the budget is taken"):
        campaign.tell({rows[0].id: "1"}, by="ann", force_correct=True)
    assert campaign.status().left == 0


def test_tell_is_idempotent(campaign):
    rows = campaign.ask(10, by="ann")
    campaign.tell(told(rows), by="ann")
    before = campaign.ledger.events(campaign.id)
    assert campaign.tell(told(rows), by="ann").repeated == 10
    assert campaign.tell_lines(lines(rows) * 2, by="bob").repeated == 20
    assert campaign.ledger.events(campaign.id) == before


def test_a_bad_file_is_refused_whole_with_every_problem_by_line(campaign):
    rows = campaign.ask(6, by="ann")
    campaign.answer(rows[0].id, "1", by="ann")
    never = next(str(k) for k in range(1000, 1400) if str(k) not in campaign.state.rows)
    before = campaign.ledger.events(campaign.id)
    with pytest.raises(Rejected) as caught:
        campaign.tell_lines(
            [
                (2, rows[1].id, "1"),
                (3, "nonsense", "1"),
                (4, never, "0"),
                (5, rows[2].id, "maybe"),
                (6, rows[0].id, "0"),
                (7, rows[1].id, "0"),
                (8, rows[0].id, None),
            ],
            by="bob",
        )
    assert [line for line, _ in caught.value.problems] == [3, 4, 5, 6, 7, 8]
    wanted = ["'nonsense'", "never asked", "must be '0' or '1'", "ann said '1'", "in line 2", "skipped here and '0' in"]
    for words, (_, what) in zip(wanted, caught.value.problems, strict=True):
        assert words in what
    assert campaign.ledger.events(campaign.id) == before
    assert campaign.status().spent == 1


def test_labels_may_be_written_as_numbers(campaign):
    (row,) = campaign.ask(1, by="ann")
    campaign.answer(row.id, "1.0", by="ann")
    assert campaign.row(row.id).label == "1"


def test_force_correct(campaign):
    rows = campaign.ask(3, by="ann")
    campaign.tell({rows[0].id: "1", rows[1].id: None, rows[2].id: "0"}, by="ann")
    done = campaign.tell({rows[0].id: "0", rows[1].id: "1", rows[2].id: None}, by="bob", force_correct=True)
    assert done.corrected == 3
    kept = [campaign.row(row.id) for row in rows]
    assert [(r.status, r.label, r.by) for r in kept] == [
        ("answered", "0", "bob"), ("answered", "1", "bob"), ("skipped", None, "bob"),
    ]  # fmt: skip
    assert (campaign.status().spent, campaign.status().skipped) == (2, 1)
    assert campaign.ledger.events(campaign.id)[-3].event == Corrected(rows[0].id, "0", was="1")
    assert replayed(campaign) == campaign.state


def test_undo_takes_back_ones_own_last_answer(campaign):
    rows = campaign.ask(3, by="ann")
    campaign.answer(rows[0].id, "1", by="ann")
    campaign.skip(rows[1].id, by="ann")
    assert campaign.undo(by="bob") is None
    assert campaign.undo(by="ann").id == rows[1].id
    assert campaign.undo(by="ann").id == rows[0].id
    assert campaign.undo(by="ann") is None
    assert {row.id for row in campaign.hand_out(3, by="ann")} == {row.id for row in rows}
    assert (campaign.status().spent, campaign.status().skipped) == (0, 0)
    campaign.answer(rows[0].id, "0", by="ann")
    assert campaign.row(rows[0].id).label == "0"
    assert replayed(campaign) == campaign.state


def test_undo_passes_over_a_skip_whose_place_is_taken(campaign):
    rows = campaign.ask(60, by="ann")
    campaign.answer(rows[0].id, "1", by="ann")
    campaign.skip(rows[1].id, by="ann")
    assert campaign.plan(1)
    with pytest.raises(InputError, match="place in the budget is taken"):
        campaign.undo(rows[1].id, by="ann")
    for id in (None, rows[0].id):
        assert campaign.undo(id, by="ann").id == rows[0].id
        campaign.answer(rows[0].id, "0", by="ann")
    assert campaign.row(rows[1].id).status == "skipped"
    assert replayed(campaign) == campaign.state


def test_undo_of_a_certain_row_may_be_said_twice_and_that_row_comes_first(campaign):
    rows = campaign.ask(4, by="ann")
    campaign.tell(told(rows[:3]), by="ann")
    with pytest.raises(InputError, match="only your last answer"):
        campaign.undo(rows[1].id, by="ann")
    for _ in range(2):
        assert campaign.undo(rows[2].id, by="ann").id == rows[2].id
        assert campaign.status().spent == 2
    assert campaign.undo(rows[1].id, by="ann").id == rows[1].id
    assert [row.id for row in campaign.hand_out(4, by="ann")] == [rows[1].id, rows[2].id, rows[3].id]
    with pytest.raises(InputError, match="only your last answer"):
        campaign.undo(rows[1].id, by="bob")
    assert replayed(campaign) == campaign.state


def test_answers_in_and_the_next_rows_out_in_one_transaction(campaign):
    campaign.plan(6)
    first = campaign.hand_out(2, by="ann")
    before = len(campaign.ledger.events(campaign.id))
    done, after = campaign.exchange(lines(first), 2, by="ann")
    assert done.answered == 2 and not {row.id for row in after} & {row.id for row in first}
    assert len(campaign.ledger.events(campaign.id)) == before + 3
    assert campaign.exchange(lines(first), 2, by="ann")[1] == after  # sent again: nothing new
    with pytest.raises(Rejected):
        campaign.exchange([(1, after[0].id, "1"), (2, "nonsense", "1")], 2, by="ann")
    with pytest.raises(InputError, match="n must be at least 1"):
        campaign.exchange(lines(after), 0, by="ann")
    assert campaign.status().spent == 2
    assert replayed(campaign) == campaign.state


def test_a_refusal_costs_no_replay(campaign, monkeypatch):
    rows = campaign.ask(3, by="ann")
    kept = campaign.state
    with pytest.raises(Rejected):
        campaign.answer("nonsense", "1", by="ann")
    assert campaign.state is kept
    monkeypatch.setattr("unskew.campaigns.ledger.live.Transaction.append", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        campaign.tell(told(rows), by="ann")
    assert campaign.state is not kept and campaign.state == kept


def test_what_was_written_and_not_committed_is_forgotten(campaign, monkeypatch):
    rows = campaign.ask(3, by="ann")
    before = replayed(campaign)
    from unskew.campaigns.ledger.live import Transaction

    append = Transaction.append

    def fail_after(self, *events, by=""):
        append(self, *events, by=by)
        raise StoreError("the disk is full")

    monkeypatch.setattr(Transaction, "append", fail_after)
    with pytest.raises(StoreError, match="disk is full"):
        campaign.tell(told(rows), by="ann")
    assert campaign.state == before == replayed(campaign)


def test_ten_annotators_at_once(folder):
    """Never the same row, never past the budget, no answer lost; each with her own connection to the ledger."""

    def work(name):
        mine = []
        with Campaign.open(folder) as own:
            while rows := own.ask(3, by=name):
                own.tell(told(rows), by=name)
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
        while rows := campaign.hand_out(1, by=name):
            campaign.answer(rows[0].id, truth(rows[0]), by=name)
            mine.append(rows[0].id)
            campaign.status()
        return mine

    with ThreadPoolExecutor(10) as pool:
        ids = [id for mine in pool.map(work, [f"t{k}" for k in range(10)]) for id in mine]
    assert len(ids) == len(set(ids)) == 40 == campaign.status().spent
    assert replayed(campaign) == campaign.state


def test_rows_of_somebody_revoked_are_free_at_once(campaign):
    campaign.invite("eve")
    rows = campaign.ask(60, by="eve")
    campaign.answer(rows[0].id, "1", by="eve")
    campaign.revoke("eve")
    assert campaign.status().waiting == 59
    assert [row.id for row in campaign.ask(5, by="bob")] == [row.id for row in rows[1:6]]
    assert campaign.row(rows[0].id).by == "eve"
    assert replayed(campaign) == campaign.state


def test_tokens(campaign):
    token = campaign.invite("ann", "annotator")
    assert campaign.who(token) == ("ann", "annotator")
    assert token not in json.dumps([one.event.as_body() for one in campaign.ledger.events(campaign.id)])
    newer = campaign.invite("ann", "admin")
    assert campaign.who(token) is None and campaign.who(newer) == ("ann", "admin")
    campaign.revoke("ann")
    assert campaign.who(newer) is None
    with pytest.raises(InputError, match="nobody named 'ann'"):
        campaign.revoke("ann")
    with pytest.raises(InputError, match="unknown role 'boss'"):
        campaign.invite("bob", "boss")


def test_when_all_was_skipped_it_is_said_so(campaign, monkeypatch):
    rows = campaign.ask(2, by="ann")
    campaign.answer(rows[0].id, "1", by="ann")
    campaign.skip(rows[1].id, by="eve")
    assert campaign.status().exhausted is None
    campaign.skip(rows[1].id, by="ann")
    assert campaign.status().exhausted is None
    monkeypatch.setattr(campaign._live, "began", replace(campaign.settings, pool_rows=2))
    status = campaign.status()
    assert status.exhausted == "No row is left: 1 was skipped, and 1 of 60 labels were given."
    assert status.annotators["ann"].skipped == 1


def test_no_rows_is_not_a_question(campaign):
    with pytest.raises(InputError, match="n must be at least 1"):
        campaign.ask(0, by="ann")


def test_a_store_that_goes_away_and_comes_back(folder, campaign, request):
    rows = campaign.ask(3, by="ann")
    if "store" in json.loads((folder / "campaign.json").read_text()) and not (folder / "ledger.sqlite").exists():
        with psycopg.connect(request.getfixturevalue("postgresql_url"), autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert campaign.tell(told(rows), by="ann").answered == 3


def test_answers_can_be_limited_to_rows_that_were_handed_to_a_person(campaign, clock):
    mine, theirs = campaign.ask(1, by="ann")[0].id, campaign.ask(1, by="bob")[0].id
    for id in (theirs, "nonsense"):
        with pytest.raises(Rejected, match=f"row '{id}' was never given to you. Answer only rows that were."):
            campaign.tell_lines([(1, id, "1")], by="ann", only_given=True)
    clock.on(minutes=10)
    assert campaign.ask(1, by="eve")[0].id == mine
    assert campaign.tell_lines([(1, mine, "1")], by="ann", only_given=True).answered == 1  # it was hers earlier
    for label in ("0", "1", None):
        with pytest.raises(Rejected, match=f"row '{mine}' was answered meanwhile. Go on with the next."):
            campaign.tell_lines([(1, mine, label)], by="eve", only_given=True)
    assert campaign.tell({theirs: "1"}, by="ann").answered == 1
