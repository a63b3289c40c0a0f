"""The tables of options on the page of commands, made of the descriptions that the commands read.

A line `<!-- options: start -->` in a table becomes a row for each option of `unskew start`.
"""

import re
from collections.abc import Sequence
from typing import Any

from unskew.campaigns.options import Option
from unskew.cli.options import OF_GUIDE, OF_START

TABLES = {"start": OF_START, "guide": OF_GUIDE}
PLACE = re.compile(r"^<!-- options: (\w+) -->$", re.M)


def rows(options: Sequence[Option]) -> str:
    """A row of Markdown for each option that is typed."""
    typed = [part for option in options for part in option.typed]
    cells = [(f"`{part.flag}`", _usual(part), part.reference or part.help) for part in typed]
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in cells)


def _usual(option: Option) -> str:
    if option.usual or option.default is None or isinstance(option.default, bool):
        return option.usual
    return f"{option.default:g}" if isinstance(option.default, int | float) else str(option.default)


def filled(markdown: str) -> str:
    return PLACE.sub(lambda place: rows(TABLES[place[1]]), markdown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return filled(markdown)
