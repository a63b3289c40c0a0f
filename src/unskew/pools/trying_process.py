"""The process that tries to read stretches of Parquet or Arrow files.

It imports little of this package: that is slow.

Its argument is the memory that it may use, in bytes. Columns and stretches are read as JSON from its input. It prints
the number of each stretch before it reads it, and what is wrong with the last one. Text is counted in each stretch.
"""

import json
import resource
import sys

from unskew.swelling import Text, watch

REFUSED = 3
"""The exit status if a file was refused."""


def main() -> int:
    """Read the stretches one after the other."""
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = int(sys.argv[1]) if most == resource.RLIM_INFINITY else min(int(sys.argv[1]), most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import polars as pl  # after the limits, so that they hold for its threads

    columns, stretches = json.load(sys.stdin)
    if stretches:
        watch(max(most for *_, most in stretches), len(columns) * max(rows for *_, rows, _ in stretches))
    for number, (path, kind, first, rows, most_text) in enumerate(stretches):
        sys.stdout.write(f"\n{number} ")
        sys.stdout.flush()
        try:
            scan = pl.scan_ipc if kind == "Arrow" else pl.scan_parquet
            lazy = scan(path, glob=False, hive_partitioning=False)
            text, frame = Text(most_text), lazy.select(columns).slice(first, rows).collect()
            if not text.add(frame):
                return text.refuse()
            found = frame.height
        except (pl.exceptions.PolarsError, OSError) as error:
            return _refuse(str(error))
        except pl.exceptions.PanicException:
            return _refuse("a value is damaged")
        if found != rows:
            return _refuse(f"of {rows} rows from row {first + 1}, only {found} are there")
    return 0


def _refuse(why: str) -> int:
    sys.stdout.write(" ".join(why.split()))
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
