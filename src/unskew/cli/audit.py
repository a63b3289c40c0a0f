"""`unskew audit`: how skewed is this log, and where are its blind spots?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.campaign import Cluster, Overwrite, Types, command, engine, say_next
from unskew.cli.progress import waiting
from unskew.estimation.sentences import percent
from unskew.writing import Output, page_of

if TYPE_CHECKING:
    from unskew.campaigns.audit.log_audit import LogAudit
    from unskew.estimation.population import PopulationEstimate

COMMAND = "unskew audit"
NARROW = 60
"""On a terminal with fewer columns than this, a table has no room for rules."""


def audit(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG",
            help="A row for everyone: a .csv, .csv.gz, .tsv or .parquet file, or a folder of the last. Or several.",
        ),
    ],
    label: Annotated[str, typer.Option(help="The column with the label, empty where it is unknown.")],
    propensity: Annotated[
        str | None, typer.Option(help="The column with each row's chance of a label. Default: it is estimated.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="The column with each row's id.")] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy-column", help="The column of who decided: propensities are estimated within each."),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="A sample of everyone, for a log in which every row has a label."),
    ] = None,
    types: Types = None,
    html: Annotated[Path | None, typer.Option(help="Also write the audit as a page, with pictures.")] = None,
    overwrite: Overwrite = False,
    seed: Annotated[int, typer.Option(min=0, help="Seeds everything random.")] = 0,
    cluster: Cluster = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """How skewed is a log? Errors for everyone, and its blind spots.

    unskew audit loans.csv --label repaid --propensity q0 --html audit.html

    unskew audit granted.csv --label repaid --pool applicants.csv
    """
    from unskew.campaigns.audit.log_audit import audit_log
    from unskew.campaigns.start_options import parsed

    output = None if html is None else Output(html, COMMAND, page_of(COMMAND), overwrite, (".html", ".htm"))
    with engine(cluster), waiting("examining the log") as report:
        found = audit_log(
            logs[0] if len(logs) == 1 else logs, label, propensity, id, policy=policy, pool=pool, seed=seed,
            types=parsed(types or []), progress=report,
        )  # fmt: skip
    name = ", ".join(Path(log).name for log in logs)
    step = _next(logs, pool, label, propensity, id, policy, types or [])
    page = None if output is None else _write_page(found, name, output, command(*step))
    if as_json:
        where = None if page is None else str(page)
        print(
            json.dumps(
                {"log": logs[0] if len(logs) == 1 else logs, **found.as_dict(), "page": where, "next": step}, indent=1
            )
        )
    else:
        _print(found, name, page)
        say_next(*step)


def _next(
    logs: list[str],
    pool: str | None,
    label: str,
    propensity: str | None,
    id: str | None,
    policy: str | None,
    types: list[str],
) -> list[str]:
    """A campaign on this log. Its folder, and its pool if none was given, are not known here: names are examples."""
    named = {"--label": label, "--propensity": propensity, "--id": id, "--policy-column": policy}
    columns = [word for option, column in named.items() if column is not None for word in (option, column)]
    columns += [word for given in types for word in ("--type", given)]
    other = "pool.csv" if "://" in logs[0] else str(Path(logs[0]).with_name("pool.csv"))
    given = [word for log in logs for word in ("--log", log)]
    return ["start", "campaign", *given, "--pool", pool or other, *columns]


def _write_page(found: "LogAudit", name: str, output: Output, start: str) -> Path:
    from unskew.campaigns.report.audit_page import html

    output.put_text(html(found, name, start))
    return output.path.absolute()


def _print(found: "LogAudit", name: str, page: Path | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    console = Console(highlight=False, width=min(100, Console().width))

    def say(text: str) -> None:
        console.print(Padding(text, (0, 0, 1, 0)))

    def table(*headings: str) -> Table:
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for k, heading in enumerate(headings):
            grid.add_column(heading, justify="right" if k else "left", no_wrap=bool(k))
        return grid

    def show(grid: Table) -> None:
        console.print(Padding(grid, (0, 0, 1, 2)))

    of_class = ", ".join(f"{count:,} as {escape(value)}" for value, count in found.classes.items())
    say(
        f"[bold]{escape(name)}[/bold]: {found.rows:,} rows, {found.labels:,} of them labelled "
        f"({100 * found.reveal_rate:.1f} %): {of_class}."
    )
    for finding in found.findings:
        console.print(Padding(f"[yellow]![/yellow] {escape(finding.says)}", (0, 0, 0, 2)))
        console.print(Padding(f"To do: {escape(finding.remedy)}", (0, 0, 0, 4)))
    if found.findings:
        console.print()

    say("[bold]1. What a model of this log is worth.[/bold]")
    errors = table("share of rows it gets wrong", "error", "95 % interval", "commoner", "flagged")
    errors.add_row("naive model, on rows like the labelled ones", *_error(found.apparent))
    errors.add_row("naive model, on everyone", *_error(found.naive))
    errors.add_row("weighted model, on everyone", *_error(found.weighted))
    show(errors)
    meant = "naive model: learns from the labels as they are. weighted model: counts each label 1/propensity times."
    if len(found.classes) == 2:
        meant += (
            " commoner: the error of always saying the commoner class. flagged: the share of rows that the model "
            f"predicts to be {escape(list(found.classes)[1])}."
        )
    say(meant)

    if found.blind_spots is None:
        say("[bold]2. Blind spots[/bold]: not known. The log does not show who has no label.")
    elif found.blind_spots:
        say("[bold]2. Blind spots[/bold]: regions with less than their share of the labels.")
        counted = "labelled" if found.pool_rows is None else "in log, pool"
        spots = table("where", "of everyone", "of the labels", counted)
        for spot in found.blind_spots:
            where = escape("\nand ".join(map(str, spot.rule.conditions)))
            everyone, labels = (f"{100 * share:.1f} %" for share in (spot.population_share, spot.label_share))
            labelled = (
                f"{spot.labels:,} of {spot.rows:,}" if found.pool_rows is None else f"{spot.labels:,}, {spot.rows:,}"
            )
            if console.width < NARROW:
                told = f"{where}\n{everyone} of everyone, {labels} of the labels; {counted}: {labelled}"
                console.print(Padding(told, (0, 0, 1, 2)))
            else:
                spots.add_row(where, everyone, labels, labelled)
        if spots.rows:
            show(spots)
    else:
        say("[bold]2. Blind spots[/bold]: none. No region has clearly less than its share of the labels.")

    how, facts = _chances(found)
    say(f"[bold]3. Propensities[/bold]{how}")
    if facts:
        chances = table("", "")
        for fact in facts.items():
            chances.add_row(*fact)
        chances.show_header = False
        show(chances)
        say(
            "effective number: as many labels drawn at random would carry as much information. "
            + ("q0: a row's chance of a label. z: 1 if it has a label, else 0." if found.diagnostics else "")
        )
    say("Learnt from: " + escape(", ".join(f"{column} ({kind})" for column, kind in found.columns.items())) + ".")
    if found.left_out:
        say("Left out: " + escape(", ".join(f"{column} ({why})" for column, why in found.left_out.items())) + ".")
    if page is not None:
        console.print(f"Page: {page}", soft_wrap=True)


def _chances(found: "LogAudit") -> tuple[str, dict[str, str]]:
    """Where propensities come from, and what they are like."""
    d, r = found.diagnostics, found.relative
    if d is not None:
        low, high = d.interval
        return f", {'estimated from the columns' if d.q0_estimated else 'as given'}.", {
            "smallest chance of a label": f"{d.least_q0:.4f}",
            "rows with a chance below 0.05, 0.01": f"{100 * d.below_0_05:.1f} %, {100 * d.below_0_01:.1f} %",
            "labels, and their effective number": f"{d.revealed:,}, {d.effective_labels:,.0f}",
            "mean of z/q0 (1 if propensities are right)": f"{d.mean_weight:.3f} ({low:.3f} to {high:.3f})",
        }
    if r is None:
        return ": not known. The log does not show who has no label.", {}
    return ", relative to the likeliest rows', from telling rows of the log from rows of the pool.", {
        "smallest relative chance in the pool": f"{r.least:.4f}",
        "rows of the pool below 0.05, 0.01": f"{100 * r.below_0_05:.1f} %, {100 * r.below_0_01:.1f} %",
        "labels, and their effective number": f"{found.labels:,}, {r.effective_labels:,.0f}",
    }


def _error(found: "PopulationEstimate | None") -> tuple[str, ...]:
    if found is None:
        return "not known", "", "", ""
    shares = [
        "" if share is None else f"{percent(share)} %"
        for share in (found.value, found.high, found.commoner, found.flagged)
    ]
    return shares[0], f"{percent(found.low)} to {shares[1]}", *shares[2:]
