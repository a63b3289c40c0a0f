"""`unskew demo`: a whole campaign on a simulated bank, from the audit of the log to the report."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Json, Overwrite, command, print_json, say_next
from unskew.cli.progress import progress, waiting
from unskew.errors import InputError

if TYPE_CHECKING:
    from unskew.campaigns.audit.log_audit import LogAudit
    from unskew.campaigns.example.story import Step


def demo(
    out: Annotated[Path, typer.Option(help="Folder to create for the files, the campaign and its report.")] = Path(
        "unskew-demo"
    ),
    overwrite: Overwrite = False,
    files: Annotated[bool, typer.Option("--files", help="Only write log.csv, pool.csv and truth.csv there.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    as_json: Json = False,
) -> None:
    """Run a whole campaign on a simulated bank, in seconds.

    unskew demo

    unskew demo --files --out bank-files

    unskew demo --json > demo.json
    """
    from unskew.campaigns.example import ID, LABEL, PROPENSITY, copy_files

    if not files:
        _check(out, overwrite)
    written = copy_files(out, overwrite=overwrite)
    if files:
        if as_json:
            print_json({"files": [str(path) for path in written]})
        else:
            print("\n".join(map(str, written)))
            say_next("audit", written[0], "--label", LABEL, "--propensity", PROPENSITY, "--id", ID)
        return
    _campaign(out, seed, overwrite, as_json)


def _check(out: Path, overwrite: bool) -> None:
    """Refuse a folder in which something would be replaced, before anything is written."""
    from unskew.campaigns.folder import Folder
    from unskew.campaigns.report.report import page

    if out.exists() and not overwrite:
        raise InputError(f"{str(out)!r} exists already. Name another folder, or add --overwrite.")
    Folder(out / "bank").check_free()
    if out.exists():
        page(out / "report.html", overwrite=overwrite)


def _campaign(out: Path, seed: int, overwrite: bool, as_json: bool) -> None:
    from unskew.campaigns.example.story import BUDGET, ROUND, begin, look, steps
    from unskew.campaigns.report.report import write_report

    def say(text: str) -> None:
        if not as_json:
            print(text, flush=True)

    with waiting("examining the log"):
        audit = look()
    say(_the_log(audit))
    with waiting("fitting the first model"):
        campaign = begin(out / "bank", seed)
    found: list[Step] = []
    with campaign:
        say(_the_question(BUDGET))
        with progress("asking and answering") as report:
            for step in steps(campaign, seed):
                found.append(step)
                report(step.labels, BUDGET)
                if step.labels % (2 * ROUND) < ROUND or step.labels == BUDGET:
                    say(_row(step))
        with waiting("writing the report"):
            headline = write_report(campaign, out / "report.html", overwrite=overwrite)["headline"]
    if as_json:
        print_json(_plain(audit, found, headline, out))
    else:
        say(_the_answer(audit, found, out))


def _the_log(audit: "LogAudit") -> str:
    assert audit.blind_spots, "the bank was made to have one"
    spot = audit.blind_spots[0]
    return (
        f"A simulated bank knows who repaid only where its officer lent: {audit.labels} of {audit.rows} applicants.\n"
        f"A model of those loans looks good: it is wrong on {_percent(audit.apparent.value)} of applicants like them.\n"
        f"But the region where {spot.rule} has {100 * spot.population_share:.0f} % of all applicants\n"
        f"and {100 * spot.label_share:.0f} % of the labels: a blind spot.\n"
    )


def _the_question(budget: int) -> str:
    return (
        f"Two people can find out {budget} more outcomes. unskew chooses which ones.\n\n"
        "  labels   wrong on everyone   95 % interval    truth (known here: the bank is simulated)"
    )


def _row(step: "Step") -> str:
    found = step.estimate
    interval = f"{100 * found.low:.0f} to {_percent(found.high)}"
    return f"  {step.labels:6d}   {_percent(found.value):>17}   {interval:>13}   {_percent(step.truth):>6}"


def _the_answer(audit: "LogAudit", found: "list[Step]", out: Path) -> str:
    first, last = found[0], found[-1]
    held = "contains" if last.estimate.low <= last.truth <= last.estimate.high else "does not contain"
    return (
        f"\nA model of the loans looked {_percent(audit.apparent.value)} wrong. With the log's labels reweighted, "
        f"it was wrong on {_percent(first.truth)} of everyone,\n"
        f"and after {last.labels} more labels on {_percent(last.truth)}. "
        f"The interval, made without knowing the truth, {held} it. {last.skipped} rows were skipped.\n\n"
        f"report: {out / 'report.html'}\n"
        f"next: {command('status', out / 'bank')}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _plain(audit: "LogAudit", found: "list[Step]", headline: str, out: Path) -> dict[str, Any]:
    return {
        "audit": audit.as_dict(),
        "steps": [asdict(step) for step in found],
        "headline": headline,
        "campaign": str(out / "bank"),
        "report": str(out / "report.html"),
    }
