"""Files of a pool, first tried in processes of their own: Polars ends the whole process on some damaged files.

It asks for as much memory as a damaged page claims to need, and if it does not get that, it aborts, which no `except`
catches. The footer does not tell: only who decodes a page knows that it is whole. So before a pool is used, all of it
is decoded once, and nothing else is done with it. That takes a small part of the time of a look at every row, and
later reads of files that have not changed since are safe.
"""

import json
import os
import subprocess  # nosec B404  # one command, as a list
import sys
from collections.abc import Iterator
from functools import partial

from unskew.errors import InputError
from unskew.pools import trying_process
from unskew.pools.files import FilePool
from unskew.pools.formats import kind_of
from unskew.pools.scanning import spread
from unskew.pools.stretches import Stretch
from unskew.reading import half_memory, most_text, too_much_text
from unskew.swelling import TOO_LARGE

TOGETHER = 1 << 21
"""Rows, at least, that one process tries: to start one takes as long as to read a million rows."""

OWN = 4_000_000_000
"""Bytes of addresses, most of them never used, that Polars takes for itself."""


def try_files(pool: FilePool) -> None:
    """Read every row of a pool once, or raise an InputError that names the damaged file.

    Text files were read whole when they were found, and no text ends Polars.
    """
    if pool.files[0].edges:
        return
    largest = max(file.size for file in pool.files)  # files are mapped, so their size counts as memory
    sizes = {file.path: file.size for file in pool.files}
    run = partial(_try, pool.columns, half_memory() + OWN + largest, sizes)
    refused = spread(run, _tasks(pool), list.__add__, len(pool), pool.progress)
    for _, why in sorted(refused)[:1]:  # the same one, whichever was found first
        raise InputError(why)


def _tasks(pool: FilePool) -> Iterator[tuple[int, list[Stretch]]]:
    task: list[Stretch] = []
    for stretch in pool.stretches:
        task.append(stretch)
        if (rows := sum(one.rows for one in task)) >= TOGETHER:
            yield rows, task
            task = []
    if task:
        yield sum(one.rows for one in task), task


def _try(
    columns: tuple[str, ...], memory: int, sizes: dict[str, int], stretches: list[Stretch]
) -> list[tuple[int, str]]:
    """The place of the first stretch that cannot be read, and why; nothing if all can be read."""
    command = [sys.executable, "-P", trying_process.__file__, str(memory)]
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # the same Polars as here
    each = [(one.path, kind_of(one.path), one.first, one.rows, most_text(sizes[one.path])) for one in stretches]
    given = json.dumps([columns, each])
    try:
        done = subprocess.run(  # nosec B603  # this Python, and a file of ours
            command, input=given.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=where, check=False
        )
    except OSError as error:
        raise InputError(f"no process can be started to read files: {error.strerror}. Close others.") from None
    if not done.returncode:
        return []
    number, _, told = done.stdout.decode(errors="replace").rpartition("\n")[2].partition(" ")
    if not number:
        raise InputError("the process that reads files cannot start. Free memory, and try again.")
    file = stretches[int(number)]
    if done.returncode == TOO_LARGE:
        return [(file.place, str(too_much_text(file.path, sizes[file.path], told)))]
    told = told if done.returncode == trying_process.REFUSED else "a value is damaged"
    return [(file.place, f"{file.path} is incomplete or damaged: {told:.120}. Write it again.")]
