"""Rows to label as Label Studio's tasks, and its exports as answers.

Label Studio only shows the rows it is given. Which rows are asked for, and with what probability, is decided here and
travels with each task.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr  # nosec B406  # nothing is parsed

from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row
from unskew.campaigns.tables.labels import keys
from unskew.campaigns.telling import Line, NotAnswers, Unread, id_text, label_text
from unskew.errors import InputError

ID, ROUND, PROBABILITY, ROW, LABEL = "unskew_id", "unskew_round", "unskew_probability", "row", "label"
FILTER = f'  <Filter name="find" toName="{LABEL}" hotkey="shift+f" minlength="0" placeholder="Find a class"/>\n'


def tasks(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows as tasks, in Label Studio's import JSON.

    Everything is inside `data`, under names of our own: the short export (JSON-MIN) drops `meta`, and overwrites a
    field called `id` with the number of the task.

    >>> from unskew.campaigns.ledger.events import PlannedRow
    >>> tasks([Row(PlannedRow("17", 16, "drawn", 0.05, {"income": 1.5}), round=2)])
    [{'data': {'unskew_id': '17', 'unskew_round': 2, 'unskew_probability': 0.05, 'row': {'income': 1.5}}}]
    """
    return [
        {
            "data": {
                ID: one.id,
                ROUND: one.round,
                PROBABILITY: one.probability,
                ROW: {name: _shown(value) for name, value in one.values.items()},
            }
        }
        for one in rows
    ]


def _shown(value: Any) -> Any:
    """A value as Label Studio's table can show it: a boolean would be an empty cell there, a missing value "null"."""
    if value is None:
        return "(missing)"
    if isinstance(value, list):
        return f"{len(value)} numbers"
    return str(value).lower() if isinstance(value, bool) else value


def labeling_config(settings: Settings) -> str:
    """The project's labelling interface: every column beside its value, and a choice and a key for each class.

    If there are more classes than keys, there is a field that filters the choices instead: shift+f leads to it, and
    Enter chooses the first one left.

    >>> print(labeling_config(Settings(classes=("defaulted", "repaid"))))
    <View>
      <Table name="row" value="$row"/>
      <Choices name="label" toName="row" choice="single-radio" required="true">
        <Choice value="defaulted" hotkey="0"/>
        <Choice value="repaid" hotkey="1"/>
      </Choices>
    </View>
    """
    pressed = keys(settings.classes)
    hotkeys = [f' hotkey="{key}"' for key in pressed] or [""] * len(settings.classes)
    named = zip(map(quoteattr, settings.classes), hotkeys, strict=True)
    choices = "\n".join(f"    <Choice value={name}{hotkey}/>" for name, hotkey in named)
    above, inline = ("", "") if pressed else (FILTER, ' showInline="true"')
    return f"""<View>
  <Table name="{ROW}" value="${ROW}"/>
{above}  <Choices name="{LABEL}" toName="{ROW}" choice="single-radio"{inline} required="true">
{choices}
  </Choices>
</View>"""


@dataclass(frozen=True)
class _Annotation:
    """What one person said about one row: the classes ticked, or None if the annotation was cancelled."""

    item: int
    by: str
    at: str
    ticked: list[str] | None


