"""Commands that conduct a campaign: budget, end, reopen, guide, people, answers, correct, comment."""

from dataclasses import replace
from pathlib import Path

import pytest

from commands import START, fill, out, refused, table, told
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.ledger.two_people import Stretch, TwoPeople
from unskew.cli import main
from unskew.cli.people import _agreed, _print
from unskew.estimation.agreement import Agreement


def label(n: int = 10, by: str = "ann") -> list[str]:
    """Ask for rows and answer them as the truth has it; their ids."""
    assert main(["ask", "bank", "-n", str(n), "--by", by, "--out", "rows.csv"]) == 0
    ids = [row[0] for row in table(Path("rows.csv"))[1:]]
    assert main(["tell", "bank", str(fill(Path("rows.csv"))), "--by", by]) == 0
    return ids


def test_the_budget_of_a_campaign(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "0 of 40 labels given, 40 more may be asked for" in out(capsys, "budget", "bank")
    found = told(capsys, "budget", "bank", "60", "--by", "grace")
    assert (found["budget"], found["left"], found["next"][0]) == (60, 60, "ask")
    label()
    assert "at least 10: 10 labels are given and 0 rows are asked for; got 9" in refused(capsys, "budget", "bank", "9")
    assert "10 of 10 labels given, 0 more" in out(capsys, "budget", "bank", "10")
    assert (
        "20 of 20 labels\n"
        in (out(capsys, "budget", "bank", "20"), label(), out(capsys, "tell", "bank", "rows.csv"))[2]
    )


def test_a_campaign_ends(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ended with 0 of 40 labels given\nnext: unskew report bank" in out(capsys, "end", "bank")
    assert "the campaign has ended" in refused(capsys, "ask", "bank")
    assert told(capsys, "status", "bank")["ended"] is True
    assert "the campaign goes on: 0 of 40 labels given\nnext: unskew ask" in out(capsys, "reopen", "bank")
    assert told(capsys, "ask", "bank", "-n", "3")["asked"] == 3


def test_the_guide(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("how.md").write_text("# How\n\nBe fair.\n")
    said = out(
        capsys, "guide", "bank", "--question", "Repaid in a year?", "--guidelines", "how.md", "--explain", "yes=paid",
        "--show", "income=Income a year", "--show", "purpose", "--highlight", "car", "--overlap", "0.1",
    )  # fmt: skip
    for line in (
        "question    Repaid in a year?", "guidelines  # How (and 2 lines more)", "            yes: paid",
        "columns     income as 'Income a year', purpose", "highlighted car", "two people  10 % of the rows",
    ):  # fmt: skip
        assert line in said.splitlines()
    found = told(capsys, "guide", "bank", "--show-all", "--highlight", "")
    assert found["columns"] == [] == found["highlighted"] and found["question"] == "Repaid in a year?"
    assert "columns     all" in out(capsys, "guide", "bank")
    assert "CLASS=WORDS; got 'yes'" in refused(capsys, "guide", "bank", "--explain", "yes")
    assert "no.md cannot be read" in refused(capsys, "guide", "bank", "--guidelines", "no.md")
    assert "contradict" in refused(capsys, "guide", "bank", "--show", "income", "--show-all")
    assert "unknown column 'colour'" in refused(capsys, "guide", "bank", "--show", "colour")


def test_start_takes_the_guide_and_refuses_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["start", "bank", "--log", str(LOG), "--pool", str(POOL), *START]
    assert "overlap must be the share" in refused(capsys, *files, "--overlap", "7")
    assert "cannot be read" in refused(capsys, *files, "--guidelines", "how.md")
    assert not Path("bank").exists()
    Path("how.md").write_text("Be fair.")
    assert main([*files, "--question", "Repaid?", "--guidelines", "how.md", "--overlap", "0.25"]) == 0
    with Campaign.open("bank") as campaign:
        found = campaign.arrangement
    assert (found.question, found.guidelines, found.overlap) == ("Repaid?", "Be fair.", 0.25)


def test_two_people_conflicts_and_corrections(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out(capsys, "guide", "bank", "--overlap", "1")
    ids = label(12)
    capsys.readouterr()
    assert main(["ask", "bank", "-n", "12", "--by", "bob", "--out", "rows.csv"]) == 0
    assert sorted(row[0] for row in table(Path("rows.csv"))[1:]) == sorted(ids)
    with Campaign.open("bank") as campaign:
        truth = {id: campaign.row(id).label for id in ids}
    other = {"yes": "no", "no": "yes"}
    fill(Path("rows.csv"), {ids[0]: other[str(truth[ids[0]])], ids[1]: other[str(truth[ids[1]])]})
    assert main(["tell", "bank", "rows.csv", "--by", "bob"]) == 0
    said = out(capsys, "people", "bank")
    assert "same label on 83 % of 12 rows that two saw, kappa" in said and "2 in conflict, 2 wait for one more" in said
    found = told(capsys, "people", "bank")
    assert found["two_people"]["all"]["rows"] == 12 and found["people"]["bob"]["answered"] == 12
    listed = told(capsys, "answers", "bank", "--conflicts")
    assert {one["id"] for one in listed["answers"]} == set(ids[:2]) and listed["found"] == 4
    done = told(capsys, "correct", "bank", ids[0], other[str(truth[ids[0]])], "--reason", "see note", "--by", "grace")
    assert done == {"id": ids[0], "label": other[str(truth[ids[0]])], "settled": True, "changed": True, "conflicts": 1}
    said = out(capsys, "answers", "bank", "--search", "see note")
    assert "see note" in said and "3 answers" in said
    assert "next: unskew report bank" in out(capsys, "correct", "bank", ids[1], str(truth[ids[1]]))
    assert "was never asked for" in refused(capsys, "correct", "bank", "nobody", "yes")
    doubted = told(capsys, "answers", "bank", "--doubt", "0.5")
    assert all(one["doubt"] >= 0.5 for one in doubted["answers"]) and doubted["found"] < 12
    assert "unknown person 'nobody'. Known: ann, bob" in refused(capsys, "answers", "bank", "--by", "nobody")
    assert "unknown class 'perhaps'. Known: no, yes." in refused(capsys, "answers", "bank", "--label", "perhaps")
    assert "'--number'" in refused(capsys, "answers", "bank", "-n", "0")
    assert "from 0 to 1; got 7" in refused(capsys, "answers", "bank", "--doubt", "7")
    assert "must be like 2026-11-18; got 'soon'" in refused(capsys, "answers", "bank", "--since", "soon")


def test_people_and_comments(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nobody has labelled yet" in out(capsys, "people", "bank")
    assert "eve can label at http://ADDRESS/enter#" in out(capsys, "people", "bank", "--invite", "eve")
    assert "eve         0 labels, 0 skipped, 0 assigned" in out(capsys, "people", "bank"), "she is on the list at once"
    assert "unknown person 'nobody'. Known: eve." in refused(capsys, "people", "bank", "--pause", "nobody")
    assert "nobody" not in out(capsys, "people", "bank")
    (id, *_) = label(2)
    with Campaign.open("bank") as campaign:
        said = str(campaign.row(id).label)
    other = {"yes": "no", "no": "yes"}[said]
    refusal = refused(capsys, "correct", "bank", id, other, "--by", "grace")
    assert f"row '{id}' was answered by 'ann'. Say why you change somebody else's answer." in refusal
    kept = out(capsys, "correct", "bank", id, said, "--reason", "giraffe", "--by", "grace")
    assert f"row {id} is {said} already, so nothing was changed. The reason is kept as a comment." in kept
    assert "1 answer" in out(capsys, "answers", "bank", "--search", "giraffe")
    assert "paused" in out(capsys, "people", "bank", "--pause", "ann")
    assert "ann is paused" in refused(capsys, "ask", "bank", "--by", "ann")
    assert "paused" not in out(capsys, "people", "bank", "--resume", "ann", "--revoke", "eve")
    assert "nobody named 'eve' was invited" in refused(capsys, "people", "bank", "--revoke", "eve")
    assert f"ann on row {id}: odd" in out(capsys, "comment", "bank", id, "odd", "--by", "ann")
    assert (
        told(capsys, "answers", "bank", "--by", "ann", "--search", "odd")["answers"][0]["comments"][-1]["text"] == "odd"
    )


def test_agreement_in_words() -> None:
    assert _agreed(Agreement(9, 0.3, 0.1, 0.6, -0.4, -0.9, 0.1)).endswith("kappa −0.40 (−0.90 to 0.10)")


def test_agreement_over_time_is_printed(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = Agreement(10, 0.9, 0.6, 1.0, 0.8, 0.4, 1.0)
    times = [Stretch(f"2026-11-1{k}T08:30:00+00:00", f"2026-11-1{k}T09:30:00+00:00", part) for k in (1, 2)]
    with Campaign.open("bank") as campaign:
        status = replace(campaign.status(), two_people=TwoPeople(all=part, over_time=tuple(times)))
    _print(status, set())
    said = capsys.readouterr().out
    assert "2026-11-11 08:30 to 2026-11-11 09:30: same label on 90 % of 10 rows" in said and "2026-11-12 08:30" in said


def test_what_to_do_next_can_be_done(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No more rows than there are, and where a campaign has ended, its report."""
    label(39)
    assert "next: unskew ask bank -n 1 --out rows.csv" in out(capsys, "status", "bank")
    with Campaign.open("bank") as campaign:
        campaign.plan(1)
    out(capsys, "end", "bank")
    said = out(capsys, "status", "bank")
    assert "next: unskew report bank" in said and "The campaign has ended with 39 of 40 labels." in said


def test_predictions_need_some_column_of_the_pool(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.csv").write_text("colour\nred\n")
    assert "have none of the columns that the model knows: age, income" in refused(capsys, "predict", "bank", "new.csv")
