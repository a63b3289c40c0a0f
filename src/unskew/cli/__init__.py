"""The command line: parse, call one function, render. Slow modules are imported inside the commands."""

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.cli.commands import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'unskew.cli' has no attribute {name!r}")
    from unskew.cli.commands import app

    return app


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, 1 or 2 if something is wrong, 130 when interrupted."""
    try:
        from unskew.cli.commands import run  # here, so that Ctrl-C is caught from the start

        status = run(list(sys.argv[1:] if args is None else args))
        sys.stdout.flush()
    except KeyboardInterrupt:
        status = 130
    except OSError as error:
        return _lost(error)
    if status == 130:
        print("interrupted", file=sys.stderr)
    return status


def _lost(error: OSError) -> int:
    """Print one line if the output cannot be written, none if its reader is gone. Python must not complain again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno != errno.EPIPE:
        about = f" ({error.filename})" if error.filename else ""
        print(f"{error.strerror or error}{about}. Make room, or check where the output goes.", file=sys.stderr)
    return 1