def answers(export: Any) -> list[Line | Unread]:
    """(item, row id, label) of every annotated task in a JSON or JSON-MIN export, items counted from 1.

    The label None is a skip: the annotation was cancelled. Of several annotations by one person, the last one that
    was not cancelled counts, and an answer overrides another person's skip. Tasks that nobody annotated are left out.
    Where people disagree, or an annotation has no class, the problem is returned instead: `Campaign.tell_lines` lists
    it together with its own problems, and changes nothing.

    >>> task = {"unskew_id": "17", "unskew_round": 2, "unskew_probability": 0.05, "row": {"income": 1.5}}
    >>> chosen = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": ["repaid"]}}
    >>> answers([{"data": task, "annotations": [{"completed_by": 1, "was_cancelled": False, "result": [chosen]}]}])
    [(1, '17', 'repaid')]
    >>> answers([{"data": task, "annotations": [{"completed_by": 1, "was_cancelled": True, "result": [chosen]}]}])
    [(1, '17', None)]
    >>> answers([{**task, "id": 5, "label": "repaid", "annotator": 1, "annotation_id": 9}])           # JSON-MIN
    [(1, '17', 'repaid')]
    """
    if not isinstance(export, list):
        raise NotAnswers(
            f"a Label Studio export must be a list of tasks; got {type(export).__name__}. "
            "Export the project as JSON or JSON-MIN and pass that file unchanged."
        )
    said: dict[str, list[_Annotation]] = {}
    for item, task in enumerate(export, start=1):
        row, annotations = _read(item, task)
        if annotations:
            said.setdefault(row, []).extend(annotations)
    found: list[Line | Unread] = []
    for row, annotations in said.items():
        given = sorted((a for a in annotations if a.ticked is not None), key=lambda a: a.at)
        last = {a.by: a for a in given}.values()
        labels = sorted({label for a in last for label in a.ticked or [""]})
        item = annotations[0].item
        if "" in labels:
            found.append(Unread(item, f"row {row!r} was submitted without a class. Choose one or skip the task."))
        elif len(labels) > 1:
            shown = " and ".join(map(repr, labels))
            told = f"row {row!r} was answered {shown}. Keep the right annotation, delete the others."
            found.append(Unread(item, told))
        else:
            found.append((item, row, labels[0] if labels else None))
    return found


def _read(item: int, task: Any) -> tuple[str, list[_Annotation]]:
    """The row's id and its annotations: several in a task of the full export, at most one in the short export."""
    if not isinstance(task, dict):
        raise _foreign(item, task)
    if {ID, "annotation_id"} <= task.keys():
        ticked = _ticked(item, task.get(LABEL))
        said = [_Annotation(item, _person(task.get("annotator")), str(task.get("updated_at")), ticked)]
        return _id(item, task[ID]), said if task["annotation_id"] else []
    data, annotations = task.get("data"), task.get("annotations")
    if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations) or "data" not in task:
        raise _foreign(item, task)
    if not isinstance(data, dict) or ID not in data:
        raise NotAnswers(
            f"item {item} has no {ID!r} in its data; got {_opening(data)}. "
            "Export the project into which `unskew ask --as label-studio` was imported."
        )
    return _id(item, data[ID]), [
        _Annotation(item, _person(a.get("completed_by")), str(a.get("updated_at")), _results(item, a))
        for a in annotations
    ]


def _id(item: int, value: Any) -> str:
    try:
        return id_text(value)
    except InputError as error:
        raise NotAnswers(f"item {item}: {error}") from None


def _foreign(item: int, task: Any) -> NotAnswers:
    return NotAnswers(
        f"item {item} is not a task of ours in Label Studio's JSON or JSON-MIN; got {_opening(task)}. "
        "Export the project into which `unskew ask --as label-studio` was imported, and pass that file unchanged."
    )


def _results(item: int, annotation: Mapping[str, Any]) -> list[str] | None:
    if annotation.get("was_cancelled"):
        return None
    result = annotation.get("result")
    regions = [r for r in result if isinstance(r, dict)] if isinstance(result, list) else []
    return [label for r in regions if r.get("from_name") == LABEL for label in _ticked(item, r.get("value"))]


def _ticked(item: int, value: Any) -> list[str]:
    """The classes ticked. JSON-MIN writes one as text, several as {"choices": [...]}, and for none no field at all."""
    if isinstance(value, dict):
        value = value.get("choices")
    if value is None:
        return []
    try:
        return [label_text(v) or "" for v in (value if isinstance(value, list) else [value])]
    except InputError as error:
        raise NotAnswers(f"item {item}: {error}") from None


def _person(by: Any) -> str:
    """A user's number, as text, since anything may stand there; some exports write the whole user record."""
    return repr(by.get("id") if isinstance(by, dict) else by)


def _opening(value: Any) -> str:
    return f"the fields {', '.join(map(repr, list(value)[:6])):.120}" if isinstance(value, dict) else f"{value!r:.60}"
