"""The process that tries to read a Parquet or Arrow file. It imports little of this package: that is slow.

Its arguments are the file, the memory that it may use in bytes, the most columns, the most values, the most bytes of
text, and the number of rows to read at a time; if that is 0, all are read at once, and a file of more than the most
values is refused. Text is counted in what is read at a time.
"""

import resource
import sys
from functools import partial

from unskew.swelling import Text, watch

REFUSED = 3
"""The exit status of a file that was refused; then the reason is printed."""

OWN = 4_000_000_000
"""Bytes of addresses, most of them never used, that Polars takes for itself."""


def main() -> int:
    """Read the file, or print why not."""
    path = sys.argv[1]
    memory, most_columns, most_values, most_text, at_once = map(int, sys.argv[2:])
    _limit(memory + OWN)
    import polars as pl  # after the limits, so that they hold for its threads

    try:
        parquet = path.lower().endswith(".parquet")
        scan = partial(pl.scan_parquet if parquet else pl.scan_ipc, path, glob=False, hive_partitioning=False)
        columns = len(scan().collect_schema())
        if columns > most_columns:
            return _refuse(f"columns:{columns}")
        rows = scan().select(pl.len()).collect().item()  # as the footer says
        if rows * columns > most_values and not at_once:
            return _refuse(f"rows:{rows},{columns}")
        watch(most_text, rows * columns)
        for start in range(0, max(rows, 1), at_once or max(rows, 1)):
            text = Text(most_text)
            if not text.add(scan().slice(start, at_once or None).collect()):
                return text.refuse()
    except (pl.exceptions.PolarsError, OSError) as error:
        return _refuse(" ".join(str(error).replace(":", ",").split()))
    except pl.exceptions.PanicException:
        return _refuse("a value is damaged")
    return 0


def _limit(addresses: int) -> None:
    """Limit the memory, as far as it is not limited further already."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = addresses if most == resource.RLIM_INFINITY else min(addresses, most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(why: str) -> int:
    sys.stdout.write(why)
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
