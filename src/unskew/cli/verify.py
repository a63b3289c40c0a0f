"""`unskew verify`: the whole ledger looked at again."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from unskew.cli.campaign import Dir, Json, count, print_json
from unskew.cli.progress import progress

if TYPE_CHECKING:
    from unskew.campaigns.verifying import Verified


def verify(dir: Dir, as_json: Json = False) -> None:
    """Check the whole ledger: every event, and the tables.

    The user's snapshot is compared with the events, and the tables of log and pool with their digests.
    The other commands read only what came after the snapshot. If anything is damaged, one line names it.

    unskew verify bank
    """
    from unskew.campaigns import Campaign
    from unskew.campaigns.ledger.snapshot import Standing

    with Campaign.open(dir) as campaign, progress("reading the ledger") as report:
        verified = campaign.verify(report)
    if as_json:
        print_json(asdict(verified))
    else:
        _print(verified)
    if verified.snapshot == Standing.AHEAD:
        raise typer.Exit(1)


def _print(verified: "Verified") -> None:
    from unskew.campaigns.ledger.snapshot import Standing

    events = count(verified.snapshot_events or 0, "event")
    snapshot = {
        Standing.AGREES: f"of {events}, which agrees with them",
        Standing.NONE: "there was none",
        Standing.DAMAGED: "there was a damaged one, which is not used",
        Standing.OTHER_VERSION: "there was one of another version, which is not used",
        Standing.OTHER_LEDGER: "there was one of another ledger in this place, which is not used",
        Standing.AHEAD: f"there is one of {events}, and this ledger does not have the last of them: "
        "it may have been restored from an older copy",
    }[verified.snapshot]
    print(f"ledger: {verified.ledger} is whole")
    print(f"events: {count(verified.events, 'event')}, each as it was written, and they fit each other")
    print(f"snapshot: {snapshot}")
    print(f"tables: {', '.join(verified.tables)} are as they were")
