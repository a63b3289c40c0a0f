"""`unskew error`: one measure of the model, on everyone, on a group of rows, or against another model."""

from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import Dir, Json, as_record, count, print_json
from unskew.cli.progress import waiting
from unskew.errors import EmptyMeasure, InputError, NoRandomLabel, TooFewRows
from unskew.estimation.sentences import MEASURES, beside, compared, interval, percent, sources, uncomputable, wrong

if TYPE_CHECKING:
    from unskew.campaigns import Campaign
    from unskew.estimation.population import PopulationEstimate

MOST = 30
"""The most values of a column that get a line, the commonest ones."""


def error(
    dir: Dir,
    measure: Annotated[str, typer.Option(help=f"{', '.join(list(MEASURES)[:-1])} or cost.")] = "error",
    where: Annotated[str | None, typer.Option(metavar="RULE", help="Only rows like this: 'income < 2300'.")] = None,
    each: Annotated[str | None, typer.Option(metavar="COLUMN", help="A line for each value of this column.")] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The difference to another model: a column with its probabilities, or a number of labels.",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="A row is flagged from this probability on. Default: as the costs say, 0.5.")
    ] = None,
    of: Annotated[
        str | None, typer.Option("--class", metavar="CLASS", help="One of more than two classes, against the others.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How wrong the model is: on a group, or against another model.

    unskew error bank --where "employment = self-employed"

    unskew error bank --measure recall --each region

    unskew error bank --against 100

    unskew error digits --measure recall --class 8
    """
    from unskew.campaigns import Campaign

    if where is not None and each is not None:
        raise InputError(f"--where and --each exclude each other; got {where!r} and {each!r}. Give one of them.")
    with Campaign.open(dir) as campaign, waiting("estimating"):
        how: dict[str, Any] = {
            "measure": measure,
            "threshold": threshold,
            "against": _other(campaign, against),
            "of": of,
        }
        if each is not None:
            _print_groups(campaign, each, how, as_json)
            return
        try:
            found = campaign.error(where=where, **how)
        except EmptyMeasure:
            told = uncomputable(measure)
            print_json({"measure": measure, "value": None, "why": told}) if as_json else print(f"{measure}: {told}")
            return
        rows = 1.0 if where is None else campaign.measuring().share(where)
        classes = campaign.settings.classes if of is None else ("any other class", of)
    if as_json:
        print_json({**(as_record(found) or {}), "where": where, "class": of, "rows": rows, "against": how["against"]})
        return
    if where is not None:
        print(f"{percent(rows)} % of all rows are like this: {where}")
    print(*_said(found, classes, where is not None, how["against"]), sep="\n")


def _other(campaign: "Campaign", against: str | None) -> str | int | None:
    """Another model: a column where there is one of that name, otherwise a number of labels."""
    if against is None or against in campaign.log_frame.columns or not against.isdecimal():
        return against
    return int(against)


def _name(against: str | int) -> str:
    return f"the model in {against!r}" if isinstance(against, str) else f"the model after {count(against, 'label')}"


def _said(found: "PopulationEstimate", classes: tuple[str, ...], group: bool, against: str | int | None) -> list[str]:
    """The estimate in sentences."""
    careful = sources(found) if found.extended and found.log_share == 1.0 else ""
    if against is not None:
        said = [compared(found, _name(against)), careful]
    elif found.measure != "error":
        words = MEASURES[found.measure].format(positive=classes[1], negative=classes[0])
        said = [f"{words}: {interval(found, found.measure)}", careful]
    elif group:
        said = [f"the model is {wrong(found, 'them')}", beside(found, classes, "them"), careful]
    else:
        said = [f"the model is {wrong(found)}", beside(found, classes), sources(found)]
    return [one.strip() for one in said if one]


def _print_groups(campaign: "Campaign", column: str, how: dict[str, Any], as_json: bool) -> None:
    measuring = campaign.measuring()
    rules = measuring.values_of(column)
    plain = how["measure"] == "error" and how["against"] is None and len(campaign.settings.classes) == 2
    what = how["measure"] if how["against"] is None else f"difference in {how['measure']}"
    records: list[dict[str, Any]] = []
    lines = [[column, "of all rows", f"{what}, 95 % interval", *(["commoner class", "flagged"] if plain else [])]]
    for value, rule in list(rules.items())[:MOST]:
        try:
            rows = measuring.share(rule)
        except TooFewRows:
            records.append({"is": value, "rows": None, "value": None, "why": "too few rows in the sample"})
            lines.append([value, "few", "too few rows in the sample"])
            continue
        records.append({"is": value, "rows": rows})
        lines.append([value, f"{percent(rows)} %"])
        try:
            found = campaign.error(where=rule, **how)
        except (EmptyMeasure, NoRandomLabel) as error:
            none = isinstance(error, NoRandomLabel)
            told = "no drawn row like this" if none else uncomputable(how["measure"])
            records[-1] |= {"value": None, "why": told}
            lines[-1].append(told)
            continue
        records[-1] |= as_record(found) or {}
        beside = (found.commoner, found.flagged) if plain else ()
        lines[-1] += [interval(found, found.measure), *(f"{percent(share or 0.0)} %" for share in beside)]
    if as_json:
        print_json({"column": column, "groups": records, "rarer": max(len(rules) - MOST, 0)})
        return
    wide = [max(map(len, texts)) for texts in zip_longest(*lines, fillvalue="")]
    for name, *rest in lines:
        print("  ".join([name.ljust(wide[0]), *(text.rjust(n) for text, n in zip(rest, wide[1:], strict=False))]))
    if len(rules) > MOST:
        print(f"and {len(rules) - MOST} rarer values")
