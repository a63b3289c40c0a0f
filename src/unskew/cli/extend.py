"""`unskew extend`: new rows for the pool of a campaign that runs."""

from typing import Annotated

import typer

from unskew.cli.campaign import Cluster, Dir, Json, engine, estimates, next_step, print_json, say_next
from unskew.cli.progress import waiting


def extend(
    dir: Dir,
    pool: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="The new rows, with the columns of the others. CSV, Parquet, Arrow, or a folder of such files.",
        ),
    ],
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Give the pool new rows, which may then be asked for too.

    unskew extend bank --pool more.csv

    unskew extend bank --pool 'june/*.parquet'
    """
    from unskew.campaigns import Campaign

    with engine(cluster), Campaign.open(dir) as campaign, waiting("reading the new rows") as report:
        rows = campaign.extend(pool, progress=report)
        campaign.close_due()  # which estimates the error on the old and the new rows
        found = campaign.status()
    step = next_step(found, dir)
    if as_json:
        record = {"dir": str(dir), "rows": rows, "pool_rows": found.pool_rows, "pool": found.pool}
        print_json({**record, **estimates(found), "next": step})
        return
    print(f"pool        {found.pool}: {found.pool_rows:,} in all")
    print(f"the {'model' if found.error else 'error'}   {found.told.removeprefix('is ')}")
    for told in found.beside:
        print(f"            {told}")
    say_next(*step)
