"""How a campaign is conducted: budgets, guidelines, pauses, corrections, comments, two people on one row."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from faults.replay import replay
from faults.scene import CLASSES
from unskew.campaigns import Campaign, Rejected
from unskew.campaigns.conduct import CHANGES, COMMENTS
from unskew.campaigns.ledger.events import Commented
from unskew.campaigns.ledger.opinions import for_two
from unskew.campaigns.ledger.state import SKIPS
from unskew.campaigns.tables import id_lengths
from unskew.errors import InputError
from web_page import begin


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return begin(tmp_path_factory.mktemp("conduct"), budget=40)


@pytest.fixture
def loans(prepared: Path, tmp_path: Path) -> Iterator[Campaign]:
    folder = shutil.copytree(prepared, tmp_path / "loans")
    with Campaign.open(folder) as campaign:
        yield campaign
    with Campaign.open(folder) as again:  # the ledger alone gives the same state
        assert again.state.rows == campaign._live.known.rows and again.state.again == campaign._live.known.again
        assert again.state.done == campaign._live.known.done
    found = replay(folder)
    assert found.faults == []
    assert {id: row.label for id, row in again._live.known.rows.items() if row.done} == found.labels


def doubled(campaign: Campaign, n: int = 30, share: float = 1.0) -> list[str]:
    """Rows that ada answered with yes, and that a second person is to see; their ids."""
    campaign.arrange(overlap=share)
    rows = campaign.ask(n, by="ada")
    campaign.tell({row.id: "yes" for row in rows}, by="ada")
    return [row.id for row in rows if for_two(row.id, share)]


def test_a_budget_grows_and_shrinks(loans: Campaign) -> None:
    assert len(loans.ask(60, by="ada")) == 40
    loans.arrange(budget=55, by="grace")
    assert loans.status().left == 15 and len(loans.ask(60, by="ada")) == 55
    with pytest.raises(InputError, match="at least 55: 0 labels are given and 55 rows are asked for; got 54"):
        loans.arrange(budget=54)
    loans.skip(loans.ask(1, by="ada")[0].id, by="ada")
    loans.arrange(budget=54)
    assert loans.status().budget == 54 and loans.status().left == 0
    with pytest.raises(InputError, match="budget must be a whole number; got 1.5. Pass one, such as 500."):
        loans.arrange(budget=1.5)


def test_a_campaign_ends_and_is_reopened(loans: Campaign) -> None:
    (held,) = loans.ask(1, by="ada")
    loans.arrange(ended=True)
    with pytest.raises(InputError, match="has ended.*unskew reopen"):
        loans.ask(2, by="ada")
    assert loans.hand_out(2, by="ada") == [] and not loans.plan(5) and loans.status().left == 0
    loans.answer(held.id, "yes", by="ada")  # no work is lost
    loans.arrange(ended=False)
    assert len(loans.ask(2, by="ada")) == 2


def test_what_people_read_is_checked_and_kept(loans: Campaign) -> None:
    found = loans.arrange(
        question="Did the applicant repay?", guidelines="Read *all* of it.", explained={"yes": "all of it", "no": ""},
        columns={"debt_ratio": "Debts", "income_eur": ""}, highlighted=["car", "car", " "],
    )  # fmt: skip
    assert found == loans.arrangement
    assert found.explained == {"yes": "all of it"} and found.highlighted == ("car",)
    assert found.columns == (("debt_ratio", "Debts"), ("income_eur", ""))
    before = loans.state.last
    loans.arrange(question="Did the applicant repay?")
    assert loans.state.last == before, "nothing changed, so nothing is written"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"colour": "red"}, "what to change.*'colour'"),
        ({"overlap": 1.5}, "from 0 to 1; got 1.5"),
        ({"overlap": "merge"}, "is --same-ids"),
        ({"explained": {"perhaps": "x"}}, "class.*'perhaps'"),
        ({"columns": {"repaid": ""}}, "column.*'repaid'"),
        ({"columns": [["income_eur", ""], ["income_eur", "x"]]}, "twice"),
        ({"columns": ["income_eur"]}, "pairs"),
        ({"question": "x" * 501}, "at most 500 characters; got 501"),
        ({"guidelines": "\ud800"}, "whole characters"),
        ({"highlighted": "car"}, "list of words"),
        ({"highlighted": ["x" * 101]}, "at most 100 characters"),
        ({"ended": 1}, "True or False"),
    ],
)
def test_what_cannot_be_arranged(loans: Campaign, changes: dict[str, object], told: str) -> None:
    before = loans.state.last
    with pytest.raises(InputError, match=told):
        loans.arrange(**{"question": "fine", **changes})
    assert loans.state.last == before


def test_somebody_who_is_paused(loans: Campaign) -> None:
    rows = loans.ask(3, by="ada")
    loans.pause("ada", by="grace")
    loans.pause("ada", by="grace")
    assert loans.hand_out(3, by="ada") == []
    with pytest.raises(InputError, match="ada is paused.*DIR --resume ada"):
        loans.ask(1, by="ada")
    assert {row.id for row in loans.ask(3, by="bob")} == {row.id for row in rows}, "others get their rows"
    assert loans.status().annotators["ada"].barred == "paused"
    loans.resume("ada")
    assert loans.ask(1, by="ada")


def test_somebody_who_skips_everything_is_not_fed_the_pool(loans: Campaign) -> None:
    rows = loans.ask(SKIPS + 3, by="ada")
    for row in rows[: SKIPS - 1]:
        loans.skip(row.id, by="ada")
    assert loans.hand_out(1, by="ada")
    loans.skip(rows[SKIPS - 1].id, by="ada")
    assert loans.hand_out(1, by="ada") == [] and loans.status().annotators["ada"].barred == "skips"
    with pytest.raises(InputError, match=f"ada skipped the last {SKIPS} rows"):
        loans.ask(1, by="ada")
    loans.undo(by="ada")
    assert loans.hand_out(1, by="ada"), "a skip that is taken back does not count"
    loans.skip(rows[SKIPS - 1].id, by="ada")
    loans.resume("ada", by="grace")
    assert loans.ask(1, by="ada")


def test_two_people_who_agree(loans: Campaign) -> None:
    ids = doubled(loans, 10)
    spent = loans.status().spent
    mine = loans.hand_out(10, by="ada")
    assert not {row.id for row in mine} & set(ids), "nobody is asked twice"
    rows = loans.ask(10, by="bob")
    assert [row.id for row in rows] == ids
    assert all(row.label is None and row.by is None and row.opinions == () for row in rows), "answers are not shown"
    loans.tell({row.id: "yes" for row in rows}, by="bob")
    assert loans.status().spent == spent and not loans.state.again and not loans.state.conflicts()
    found = loans.two_people()
    assert found.all is not None and (found.all.rows, found.all.raw) == (10, 1.0) and found.all.low < 0.75
    assert loans.status().annotators["bob"].answered == 10


def test_a_conflict_goes_to_a_third_person(loans: Campaign) -> None:
    ids = doubled(loans, 4)
    loans.tell({row.id: "no" for row in loans.ask(4, by="bob")}, by="bob")
    assert [row.id for row in loans.state.conflicts()] == ids
    assert {loans.row(id).label for id in ids} == {"yes"}, "the first answer counts until it is settled"
    (third, *_) = loans.ask(4, by="eve")
    assert third.id == ids[0]
    loans.answer(third.id, "no", by="eve")
    row = loans.row(ids[0])
    assert (row.label, row.conflict, row.by) == ("no", False, "ada")
    loans.answer(ids[1], "yes", by="eve")
    assert loans.row(ids[1]).label == "yes" and not loans.row(ids[1]).conflict
    loans.skip(ids[2], by="eve")
    assert loans.row(ids[2]).conflict and ids[2] not in {row.id for row in loans.hand_out(5, by="eve")}


def test_the_administrator_settles_a_conflict(loans: Campaign) -> None:
    ids = doubled(loans, 4)
    loans.tell({row.id: "no" for row in loans.ask(4, by="bob")}, by="bob")
    row = loans.correct(ids[0], "no", by="grace", reason="the note says so")
    assert (row.label, row.by, row.settled, row.conflict) == ("no", "grace", True, False)
    assert [(one.by, one.label) for one in row.opinions] == [("ada", "yes"), ("bob", "no")], "every answer stays"
    assert loans.state.comments[ids[0]][-1].text == "yes → no: the note says so"
    row = loans.correct(ids[1], "yes", by="grace")
    assert row.settled and row.label == "yes", "to agree with the first answer settles it too"
    assert {one.id for one in loans.state.conflicts()} == set(ids[2:])
    assert loans.two_people().all.raw == 0.0, "settling does not change how far people agreed"
    with pytest.raises(InputError, match="can no longer be changed"):
        loans.correct(ids[0], "yes", by="ada", own=True)
    assert loans.status().spent == 4
    told, _ = loans.exchange([(None, ids[0], "yes")], 1, by="ada")
    assert told.repeated == 1, "on the page, what she said before may come again, and changes nothing"
    for name in ("ada", "eve"):
        with pytest.raises(Rejected, match="but grace said 'no'"):
            loans.tell({ids[0]: "yes"}, by=name)


def test_opinions_are_corrected_and_taken_back(loans: Campaign) -> None:
    ids = doubled(loans, 3)
    loans.tell({row.id: "no" for row in loans.ask(3, by="bob")}, by="bob")
    with pytest.raises(InputError, match="can no longer be taken back"):
        loans.undo(ids[2], by="ada")
    undone = loans.undo(ids[2], by="bob")
    assert undone is not None and undone.label is None and undone.holder == "bob"
    assert loans.row(ids[2]).label == "yes" and not loans.row(ids[2]).conflict
    loans.answer(ids[2], "yes", by="bob")
    assert not loans.row(ids[2]).conflict
    loans.correct(ids[0], "yes", by="bob", own=True)
    assert not loans.row(ids[0]).conflict and loans.row(ids[0]).label == "yes"
    loans.correct(ids[1], "no", by="ada", own=True)
    assert (loans.row(ids[1]).label, loans.row(ids[1]).by) == ("no", "ada") and not loans.row(ids[1]).conflict
    with pytest.raises(InputError, match="was never given to you"):
        loans.correct(ids[1], "no", by="eve", own=True)
    assert loans.tell({ids[0]: "yes"}, by="bob").repeated == 1, "the same answer again changes nothing"


def test_rows_of_two_people_are_a_share_and_come_from_those_planned_after(loans: Campaign) -> None:
    first = loans.ask(5, by="ada")
    loans.arrange(overlap=0.5)
    later = loans.ask(35, by="ada")[5:]
    assert not any(loans.row(row.id).for_two for row in first)
    assert [loans.row(row.id).for_two for row in later] == [for_two(row.id, 0.5) for row in later]
    assert 5 <= sum(loans.row(row.id).for_two for row in later) <= 25


def test_a_round_closes_again_when_a_conflict_is_settled(loans: Campaign) -> None:
    ids = doubled(loans, 6)
    assert loans.close_due() == 1 and loans.close_due() == 0
    loans.tell({row.id: "no" for row in loans.ask(6, by="bob")[:6]}, by="bob")
    assert loans.close_due() == 0, "the first answers count as before"
    loans.correct(ids[0], "no", by="grace")
    assert loans.close_due() == 1


def test_answers_are_found(loans: Campaign) -> None:
    rows = loans.ask(4, by="ada")
    loans.tell({rows[0].id: "yes", rows[1].id: "no", rows[2].id: None}, by="ada")
    loans.comment(rows[1].id, "Not sure: the DEBT is odd", by="ada")
    assert [one.row.id for one in loans.answers(by="ada", label="no")] == [rows[1].id]
    assert [one.label for one in loans.answers(label="")] == [None]
    assert [one.row.id for one in loans.answers(search=f"{rows[0].id.lower()}")] == [rows[0].id]
    assert [one.row.id for one in loans.answers(search="debt odd")] == [rows[1].id]
    with pytest.raises(InputError, match="unknown person 'bob'. Known: ada."):
        loans.answers(by="bob")
    loans.invite("bob")
    assert loans.answers(by="bob") == []
    now = loans.ledger.now()
    assert len(loans.answers(since=now - timedelta(minutes=5), until=now + timedelta(minutes=5))) == 3
    assert loans.answers(until=now - timedelta(minutes=5)) == []
    (plain,) = [one.as_dict() for one in loans.answers(ids=[rows[1].id])]
    assert plain["comments"][0]["text"].startswith("Not sure") and plain["counts"] and plain["label"] == "no"
    assert datetime.fromisoformat(plain["at"]) <= now


def test_corrections_of_a_skip_need_a_place(loans: Campaign) -> None:
    rows = loans.ask(40, by="ada")
    loans.skip(rows[0].id, by="ada")
    loans.correct(rows[0].id, "yes", by="grace", reason="it is clear")
    assert loans.row(rows[0].id).label == "yes" and loans.status().spent == 1
    loans.skip(rows[1].id, by="ada")
    assert len(loans.ask(1, by="bob")) == 1
    with pytest.raises(InputError, match="place in the budget is taken"):
        loans.correct(rows[1].id, "yes", by="grace", reason="it is clear")
    with pytest.raises(InputError, match="is taken. Leave it as it is.$"):
        loans.correct(rows[1].id, "yes", by="ada", own=True)  # who cannot raise the budget
    with pytest.raises(InputError, match="no answer to correct"):
        loans.correct(rows[2].id, "yes", by="grace")
    with pytest.raises(InputError, match="'perhaps' must be one of 'no', 'yes'"):
        loans.correct(rows[0].id, "perhaps", by="grace")
    with pytest.raises(InputError, match="a comment must have a word; got ' '"):
        loans.comment(rows[0].id, " ", by="ada")


def test_somebody_elses_answer_is_corrected_with_a_reason(loans: Campaign) -> None:
    rows = loans.ask(3, by="ada")
    loans.tell({rows[0].id: "yes", rows[1].id: "yes", rows[2].id: None}, by="ada")
    for row, label in ((rows[0], "no"), (rows[0], None), (rows[2], "yes")):
        with pytest.raises(InputError, match="was answered by 'ada'. Say why you change somebody else's answer."):
            loans.correct(row.id, label, by="grace")
    assert loans.correct(rows[0].id, "no", by="grace", reason="see the note").label == "no"
    assert loans.correct(rows[0].id, "yes", by="grace").label == "yes", "that was her own by now"
    assert loans.correct(rows[1].id, "no", by="ada").label == "no", "one's own needs none"


def test_a_comment_with_a_key_that_is_sent_again_is_kept_once(loans: Campaign) -> None:
    first, second = (row.id for row in loans.ask(2, by="ada"))
    kept = loans.comment(first, "blurred", by="ada", key="k1")
    before = loans.state.last
    assert loans.comment(first, " blurred ", by="ada", key="k1") == kept
    assert loans.state.last == before, "nothing is written"
    loans.comment(first, "blurred", by="bob", key="k1")
    loans.comment(first, "blurred and dark", by="ada", key="k1")
    loans.comment(first, "blurred", by="ada", key="k2")
    loans.comment(second, "blurred", by="ada", key="k1")
    for _ in range(2):
        loans.comment(second, "blurred", by="ada")  # without a key, nobody can know
    assert [len(loans.state.comments[id]) for id in (first, second)] == [4, 3]
    with pytest.raises(InputError, match="a comment's key may have at most 100 characters; got 101"):
        loans.comment(first, "dark", by="ada", key="k" * 101)
    with Campaign.open(loans.folder.path) as again:
        assert again.state.comments == loans.state.comments, "keys are in the ledger"
        assert again.comment(first, "blurred", by="ada", key="k1") == kept


def test_a_correction_that_is_sent_again_keeps_its_reason_once(loans: Campaign) -> None:
    (row,) = loans.ask(1, by="ada")
    loans.answer(row.id, "no", by="ada")
    for _ in range(2):
        loans.correct(row.id, "yes", by="lead", reason="paid in the end")
    assert [one.text for one in loans.state.comments[row.id]] == ["no → yes: paid in the end"]
    loans.correct(row.id, "yes", by="lead", reason="the bank says so too")
    assert len(loans.state.comments[row.id]) == 2


def test_a_reason_is_kept_where_nothing_changes(loans: Campaign) -> None:
    (row,) = loans.ask(1, by="ada")
    loans.answer(row.id, "yes", by="ada")
    before = loans.row(row.id)
    assert loans.correct(row.id, "yes", by="grace") == before and row.id not in loans.state.comments
    assert loans.correct(row.id, "yes", by="grace", reason="a giraffe") == before
    assert [one.row.id for one in loans.answers(search="giraffe")] == [row.id]
    assert loans.status().annotators.keys() == {"ada"}, "nothing was corrected"


def test_nobody_is_paused_who_is_not_there(loans: Campaign) -> None:
    with pytest.raises(InputError, match="unknown person 'ada': nobody was invited yet, and nobody has labelled"):
        loans.pause("ada")
    loans.invite("zoe")
    loans.ask(1, by="ada")
    before = loans.state.last
    for deed in (loans.pause, loans.resume):
        with pytest.raises(InputError, match="unknown person 'nobody'. Known: ada, zoe."):
            deed("nobody")
    assert loans.state.last == before and loans.status().annotators.keys() == {"ada"}
    loans.pause("zoe")
    assert loans.status().annotators["zoe"].barred == "paused"


def test_agreement_over_time_has_parts_that_can_be_told_apart(loans: Campaign) -> None:
    """Parts that begin in the same minute would have the same name: they are one."""
    doubled(loans, 40)
    loans.tell({row.id: "yes" for row in loans.ask(40, by="bob")}, by="bob")
    found = loans.two_people().over_time
    assert len(found) == len({one.since[:16] for one in found}) == 1 and found[0].agreement.rows == 40


def test_nobody_is_told_what_others_said(loans: Campaign) -> None:
    ids = doubled(loans, 2)
    loans.tell({row.id: "no" for row in loans.ask(2, by="bob")}, by="bob")
    with pytest.raises(Rejected) as refused:
        loans.exchange([(None, ids[0], "yes")], 1, by="bob")
    assert refused.value.problems == [
        (None, f"row {ids[0]!r} already has your other answer, 'no'. To change it, open History.")
    ]
    loans.correct(ids[0], "yes", by="grace")
    for name, label, own in (("ada", "no", "yes"), ("bob", "yes", "no")):
        with pytest.raises(Rejected, match=f"already has your other answer, '{own}'. To change it, open History."):
            loans.exchange([(None, ids[0], label)], 1, by=name)


def test_a_campaign_with_longer_ids_still_opens(loans: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_lengths, "LONGEST_ID", 3)  # as if they had been taken before there was a limit
    with Campaign.open(loans.folder.path) as again:
        (row,) = again.ask(1, by="ada")
        assert len(row.id) > 3 and again.answer(row.id, "yes", by="ada").answered == 1
    assert loans.refresh().spent == 1


def test_one_person_writes_only_so_many_comments_on_a_row(loans: Campaign) -> None:
    one, other = (row.id for row in loans.ask(2, by="ada"))
    for _ in range(COMMENTS):
        loans.comment(one, "schön \U0001f600", by="ada")
    with pytest.raises(InputError, match=f"has {COMMENTS} comments by 'ada' already, which is the most"):
        loans.comment(one, "x", by="ada")
    loans.comment(other, "x", by="ada")
    for k in range(10 * COMMENTS):
        loans.comment(one, "x", by=f"person {k // COMMENTS}")
    loans.pause("ada")  # bob gets her row
    assert loans.ask(1, by="bob")[0].id == one
    assert loans.comment(one, "x", by="bob", own=True).by == "bob", "or it would tell what others wrote"
    loans.resume("ada")
    loans.answer(one, "yes", by="ada")
    assert loans.correct(one, "yes", by="grace", reason="I agree").label == "yes", "whatever others wrote"
    for k in range(COMMENTS - 1):
        loans.correct(one, "yes", by="grace", reason=f"again {k}")
    with pytest.raises(InputError, match="comments by 'grace' already"):
        loans.correct(one, "yes", by="grace", reason="once more")
    assert loans.correct(one, "no", by="grace", reason="she called").label == "no", "no correction waits for a comment"
    with Campaign.open(loans.folder.path) as again, pytest.raises(InputError, match="comments by 'ada'"):
        again.comment(one, "x", by="ada")


def test_one_person_changes_one_answer_only_so_often(loans: Campaign) -> None:
    one, other = (row.id for row in loans.ask(2, by="ada"))
    for id in (other, one):
        loans.answer(id, "yes", by="ada")
    for k in range(CHANGES - 1):
        loans.correct(one, CLASSES[k % 2], by="ada")
    assert loans.undo(one, by="ada") is not None
    assert loans.undo(one, by="ada") is not None, "she holds it again, and nothing is changed"
    loans.answer(one, "yes", by="ada")
    for change in (lambda: loans.undo(one, by="ada"), lambda: loans.correct(one, "no", by="ada")):
        with pytest.raises(InputError, match=f"changed {CHANGES} times by 'ada', which is the most"):
            change()
    assert loans.correct(one, "no", by="grace", reason="enough").label == "no"
    assert loans.correct(other, "no", by="ada").label == "no"
    with Campaign.open(loans.folder.path) as again, pytest.raises(InputError, match="changed 20 times"):
        again.correct(one, "yes", by="ada", reason="no")


def test_a_comment_takes_no_more_bytes_than_2000_of_the_longest_characters(loans: Campaign) -> None:
    (row,) = loans.ask(1, by="ada")
    loans.comment(row.id, 2000 * "\U0001f600", by="ada")
    with pytest.raises(InputError, match="at most 8,000 bytes; got 11,"):
        loans.comment(row.id, "x" + 1990 * "\x01" + "x", by="ada")
    with pytest.raises(InputError, match="at most 2,000 characters"):
        loans.comment(row.id, 2001 * "x", by="ada")


def test_a_ledger_with_more_than_that_still_opens(loans: Campaign) -> None:
    """Earlier versions had no limits."""
    (row,) = loans.ask(1, by="ada")
    with loans.ledger.writing(loans.id) as write:
        write.append(*[Commented(row.id, "x")] * (2 * COMMENTS), by="ada")
    with Campaign.open(loans.folder.path) as again:
        assert len(again.state.comments[row.id]) == 2 * COMMENTS
