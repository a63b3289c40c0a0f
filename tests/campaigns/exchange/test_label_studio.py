"""Tasks out and answers in, on exports as label-studio 1.23.2 writes them; test_label_studio_server.py asks it."""

import copy
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unskew.campaigns import Campaign, Rejected, Row, Settings
from unskew.campaigns.exchange.label_studio import answers, labeling_config, tasks
from unskew.campaigns.ledger.events import PlannedRow
from unskew.campaigns.telling import NotAnswers, Unread
from web_page import begin_sorting

DATA = {"unskew_round": 2, "unskew_probability": 1 / 30, "row": {"income": 1.5, "region": "north"}}


def annotation(label: str | None, *, by: Any = 1, cancelled: bool = False, at: int = 0) -> dict[str, Any]:
    chosen = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [label]}}
    return {
        "id": 7,
        "completed_by": by,
        "result": [] if label is None else [chosen],
        "was_cancelled": cancelled,
        "ground_truth": False,
        "created_at": "2026-11-15T11:34:08.708225Z",
        "updated_at": f"2026-11-15T11:34:{at:02d}.708249Z",
    }


def full(id: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 1, "annotations": list(annotations), "predictions": [], "meta": {}, "data": {"unskew_id": id, **DATA}}


def short(id: str, label: Any, *, by: int | None = 1, at: int = 0) -> dict[str, Any]:
    said = {} if label is None else {"label": label}
    times = {"created_at": "2026-11-15T11:34:08.708225Z", "updated_at": f"2026-11-15T11:34:{at:02d}.708249Z"}
    return {"unskew_id": id, **DATA, "id": 1, **said, "annotator": by, "annotation_id": by and 7, **times}


@pytest.fixture
def sorting(tmp_path: Path) -> Iterator[Campaign]:
    """A campaign of twelve classes."""
    with Campaign.open(begin_sorting(tmp_path, [f"c{k}" for k in range(12)])) as campaign:
        yield campaign


def problems(export: Any) -> list[tuple[int, str]]:
    return [(one.line, one.problem) for one in answers(export) if isinstance(one, Unread)]


def test_a_task_holds_everything_in_data_and_survives_json() -> None:
    values = {"income": 0.1, "id": "x", "note": None, "married": True, "since": "2024-05-01"}
    (task,) = json.loads(json.dumps(tasks([Row(PlannedRow("A1", 0, "drawn", 1 / 30, values), 3)])))
    assert list(task) == ["data"]
    data = task["data"]
    assert (data["unskew_id"], data["unskew_round"], data["unskew_probability"]) == ("A1", 3, 1 / 30)
    assert data["row"] == {"income": 0.1, "id": "x", "note": "(missing)", "married": "true", "since": "2024-05-01"}


def test_the_interface_offers_the_two_classes_whatever_they_are_called() -> None:
    classes = ('<late> & "bad"', "on time")
    view = ElementTree.fromstring(labeling_config(Settings(classes=classes)))
    assert tuple(choice.get("value") for choice in view.iter("Choice")) == classes
    (choices,) = view.iter("Choices")
    (table,) = view.iter("Table")
    assert (choices.get("toName"), table.get("value")) == (table.get("name"), "$row")


@pytest.mark.parametrize(
    ("classes", "hotkeys"),
    [
        (("a", "b", "c"), ["1", "2", "3"]),
        (tuple("abcdefghi"), list("123456789")),
        (("0", "1", "2"), ["0", "1", "2"]),
        (tuple("0123456789"), list("0123456789")),
        (tuple("abcdefghij"), [None] * 10),
    ],
)
def test_each_class_has_a_key_as_long_as_there_are_keys(classes: tuple[str, ...], hotkeys: list[str | None]) -> None:
    view = ElementTree.fromstring(labeling_config(Settings(classes=classes)))
    choices = list(view.iter("Choice"))
    assert tuple(choice.get("value") for choice in choices) == classes
    assert [choice.get("hotkey") for choice in choices] == hotkeys
    filters = [filter.get("toName") for filter in view.iter("Filter")]
    assert filters == ([] if hotkeys[0] else ["label"])


def test_answers_of_many_classes_are_read_and_others_are_refused_with_the_classes(sorting: Campaign) -> None:
    first, second, third = sorting.ask(3, by="ann")
    told = sorting.tell_lines(answers([full(first.id, annotation("c11")), short(second.id, "C2")]), by="ann")
    assert told.answered == 2 and [sorting.state.rows[one.id].label for one in (first, second)] == ["c11", "c2"]
    with pytest.raises(Rejected, match=r"label 'c12' of row .* must be one of 'c0', .*, 'c7', \.\.\.\. Correct it"):
        sorting.tell_lines(answers([full(third.id, annotation("c12"))]), by="ann")


@pytest.mark.parametrize(
    ("annotations", "label"),
    [
        ([annotation("repaid")], "repaid"),
        ([annotation("repaid", cancelled=True)], None),  # what was ticked before the skip is no answer
        ([annotation(None, cancelled=True)], None),
        ([annotation("late", at=1), annotation("repaid", at=2)], "repaid"),
        ([annotation("repaid", at=2), annotation("late", at=1)], "repaid"),
        ([annotation("repaid", at=1), annotation("late", at=2, cancelled=True)], "repaid"),
        ([annotation(None, at=1), annotation("repaid", at=2)], "repaid"),
        ([annotation("repaid", by=1), annotation("repaid", by=2)], "repaid"),
        ([annotation(None, by=1, cancelled=True), annotation("repaid", by=2)], "repaid"),
        ([annotation("late", by={"id": 1}, at=1), annotation("repaid", by=1, at=2)], "repaid"),
    ],
)
def test_what_counts_of_a_task(annotations: list[dict[str, Any]], label: str | None) -> None:
    assert answers([full("A1", *annotations)]) == [(1, "A1", label)]


