"""`unskew demo`: the whole idea on a simulated bank, in under a minute, with a picture."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.curve import records
from unskew.cli.progress import progress

if TYPE_CHECKING:
    from unskew.experiments.demo import Story


def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes: a .png, .pdf or .svg file.")] = Path(
        "unskew-demo.png"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    budget: Annotated[int, typer.Option(help="Labels that may be bought.")] = 300,
    banks: Annotated[int, typer.Option(help="Simulated banks to average over.")] = 40,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the story.")] = False,
) -> None:
    """The idea on a simulated bank, in seconds, with a picture."""
    from unskew.cli.pictures import checked, save, story_picture
    from unskew.experiments.demo import tell

    checked(out)
    with progress("running 4 methods") as report:
        story = tell(seed=seed, budget=budget, banks=banks, progress=report)
    picture = save(story_picture(story), out)
    if as_json:
        print(json.dumps(_plain(story, seed) | {"picture": str(picture)}, indent=1))
    else:
        _print_story(story, picture)


def _plain(story: "Story", seed: int) -> dict[str, Any]:
    z, liked = story.bank.revealed, story.bank.loans.granted_like
    return {
        "seed": seed,
        "budget": story.budget,
        "banks": story.banks,
        "log": {
            "rows": len(z),
            "revealed": int(z.sum()),
            "granted_like_of_applicants": float(liked.mean()),
            "granted_like_of_revealed": float(liked[: len(z)][z].mean()),
        },
        "naive": asdict(story.naive),
        "all_labels": asdict(story.all_labels),
        "parameters": {name: {"C": C, "eta": eta} for name, (C, eta) in story.parameters.items()},
        "methods": records(story.curves),
    }


def _print_story(story: "Story", picture: Path) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

    console = Console(highlight=False, width=min(100, Console().width))
    log = _plain(story, 0)["log"]

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 1, 0)))

    def table(*headings: str) -> Table:
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for k, heading in enumerate(headings):
            grid.add_column(heading, justify="right" if k else "left")
        return grid

    def show(grid: Table) -> None:
        console.print(Padding(grid, (0, 0, 1, 2)))

    say("[bold]1. The log.[/bold] A simulated bank knows who repaid only where its officer granted the loan.")
    who = table("", "applicants", "outcome known")
    who.add_row("in the log", f"{log['rows']}", f"{log['revealed']}")
    liked, shown = log["granted_like_of_applicants"], log["granted_like_of_revealed"]
    who.add_row("liked by the officer", f"{100 * liked:.0f} %", f"{100 * shown:.0f} %")
    who.add_row("all others", f"{100 * (1 - liked):.0f} %", f"{100 * (1 - shown):.0f} %")
    show(who)

    naive, best = story.naive, story.all_labels
    say(
        f"[bold]2. The naive model[/bold], a logistic regression on the granted loans, looks good: it is wrong on "
        f"{100 * naive.own:.0f} % of them. For everyone it is wrong on {100 * naive.everyone:.0f} %."
    )
    errors = table("test error", "everyone", "liked by the officer", "all others")
    for name, e in (("naive model", naive), ("had all outcomes been known", best)):
        errors.add_row(name, *(f"{100 * value:.1f} %" for value in (e.everyone, e.granted_like, e.denied_like)))
    show(errors)

    say(
        "[bold]3. Buying labels.[/bold] Four methods start from the same log and may grant about "
        f"{story.budget} further loans to learn from. Error on everyone, in %, by labels bought: means of "
        f"{story.banks} simulated banks, ± one standard error. C and eta were chosen on other banks."
    )
    marks = [story.budget // 6, story.budget // 3, story.budget]
    bought = table("method", "C", "eta", *(f"{mark} labels" for mark in marks))
    for name, points in story.curves.items():
        C, eta = story.parameters[name]
        cells = [
            f"{100 * error:.1f} ± {100 * se:.1f}" if points[-1].labels >= mark else f"(ends at {points[-1].labels:.0f})"
            for mark, (error, se) in ((mark, story.at(name, mark)) for mark in marks)
        ]
        bought.add_row(name, "-" if name == "Passive" else f"{C:g}", f"{eta:g}", *cells)
    show(bought)
    console.print(f"Picture: {picture}", soft_wrap=True)
