"""`unskew verify`: the whole ledger looked at again."""

from dataclasses import asdict

from unskew.cli.campaign import Dir, Json, count, print_json
from unskew.cli.progress import progress


def verify(dir: Dir, as_json: Json = False) -> None:
    """Look at the whole ledger: every event, its snapshot, and the tables of log and pool.

    The other commands read only what came after the snapshot. If anything is damaged, one line names it.

    unskew verify bank
    """
    from unskew.campaigns import Campaign

    with Campaign.open(dir) as campaign, progress("reading the ledger") as report:
        verified = campaign.verify(report)
    if as_json:
        print_json(asdict(verified))
        return
    print(f"ledger: {verified.ledger} is whole")
    print(f"events: {count(verified.events, 'event')}, each as it was written, and they fit each other")
    print(f"snapshot: {'agrees with the events' if verified.snapshot else 'none, so every event is read'}")
    print(f"tables: {', '.join(verified.tables)} are as they were")
