"""Which files `ask` takes for its own: only what it wrote itself, filled in or not."""

import json
from pathlib import Path

import pytest

from unskew.campaigns.exchange.asked_files import is_asked
from unskew.campaigns.exchange.label_files import FORMS, written
from unskew.campaigns.ledger.events import PlannedRow
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row

SETTINGS = Settings(label="paid", types={"income": "Float64", "two\nlines": "String"})
ROWS = [Row(PlannedRow(id, 16, "drawn", 0.05, {"income": 1.5, "two\nlines": "x"}), round=2) for id in ("17", "18")]
ENDS = {"csv": "csv", "jsonl": "jsonl", "label-studio": "json"}


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_is_known_again(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{ENDS[form]}"
    text = written(ROWS, SETTINGS, form)
    for content in (text, "\ufeff" + text, written([], SETTINGS, form)):
        path.write_text(content)
        assert is_asked(path, SETTINGS)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_spreadsheet_may_change_the_separator(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(written(ROWS, SETTINGS).replace(",", separator))
    assert is_asked(path, SETTINGS)


TASK = {"data": {"unskew_id": "17", "unskew_round": 2, "unskew_probability": 0.05, "row": {}}}


@pytest.mark.parametrize(
    ("end", "content"),
    [
        ("csv", "id,label\n17,yes\n"),
        ("csv", 'id,income,"two\nlines",paid,note\n17,1.5,x,,mine\n'),
        ("csv", 'id,"two\nlines",income,paid\n'),
        ("csv", "id,income,\x00"),
        ("csv", '"never closed'),
        ("csv", b"\xff\xfe"),
        ("jsonl", '{"id": "17", "label": "yes"}\n'),
        ("jsonl", '{"key": 1}\nnot json\n'),
        ("jsonl", "[" * 100_000),
        ("jsonl", written(ROWS, SETTINGS, "jsonl") + "[]\n"),
        ("json", '{"layout": 1, "campaign": "c", "store": null}'),
        ("json", json.dumps([TASK, {**TASK, "annotations": []}])),
        ("json", json.dumps([{**TASK, "annotations": [{"result": []}]}])),
        ("json", json.dumps([TASK, 1])),
        ("json", json.dumps([{"data": {"unskew_id": "17"}}])),
        ("json", json.dumps([{"data": [TASK]}])),
        ("json", "[" * 100_000),
    ],
)
def test_anything_else_is_somebody_elses(end: str, content: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{end}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert not is_asked(path, SETTINGS)
