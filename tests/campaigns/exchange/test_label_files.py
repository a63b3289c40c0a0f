"""Files of rows that people fill in: whatever `ask` wrote can be told."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from unskew.campaigns import Campaign, Recorded, Rejected, State, Told
from unskew.campaigns.exchange.label_files import answers, written
from unskew.campaigns.ledger.events import Answered, Event, Planned, PlannedRow
from unskew.campaigns.telling import judge
from unskew.errors import UnskewError
from unskew.spreadsheets import guarded, unguarded

IDS = ["a", " a ", "b"]
Make = Callable[..., Campaign]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """A campaign of a column x, a text and ids in "key", with classes, values and a further column as wanted."""
    opened = []

    def made(
        note: str = "n", key: str = "k{}", classes: tuple[str, ...] = ("no", "yes"), extra: str = "more"
    ) -> Campaign:
        rng = np.random.default_rng(0)
        x = rng.normal(size=100)
        label = [classes[-int(v > 0)] if k % 2 else None for k, v in enumerate(x)]
        log = pl.DataFrame({"x": x, "note": ["n"] * 100, extra: x, "y": label, "q0": [0.5] * 100})
        pool = log.select("x", pl.lit(note).alias("note"), extra, pl.Series("key", [key.format(k) for k in range(100)]))
        opened.append(
            Campaign.create(
                tmp_path / "campaign", log=log, pool=pool, label="y", propensity="q0", id="key", classes=classes,
                budget=10,
            )
        )  # fmt: skip
        return opened[-1]

    yield made
    for campaign in opened:
        campaign.close()


def filled(campaign: Campaign, form: str, labels: list[str], folder: Path) -> Path:
    """The file that `ask` wrote, with labels in it."""
    text = written(campaign.ask(len(labels), by="ann"), campaign.settings, form)
    out = io.StringIO()
    if form == "csv":
        heading, *rows = csv.reader(io.StringIO(text, newline=""))
        csv.writer(out).writerows([heading, *([*row[:-1], label] for row, label in zip(rows, labels, strict=True))])
    else:
        for line, label in zip(text.removesuffix("\n").split("\n"), labels, strict=True):
            out.write(json.dumps({**json.loads(line), "label": label}, ensure_ascii=False) + "\n")
    path = folder / f"rows.{form}"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("odd", "labels"),
    [
        ({"note": "one\u2028two\x85three\x0bfour"}, ["yes", "no"]),
        ({"note": "z" * 140_000}, ["yes", "no"]),
        ({"note": 'a "quoted"; one\r\nand\tanother'}, ["yes", "no"]),
        ({"note": "one\rtwo"}, ["yes", "no"]),
        ({"key": "  k{}   "}, ["yes", "no"]),
        ({"classes": ("no ", " yes")}, ["no ", " yes"]),
        ({"classes": ("Play", "Skip")}, ["Skip", "Play"]),
        ({"classes": ("none", "some", "most", "كل شيء")}, ["most", "كل شيء"]),
        ({"classes": tuple(f"class, {k}" for k in range(100))}, ["class, 99", "class, 7"]),
        ({"extra": "a;b;c;d;e;f;g"}, ["yes", "no"]),
        ({"extra": "\t\t\t\t\t"}, ["yes", "no"]),
    ],
)
def test_what_was_asked_can_be_told(
    form: str, odd: dict[str, Any], labels: list[str], make: Make, tmp_path: Path
) -> None:
    limit = csv.field_size_limit(1_000_000)  # to fill the file in
    campaign = make(**odd)
    file = filled(campaign, form, labels, tmp_path)
    csv.field_size_limit(131_072)
    records, empty = answers(file, campaign.settings)
    assert empty == 0
    assert campaign.tell_lines(records, by="ann") == Told(answered=2)
    assert sorted(str(row.label).strip() for row in campaign.state.answered()) == sorted(map(str.strip, labels))
    csv.field_size_limit(max(limit, 131_072))


def test_ids_and_classes_are_taken_as_written_first_and_then_without_blanks() -> None:
    planned = Planned(1, tuple(PlannedRow(id, k, "drawn", 0.5, {}) for k, id in enumerate(IDS)), rest=3)
    state = State(budget=10).replay([Recorded(1, "2026-01-01T00:00:00+00:00", "", planned)])

    def told(*lines: tuple[int, str, str]) -> list[Event]:
        now = datetime(2026, 1, 1, tzinfo=UTC)
        return judge(state, lines, ["no ", "yes"], actor="ann", now=now)[0]

    wanted = [Answered("a", "no "), Answered(" a ", "no "), Answered("b", "yes")]
    assert told((1, "a", "no"), (2, " a ", "NO "), (3, " b", "yes ")) == wanted
    with pytest.raises(Rejected, match="row ' c ' was never asked for. Answer only rows that were."):
        told((1, " c ", "yes"))


@pytest.mark.parametrize(
    "text",
    [
        "key,y\n{},yes\n",
        "key;y;x\n{} ; YES;1\n",
        "y\tkey\nyes\t {}\n",
        '"key";"y"\n"{}";"yes"\n',
        "id,label\r\n{},yes\r\n",
    ],
)
def test_files_as_people_save_them(text: str, make: Make, tmp_path: Path) -> None:
    campaign = make()
    (row,) = campaign.ask(1, by="ann")
    file = tmp_path / "rows.csv"
    file.write_text(text.format(row.id), newline="")
    assert campaign.tell_lines(answers(file, campaign.settings)[0], by="ann") == Told(answered=1)
    assert campaign.row(row.id).label == "yes"


def test_labels_of_many_classes_mean_the_same_number_or_are_refused_with_the_classes(
    make: Make, tmp_path: Path
) -> None:
    campaign = make(classes=("1", "other", *map(str, range(2, 12))))
    first, second, third = campaign.ask(3, by="ann")
    file = tmp_path / "rows.csv"
    file.write_text(f"key,y\n{first.id},11.0\n{second.id},Other\n{third.id},skip\n")  # as spreadsheets write numbers
    assert campaign.tell_lines(answers(file, campaign.settings)[0], by="ann") == Told(answered=2, skipped=1)
    assert [campaign.row(one.id).label for one in (first, second)] == ["11", "other"]
    file.write_text(f"key,y\n{first.id},12\n")
    listed = "one of '1', 'other', '2', '3', '4', '5', '6', '7', .... Correct it."
    with pytest.raises(Rejected, match=re.escape(f"label '12' of row {first.id!r} must be {listed}")):
        campaign.tell_lines(answers(file, campaign.settings)[0], by="ann")


def test_skips_and_rows_not_filled_in(make: Make, tmp_path: Path) -> None:
    campaign = make()
    file = filled(campaign, "csv", ["SKIP ", " ", "Yes"], tmp_path)
    records, empty = answers(file, campaign.settings)
    assert empty == 1
    assert campaign.tell_lines(records, by="ann") == Told(answered=1, skipped=1)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_every_problem_of_a_file_is_listed_by_line(form: str, make: Make, tmp_path: Path) -> None:
    campaign = make()
    first, second, third = (row.id for row in campaign.ask(3, by="ann"))
    before = campaign.ledger.events(campaign.id)
    lines = {
        "csv": ["key,y", "nobody,yes", f"{first},yes,extra", f"{second},maybe", f"{third},yes"],
        "jsonl": ["", '{"id": "nobody", "label": "yes"}', '{"id": 7', f'{{"id": "{second}", "label": "maybe"}}'],
    }
    file = tmp_path / f"rows.{form}"
    file.write_text("\n".join(lines[form]))
    with pytest.raises(Rejected) as refused:
        campaign.tell_lines(answers(file, campaign.settings)[0], by="ann")
    wanted = [(2, "'nobody' was never asked for"), (3, "Correct the line"), (4, "must be 'no' or 'yes'")]
    assert [line for line, _ in refused.value.problems] == [line for line, _ in wanted]
    assert all(words in told for (_, words), (_, told) in zip(wanted, refused.value.problems, strict=True))
    assert campaign.ledger.events(campaign.id) == before


@pytest.mark.parametrize(
    "formula", ["=cmd|' /C calc'!A0", "+1+A1", "-1+A1", "@SUM(A1)", "\t=1", "\r=1", "x;=1+1", "'=1", "\uff1d1+1", " =1"]
)
def test_a_spreadsheet_runs_no_value_as_a_formula(formula: str, make: Make, tmp_path: Path) -> None:
    campaign = make(note=formula, key=f"{formula}{{}}", extra=formula, classes=(formula, "-"))
    file = filled(campaign, "csv", [guarded(formula), "-"], tmp_path)
    with open(file, newline="") as opened:
        heading, row, _ = csv.reader(opened)
    shown = dict(zip(heading, row, strict=True))
    assert shown["note"] == guarded(formula) and guarded(formula) in heading
    id = unguarded(shown["key"])
    assert id.startswith(formula.strip()) and float(shown["x"]) == campaign.row(id).values["x"]
    assert campaign.tell_lines(answers(file, campaign.settings)[0], by="ann") == Told(answered=2)
    assert {str(row.label).strip() for row in campaign.state.answered()} == {formula.strip(), "-"}


def test_a_heading_that_begins_like_a_formula_is_found_again(make: Make, tmp_path: Path) -> None:
    campaign = make()
    settings = replace(campaign.settings, label="=y", id="@key")
    row = campaign.ask(1, by="ann")[0]
    file = tmp_path / "rows.csv"
    file.write_text(written([row], settings)[:-1] + "yes\n")
    assert file.read_text().startswith("'@key,") and answers(file, settings) == ([(2, row.id, "yes")], 0)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("deep.jsonl", b'{"id": ' + b"[" * 100_000, "line 1: .* is not like"),
        ("half.jsonl", b'{"id": "\\ud800", "label": "yes"}', "line 1: .* is not like"),
        ("list.jsonl", b'{"id": ["a"], "label": "yes"}', "line 1: .* is not like"),
        ("label.jsonl", b'{"id": "k1", "label": {"a": 1}}', "line 1: .* is not like"),
        ("digits.jsonl", b'{"id": ' + b"7" * 5000 + b', "label": "yes"}', "line 1: .* is not like"),
        ("deep.json", b"[" * 100_000, "nested too deeply"),
        ("digits.json", b"[" + b"7" * 5000 + b"]", "not a whole JSON file"),
        ("wide.csv", b"key,y" + b"," * 1_000_000, "from line 1 on: it has more than 1,000,000 cells"),
        ("broken.csv", b'"a\nb",c', "its first line must name .*; got 'a.{2}b', 'c'"),
    ],
)
def test_odd_files_are_one_line(name: str, content: bytes, told: str, make: Make, tmp_path: Path) -> None:
    campaign = make()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnskewError, match=f"(?i){told}") as refused:
        campaign.tell_lines(answers(tmp_path / name, campaign.settings)[0], by="ann")
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 500


def test_a_negative_number_is_written_as_it_is(make: Make) -> None:
    campaign = make()
    rows = campaign.ask(10, by="ann")
    assert any(row.values["x"] < 0 for row in rows)
    table = list(csv.DictReader(io.StringIO(written(rows, campaign.settings))))
    assert [float(row["x"]) for row in table] == [row.values["x"] for row in rows]