def test_tasks_without_annotation_are_left_out() -> None:
    assert answers([]) == []
    assert answers([full("A1"), full("A2", annotation("late"))]) == [(2, "A2", "late")]
    assert answers([short("A1", None, by=None), short("A2", "late")]) == [(2, "A2", "late")]


def test_short_export_has_an_item_an_annotation_latest_first() -> None:
    assert answers([short("A1", "late", at=2), short("A1", "repaid", at=1)]) == [(1, "A1", "late")]


def test_a_task_imported_twice_is_one_row() -> None:
    assert answers([full("A1", annotation("late")), full("A1", annotation("late", by=2))]) == [(1, "A1", "late")]
    assert problems([full("A1", annotation("late")), full("A1", annotation("repaid", by=2))])


@pytest.mark.parametrize("short_form", [False, True])
def test_every_problem_is_listed(short_form: bool) -> None:
    if short_form:
        export = [short("A1", "late"), short("A1", "repaid", by=2), short("A2", None), short("A3", "late")]
    else:
        export = [full("A1", annotation("late"), annotation("repaid", by=2)), full("A2", annotation(None))]
    found = problems(export)
    assert [item for item, _ in found] == ([1, 3] if short_form else [1, 2])
    assert "row 'A1' was answered 'late' and 'repaid'" in found[0][1]
    assert "row 'A2' was submitted without a class" in found[1][1]


def test_problems_of_reading_and_of_judging_are_listed_together(campaign: Campaign) -> None:
    first, second, third = campaign.ask(3, by="ann")
    before = campaign.ledger.events(campaign.id)
    no_value = annotation("1")
    del no_value["result"][0]["value"]
    export = [
        full("nobody", annotation("1")),
        full(first.id, annotation("1"), annotation("0", by=2)),
        full(second.id, annotation("maybe")),
        full(third.id, no_value),
    ]
    with pytest.raises(Rejected) as refused:
        campaign.tell_lines(answers(export), by="ann")
    wanted = ["never asked for", "answered '0' and '1'", "must be '0' or '1'", "submitted without a class"]
    assert [item for item, _ in refused.value.problems] == [1, 2, 3, 4]
    assert all(words in told for words, (_, told) in zip(wanted, refused.value.problems, strict=True))
    assert campaign.ledger.events(campaign.id) == before


@pytest.mark.parametrize("result", [None, [], ["label"], {"from_name": "label"}, [{"from_name": "label"}], 7])
def test_a_result_that_is_none_is_a_problem_and_no_crash(result: Any) -> None:
    ((item, told),) = problems([full("A1", {**annotation("late"), "result": result})])
    assert item == 1 and "submitted without a class" in told


def test_two_classes_ticked_at_once_are_a_problem() -> None:
    assert problems([short("A1", {"choices": ["late", "repaid"]})])
    both = annotation("late")
    both["result"][0]["value"]["choices"].append("repaid")
    assert problems([full("A1", both)])


@pytest.mark.parametrize(
    ("export", "told"),
    [
        ({"tasks": []}, "must be a list of tasks; got dict"),
        ("[]", "must be a list of tasks; got str"),
        ([7], "item 1 is not a task .* got 7"),
        ([{"text": "hello", "id": 1, "annotation_id": 3}], "item 1 is not a task .* got the fields 'text', 'id'"),
        (
            [{"data": {"text": "hello"}, "annotations": []}],
            "item 1 has no 'unskew_id' in its data; got the fields 'text'",
        ),
        ([{"data": {"unskew_id": "1"}, "completions": []}], "item 1 is not a task"),
        (
            [{"data": {"unskew_id": "1"}, "annotations": [1, 2]}],
            "item 1 is not a task",
        ),  # ids, as the task list gives them
        ([{"data": None, "annotations": []}], "item 1 has no 'unskew_id'"),
        ([full(["A1"], annotation("late"))], "item 1: answers must be by row id; got list"),
        ([full("\ud800", annotation("late"))], "item 1: ids and labels must be whole characters"),
        ([short("A1", {"choices": [["late"]]})], "item 1: a label must be text, a number or true or false; got list"),
    ],
)
def test_other_files_are_refused(export: Any, told: str) -> None:
    before = copy.deepcopy(export)
    with pytest.raises(NotAnswers, match=told):
        answers(export)
    assert export == before


@pytest.mark.parametrize("person", [["ann"], {"id": {"id": [1]}}, {"email": "a@b"}, None, 1e400, True])
def test_whoever_completed_it_is_one_person(person: Any) -> None:
    before, after = annotation("late"), annotation("repaid")
    before["completed_by"] = after["completed_by"] = person
    before["updated_at"], after["updated_at"] = "2026-01-01", "2026-01-02"
    assert answers([full("A1", after, before)]) == [(1, "A1", "repaid")]
