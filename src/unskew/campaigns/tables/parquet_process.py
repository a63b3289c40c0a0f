"""The process that reads a Parquet file from its standard input. It imports nothing else of this package: that is slow.

Its arguments are the memory that it may use in bytes, the most columns, and the most values.
"""

import io
import resource
import sys

REFUSED = 3
"""The exit status of a file that was refused; then the reason is printed, instead of the frame."""

OWN = 4_000_000_000
"""Bytes of addresses, most of them never used, that Polars takes for itself."""


def main() -> int:
    """Print the frame in Arrow's format, or why not."""
    memory, most_columns, most_values = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory + OWN, memory + OWN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import polars as pl  # after the limits, so that they hold for its threads

    content = sys.stdin.buffer.read()
    try:
        columns = len(pl.read_parquet_schema(io.BytesIO(content)))
        if columns > most_columns:
            return _refuse(f"columns:{columns}")
        rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()  # as the footer says
        if rows * columns > most_values:
            return _refuse(f"rows:{rows},{columns}")
        pl.read_parquet(io.BytesIO(content)).write_ipc_stream(sys.stdout.buffer)
    except (pl.exceptions.PolarsError, OSError) as error:
        return _refuse(" ".join(str(error).replace(":", ",").split()))
    return 0


def _refuse(why: str) -> int:
    sys.stdout.write(why)
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
