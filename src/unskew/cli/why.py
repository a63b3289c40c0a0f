"""`unskew why`: what the model says of one row, and what each column does to it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Dir, Json, count, print_json
from unskew.cli.progress import waiting

if TYPE_CHECKING:
    from unskew.campaigns.learning.one_row import Effect, Why

LONGEST = 40
"""Characters of a value that are printed."""

MOST = 30
"""The most columns that get a line, those that do most."""


def why(
    dir: Dir,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a row of the pool.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Why the model says what it says of a row, column by column.

    unskew why bank A01506

    unskew why bank A01506 --json
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign, waiting("looking at the row") as told:
        campaign.watch(told)
        found = campaign.why(id)
    if as_json:
        print_json({**found._asdict(), "effects": [effect._asdict() for effect in found.effects]})
    else:
        print(*_said(found), sep="\n")


def _said(found: "Why") -> list[str]:
    """The answer in plain words, a line for each column."""
    about = repr(found.about)
    lines = [("column", "value", "log-odds", "chance otherwise"), *map(_line, found.effects[:MOST])]
    wide = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    table = [
        f"{column.ljust(wide[0])}  {value.ljust(wide[1])}  {moved.rjust(wide[2])}  {chance.rjust(wide[3])}"
        for column, value, moved, chance in lines
    ]
    left = len(found.effects) - MOST
    return [
        f"row {found.id}: the model predicts {found.prediction!r}. The chance of {about} is "
        f"{_percent(found.probability)}, which is a log-odds of {found.log_odds:.2f}.",
        "",
        *table,
        *([f"and {count(left, 'column')} with a smaller effect"] if left > 0 else []),
        "",
        f"Each column in turn was given the values of {found.others} other rows; the rest of the row stayed as it is.",
        f"log-odds: how much the row's own value raises (+) or lowers (-) the log-odds of {about}, compared with them.",
        f"chance otherwise: the mean chance of {about} with the values of the other rows.",
        "The lines need not add up, because columns can work together. They say nothing about causes.",
    ]


def _line(effect: "Effect") -> tuple[str, str, str, str]:
    moved = round(effect.log_odds, 2) + 0.0  # no minus before a zero
    return _short(effect.column), _short(effect.value), f"{moved:+.2f}", _percent(effect.probability)


def _short(value: Any) -> str:
    """A value on one line."""
    text = "missing" if value is None else " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _percent(p: float) -> str:
    return f"{100 * p:.1f} %"
