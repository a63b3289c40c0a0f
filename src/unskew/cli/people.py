"""`unskew people`: who labels, how fast, how far they agree; invite, pause, resume and revoke."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from unskew.cli.campaign import By, Dir, Json, login, print_json

if TYPE_CHECKING:
    from unskew.campaigns import Status
    from unskew.estimation.agreement import Agreement

Name = str | None
BARRED = {"ended": "", "paused": "paused", "skips": "skips everything, and gets no more rows"}


def people(
    dir: Dir,
    invite: Annotated[Name, typer.Option(metavar="NAME", help="Make a token for somebody, for the page.")] = None,
    revoke: Annotated[Name, typer.Option(metavar="NAME", help="End somebody's access. Their answers stay.")] = None,
    pause: Annotated[Name, typer.Option(metavar="NAME", help="Give somebody no more rows for now.")] = None,
    resume: Annotated[Name, typer.Option(metavar="NAME", help="Give somebody rows again.")] = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Who labels, how fast, and how far they agree.

    unskew people bank

    unskew people bank --pause ann
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign:
        token = None if invite is None else campaign.invite(invite)
        if revoke is not None:
            campaign.revoke(revoke)
        if pause is not None:
            campaign.pause(pause, by=login(by))
        if resume is not None:
            campaign.resume(resume, by=login(by))
        status, invited = campaign.status(), campaign.state.people
    if as_json:
        names = sorted(name for name, person in invited.items() if person.role == "annotator")
        record: dict[str, Any] = {"people": {name: work.as_dict() for name, work in status.annotators.items()}}
        print_json({**record, "invited": names, "two_people": status.two_people.as_dict(), "token": token})
        return
    if token is not None:
        print(f"{invite} can label at http://ADDRESS/enter#{token}, where ADDRESS is that of `unskew serve`.")
        print("This is shown only once. Any earlier link of theirs no longer works.")
    _print(status, {*status.annotators, *(name for name, person in invited.items() if person.role == "annotator")})


def _print(status: "Status", names: set[str]) -> None:
    from unskew.campaigns import Work

    two = status.two_people
    for name in sorted(names):
        work = status.annotators.get(name, Work())
        took = "" if work.median_seconds is None else f", {work.median_seconds:.0f} s a row"
        more = f"; {said}" if work.barred and (said := BARRED[work.barred]) else ""
        print(f"{name:<12}{work.answered} labels, {work.skipped} skipped, {work.holds} assigned{took}{more}")
        if name in two.by_person:
            print(f"            {_agreed(two.by_person[name])}")
    if not names:
        print("nobody has labelled yet")
    if two.all is not None:
        print(f"two people  {_agreed(two.all)}; {two.conflicts} in conflict, {two.waiting} wait for one more person")
    for one in two.over_time if len(two.over_time) > 1 else ():
        since, until = (at[:16].replace("T", " ") for at in (one.since, one.until))
        print(f"            {since} to {until}: {_agreed(one.agreement)}")


def _agreed(found: "Agreement") -> str:
    """Agreement in words."""
    told = f"same label on {100 * found.raw:.0f} % of {found.rows} rows that two saw"
    if found.kappa is None:
        return told
    kappa, low, high = (f"{value:.2f}".replace("-", "−") for value in (found.kappa, found.kappa_low, found.kappa_high))
    return f"{told}, kappa {kappa} ({low} to {high})"
