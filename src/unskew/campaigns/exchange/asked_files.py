"""Which files `ask` may replace: those that it wrote, once every label in them has been told."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

from unskew.campaigns.campaign import Campaign
from unskew.campaigns.exchange import label_studio
from unskew.campaigns.exchange.label_files import answers, written
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables.labels import canonical
from unskew.campaigns.telling import Unread
from unskew.csv_text import LARGEST_CELL
from unskew.errors import InputError

RECORD = {"id", "round", "probability", "values", "label"}
TASK = {label_studio.ID, label_studio.ROUND, label_studio.PROBABILITY, label_studio.ROW}


def is_told(campaign: Campaign, path: Path) -> bool:
    """Whether `ask` wrote the file. A file of its own with labels that the campaign does not have is refused here."""
    if not is_asked(path, campaign.settings):
        return False
    if path.suffix.lower() == ".json":
        return True  # tasks hold no labels
    remedy = "Tell it first, name another file, or add --overwrite."
    lines, _ = answers(path, campaign.settings)
    rows = campaign.refresh().rows
    for one in lines:
        if isinstance(one, Unread):
            raise InputError(f"{path} exists, and its line {one.line} cannot be read. {remedy}")
        line, id, text = one
        row = rows.get(id) or rows.get(id.strip())
        label = None if text is None else canonical(text, campaign.settings.classes) or text
        if row is None or not row.done or row.label != label:
            raise InputError(f"{path} has labels that were not told yet, the first in line {line}. {remedy}")
    return True


def is_asked(path: Path, settings: Settings) -> bool:
    """Whether a file has exactly the headings or fields that `ask` writes. Labels may have been filled in."""
    kinds = {".csv": _is_table, ".jsonl": _is_records, ".json": _is_tasks}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return kinds[path.suffix.lower()](file, settings)
    except (ValueError, RecursionError, csv.Error):  # not UTF-8, not JSON, not CSV
        return False


def _is_table(file: Any, settings: Settings) -> bool:
    """A spreadsheet may have saved it with another separator."""
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_CELL))
    wanted = _plain(next(csv.reader(StringIO(written([], settings), newline=""))))
    for separator in ",;\t":
        file.seek(0)
        if _plain(next(csv.reader(file, delimiter=separator), [])) == wanted:
            return True
    return False


def _plain(names: list[str]) -> list[str]:
    return [name.strip() for name in names]


def _is_records(file: Any, settings: Settings) -> bool:
    said = (json.loads(line) for line in file if line.strip())
    return all(isinstance(one, dict) and one.keys() == RECORD for one in said)


def _is_tasks(file: Any, settings: Settings) -> bool:
    """Tasks that nobody annotated: an export of Label Studio has more fields."""
    said = json.load(file)
    return isinstance(said, list) and all(
        isinstance(task, dict)
        and task.keys() == {"data"}
        and isinstance(task["data"], dict)
        and task["data"].keys() == TASK
        for task in said
    )
