"""Rows to label as files for people to fill in, and filled-in files as answers."""

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

from unskew.campaigns.exchange import label_studio
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row
from unskew.campaigns.telling import Line, NotAnswers, Unread, id_text, label_text
from unskew.csv_text import LARGEST_CELL, not_endless
from unskew.errors import unknown
from unskew.reading import read_file
from unskew.spreadsheets import csv_lines, unguarded

FORMS = ("csv", "jsonl", "label-studio")
SKIP = "skip"
"""Written in place of a label where nobody can tell."""

LARGEST = 100_000_000
"""Bytes of a file of labels. In memory, JSON can take twenty times as much."""


def id_column(settings: Settings) -> str:
    """The heading of the ids: the pool's own, or one that no column of the pool has."""
    if settings.id is not None:
        return settings.id
    return "unskew_id" if "id" in (*settings.types, settings.label) else "id"


def written(rows: Sequence[Row], settings: Settings, form: str = "csv") -> str:
    r"""The rows as the text of a file: `csv` and `jsonl` with an empty label to fill in, or Label Studio's tasks.

    >>> from unskew.campaigns.ledger.events import PlannedRow
    >>> row = Row(PlannedRow("17", 16, "drawn", 0.05, {"income": 1.5}), round=2)
    >>> settings = Settings(label="paid", types={"income": "Float64"})
    >>> written([row], settings)
    'id,income,paid\n17,1.5,\n'
    >>> written([row], settings, "jsonl")
    '{"id": "17", "round": 2, "probability": 0.05, "values": {"income": 1.5}, "label": null}\n'
    """
    if form == "label-studio":
        return json.dumps(label_studio.tasks(rows), indent=1, ensure_ascii=False) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(as_record(one), ensure_ascii=False) + "\n" for one in rows)
    if form != "csv":
        raise unknown("form", form, FORMS)
    columns = [name for name in settings.types if name != settings.id]
    heading = [id_column(settings), *columns, settings.label]
    return csv_lines([heading, *([one.id, *(_cell(one.values[name]) for name in columns), ""] for one in rows)])


def _cell(value: Any) -> Any:
    """A value as a person reads it: nobody reads an embedding."""
    return f"{len(value)} numbers" if isinstance(value, list) else value


def as_record(one: Row) -> dict[str, Any]:
    """A row ready for JSON."""
    return {
        "id": one.id,
        "round": one.round,
        "probability": one.probability,
        "values": one.values,
        "label": None,
    }


def answers(path: Path, settings: Settings) -> tuple[list[Line | Unread], int]:
    """The answers in a .csv, .jsonl or (Label Studio's) .json file, and the number of rows without a label.

    CSV needs a heading for the ids and one for the labels: those of the file that `ask` wrote, or `id` and `label`.
    Other columns are ignored, and so are the apostrophes that `unskew.spreadsheets` puts in front of formulas. "skip"
    is a skip, unless it is a class. A line that cannot be read is returned as an `Unread`: `Campaign.tell_lines` lists
    all problems of a file, and changes nothing. A file that does not hold answers at all is a `NotAnswers`.
    """
    text = _read(path)
    kind = path.suffix.lower()
    if kind == ".json":
        return _from_json(path, text), 0
    if kind not in (".csv", ".tsv", ".jsonl"):
        raise NotAnswers(f"{str(path)!r} must end in .csv, .jsonl or, for a Label Studio export, .json. Rename it.")
    may_skip = SKIP not in [name.strip().lower() for name in settings.classes]
    found: list[Line | Unread] = []
    empty = 0
    for one in (_from_jsonl if kind == ".jsonl" else _from_csv)(path, text, settings):
        if isinstance(one, Unread):
            found.append(one)
        elif not one[2].strip():
            empty += 1
        else:
            line, id, label = one
            found.append((line, id, None if may_skip and label.strip().lower() == SKIP else label))
    return found, empty


Written = tuple[int, str, str] | Unread
"""Line, id and label as they are written, or what is wrong."""


def _from_csv(path: Path, text: str, settings: Settings) -> Iterator[Written]:
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_CELL))
    ids, labels = (id_column(settings), "id"), (settings.label, "label")
    table = _table(text, _separator(text, ids, labels))
    begun = 1
    try:
        names: list[str] = next(table, [])
        at_id, at_label = _position(path, names, ids, "ids"), _position(path, names, labels, "labels")
        begun = table.line_num + 1
        for cells in table:
            if len(cells) == len(names):
                yield begun, unguarded(cells[at_id]), unguarded(cells[at_label])
            elif cells:
                yield Unread(begun, f"{len(cells)} values under {len(names)} headings. Correct the line.")
            begun = table.line_num + 1
    except csv.Error as error:
        told = str(error).replace("\t", "\\t")
        raise NotAnswers(f"{path} is not a whole CSV file from line {begun} on: {told}. Save it again.") from None


def _table(text: str, separator: str) -> Any:
    """Python's reader, which also knows the number of the line it has come to."""
    return csv.reader(not_endless(StringIO(text, newline=""), separator), delimiter=separator, strict=True)


def _separator(text: str, ids: Sequence[str], labels: Sequence[str]) -> str:
    """The separator with which the headings are found, or otherwise the commonest. Spreadsheets differ in it."""
    for separator in ",;\t":
        with suppress(csv.Error):
            names: list[str] = next(_table(text, separator), [])
            if _at(names, ids) is not None and _at(names, labels) is not None:
                return separator
    return max(",;\t", key=text.partition("\n")[0].count)


def _at(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The position of the first of the wanted names."""
    plain = [unguarded(name).strip() for name in names]
    return next((plain.index(name.strip()) for name in wanted if name.strip() in plain), None)


def _position(path: Path, names: Sequence[str], wanted: Sequence[str], what: str) -> int:
    found = _at(names, wanted)
    if found is not None:
        return found
    told = " or ".join(map(repr, dict.fromkeys(wanted)))
    shown = ", ".join(map(repr, names[:6])) or "nothing"
    raise NotAnswers(f"{path} has no column of {what}: its first line must name {told}; got {shown:.120}. Add it.")


def _from_jsonl(path: Path, text: str, settings: Settings) -> Iterator[Written]:
    for number, line in enumerate(text.split("\n"), start=1):  # other line separators may be inside a value
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            id, label = id_text(said["id"]), label_text(said.get("label")) or ""
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # an InputError is a ValueError
            yield Unread(number, f'{line!r:.60} is not like {{"id": "17", "label": "yes"}}. Correct the line.')
            continue
        yield number, id, label


def _read(path: Path) -> str:
    try:
        text = read_file(path, most=LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotAnswers(f"{path} is not UTF-8 at byte {error.start}. Save it again as UTF-8.") from None
    if not text.strip():
        raise NotAnswers(f"{path} is empty. It needs the rows that `unskew ask` wrote, with their labels.")
    return text


def _from_json(path: Path, text: str) -> list[Line | Unread]:
    try:
        export = json.loads(text)
    except ValueError as error:
        raise NotAnswers(f"{path} is not a whole JSON file: {error}. Export it again.") from None
    except RecursionError:
        raise _too_deep(path) from None
    try:
        return label_studio.answers(export)
    except RecursionError:  # from parts of it shown as text
        raise _too_deep(path) from None


def _too_deep(path: Path) -> NotAnswers:
    return NotAnswers(f"{path} is nested too deeply for an export of Label Studio. Export it again.")
