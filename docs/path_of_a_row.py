"""The drawing on the page "The path of a row": `python docs/path_of_a_row.py` writes docs/img/path-of-a-row.svg.

A test checks that every module and function named here exists, and that the picture is up to date.
"""

from html import escape
from pathlib import Path
from typing import NamedTuple

OUT = Path(__file__).parent / "img" / "path-of-a-row.svg"

ROOMS = {
    "commands, page, experiments": ("#455a64", ("cli", "web", "experiments")),
    "campaigns": ("#1565c0", ("campaigns", "campaigns/exchange")),
    "campaigns: learning": ("#00838f", ("campaigns/learning",)),
    "campaigns: ledger": ("#6a1b9a", ("campaigns/ledger",)),
    "methods": ("#2e7d32", ("methods",)),
    "models and estimation": ("#ef6c00", ("models", "estimation")),
}


class Step(NamedTuple):
    """A function that a row passes through, and what happens to the row there."""

    module: str
    function: str
    does: str


LANES: dict[str, list[Step]] = {
    "unskew ask": [
        Step("cli/labelling.py", "ask", "parse the command"),
        Step("campaigns/campaign.py", "Campaign.ask", "rows for one person"),
        Step("campaigns/rounds.py", "Rounds.ask", "enough rows planned? else plan"),
        Step("campaigns/learning/fitting.py", "Fitting.plan", "the model after all answers"),
        Step("methods/pool.py", "PoolMethod.pick", "choose some, draw some"),
        Step("models/bayes.py", "BayesianLogistic.wanted", "which labels teach the most"),
        Step("campaigns/rounds.py", "Rounds.give", "lease the rows to the person"),
        Step("campaigns/ledger/live.py", "Transaction.append", "Planned and Leased, at once"),
        Step("campaigns/exchange/label_files.py", "written", "a line of rows.csv"),
    ],
    "unskew tell": [
        Step("cli/labelling.py", "tell", "parse the command"),
        Step("campaigns/exchange/label_files.py", "answers", "a line becomes (line, id, label)"),
        Step("campaigns/campaign.py", "Campaign.tell_lines", "all lines or none"),
        Step("campaigns/telling.py", "judge", "new, known already, or wrong?"),
        Step("campaigns/ledger/live.py", "Transaction.append", "Answered: now it is safe"),
        Step("campaigns/rounds.py", "Rounds.close_due", "is the round complete?"),
        Step("campaigns/learning/fitting.py", "Fitting.fitted", "fit, unless in the cache"),
        Step("methods/loop.py", "Method.adopt", "learn all answers as one round"),
        Step("estimation/everyone.py", "Everyone.estimate", "the error, with an interval"),
        Step("campaigns/ledger/live.py", "Transaction.append", "Closed, with that error"),
    ],
    "one click on the page": [
        Step("web/static/label.js", "answer", "show the next row at once"),
        Step("web/static/outbox.js", "Outbox", "keep it until the server has it"),
        Step("web/api.py", "tell", "POST /api/tell"),
        Step("web/desk.py", "Desk.tell", "one person at a time"),
        Step("campaigns/campaign.py", "Campaign.exchange", "answer in, next rows out"),
        Step("campaigns/telling.py", "judge", "new, known already, or wrong?"),
        Step("campaigns/rounds.py", "Rounds.give", "lease rows planned in advance"),
        Step("campaigns/ledger/live.py", "Transaction.append", "Answered and Leased, at once"),
        Step("web/show.py", "fields", "a row as a person reads it"),
        Step("web/static/label.js", "take", "the row after the next is ready"),
    ],
    "one cell of reproduce": [
        Step("cli/reproduce.py", "reproduce", "parse the command"),
        Step("experiments/reproduce.py", "reproduce", "cells that are not in the store"),
        Step("experiments/tasks.py", "run_task", "tune C and eta, then measure"),
        Step("experiments/simulation.py", "simulate", "log, stream or test set?"),
        Step("experiments/simulation.py", "curve", "one method on one repeat"),
        Step("methods/driving.py", "stream_rounds", "a batch; the oracle answers"),
        Step("methods/stream.py", "StreamMethod.ask_checked", "query it, infer it, leave it out"),
        Step("methods/stream.py", "StreamMethod.tell_checked", "learn from the batch"),
        Step("experiments/simulation.py", "Simulation.error", "the error on the test set"),
        Step("experiments/store.py", "Store.put", "one line of results.jsonl"),
    ],
}

WIDE, HIGH, GAP, LEFT, TOP = 236, 58, 16, 16, 104
"""A box, the space between two, and the margins, in pixels."""


def color(module: str) -> str:
    """The colour of the room that a module is in: of all that fit, the one with the longest name."""
    fits = [(len(room), shade) for shade, rooms in ROOMS.values() for room in rooms if module.startswith(room + "/")]
    return max(fits)[1]


def text(x: float, y: float, words: str, size: float, **style: str) -> str:
    """A line of text."""
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{extra}>{escape(words)}</text>'


def drawing() -> str:
    """The picture, as SVG."""
    width = LEFT + len(LANES) * (WIDE + GAP)
    height = TOP + max(map(len, LANES.values())) * (HIGH + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" fill="#212121">',
        "<title>The path of a row through ask, tell, one click on the page and one cell of reproduce</title>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#fafafa"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#757575"/></marker></defs>',
    ]
    x = float(LEFT)
    for room, (shade, _) in ROOMS.items():
        parts.append(f'<rect x="{x:g}" y="16" width="12" height="12" rx="2" fill="{shade}"/>')
        parts.append(text(x + 18, 27, room, 13))
        x += 44 + 6.9 * len(room)
    for lane, (name, steps) in enumerate(LANES.items()):
        x = LEFT + lane * (WIDE + GAP)
        parts.append(text(x, 76, name, 17, font_weight="600"))
        for k, step in enumerate(steps):
            y = TOP + k * (HIGH + GAP) - 12
            shade = color(step.module)
            if k:
                line = f"M{x + 24:g} {y - GAP:g} V{y - 2:g}"
                parts.append(f'<path d="{line}" stroke="#757575" fill="none" marker-end="url(#tip)"/>')
            corner = f'x="{x:g}" y="{y:g}" height="{HIGH}"'
            parts.append(f'<rect {corner} width="{WIDE}" rx="4" fill="#fff" stroke="#bdbdbd"/>')
            parts.append(f'<rect {corner} width="6" rx="2" fill="{shade}"/>')
            parts.append(text(x + 14, y + 18, step.function, 13, font_weight="600"))
            parts.append(text(x + 14, y + 34, step.module, 11.5, fill=shade))
            parts.append(text(x + 14, y + 50, step.does, 12, fill="#616161"))
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    OUT.write_text(drawing(), encoding="utf-8")
