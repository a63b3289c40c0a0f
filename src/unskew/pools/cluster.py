"""A Dask cluster that does the work of joblib."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib

from unskew.errors import InputError

WORKERS_WAIT = 10.0
"""The number of seconds to wait for the first worker of a cluster."""


def package_version() -> str:
    """A digest of the whole package: workers must make the same rows and numbers of a file as this process.

    >>> len(package_version())
    16
    """
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for part in sorted(root.rglob("*.py")):
        digest.update(str(part.relative_to(root)).encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@contextmanager
def on_cluster(address: str, version: Callable[[], str] = package_version) -> Iterator[Any]:
    """Let the workers of the Dask scheduler at this address do what joblib does. Yields the client.

    `version` tells what code runs; it must be the same in all workers and here.
    """
    with _connected(address, version) as client, joblib.parallel_config(backend="dask", client=client):
        yield client


@contextmanager
def _connected(cluster: str, version: Callable[[], str]) -> Iterator[Any]:
    """A client of the scheduler at that address, whose workers all run this code."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise InputError("--cluster needs Dask. Install it with: pip install 'unskew[cluster]'.") from None
    try:
        get_address_host_port(cluster)  # before there is a client: one without a port would complain when it is deleted
        client = Client(cluster, timeout="5s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {cluster!r} ({error}). Start one, or leave out --cluster."
        ) from None
    with client:
        try:
            client.submit(str).result(timeout=WORKERS_WAIT)  # makes a cluster that grows on demand start a worker
            found = set(client.run(version).values())
        except TimeoutError:
            raise InputError(
                f"the Dask scheduler at {cluster!r} has no workers. Start some with: dask worker {cluster}"
            ) from None
        except Exception as error:  # a worker may raise anything
            raise InputError(
                f"a worker of {cluster!r} cannot run this: {error}. Install unskew where the workers are."
            ) from None
        if other := found - {version()}:
            raise InputError(
                f"workers of {cluster!r} run code version {', '.join(sorted(other))}; this is {version()}. "
                "Install the same unskew everywhere."
            )
        yield client
