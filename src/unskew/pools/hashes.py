"""The hash of all bytes of a pool's files, for those who do not trust size, time and footer."""

import hashlib
from collections.abc import Sequence
from operator import add

from unskew.errors import InputError, StoreError
from unskew.pools.fingerprints import PoolFile
from unskew.pools.remote import opening
from unskew.pools.scanning import Progress, spread


def with_hashes(files: Sequence[PoolFile], progress: Progress | None = None) -> list[PoolFile]:
    """The files with the SHA-256 of each. Progress is told in bytes."""
    found = _hashes(files, progress)
    return [file._replace(sha256=found[file.path]) for file in files]


def check_hashes(files: Sequence[PoolFile], progress: Progress | None = None) -> None:
    """Refuse a file that has not, bit for bit, the content that was hashed."""
    if not all(file.sha256 for file in files):
        raise InputError("no hashes of the pool's files were kept. They are, if a campaign begins with --hash.")
    found = _hashes(files, progress)
    for file in files:
        if found[file.path] != file.sha256:
            raise StoreError(
                f"{file.path} is not the file the campaign began with: its bytes have another SHA-256. "
                "Restore it from a copy."
            )


def _hashes(files: Sequence[PoolFile], progress: Progress | None) -> dict[str, str]:
    tasks = ((file.size, file.path) for file in files)
    return dict(spread(_hash, tasks, add, sum(file.size for file in files), progress))


def _hash(path: str) -> list[tuple[str, str]]:
    try:
        with opening(path) as (file, *_):
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
            return [(path, digest.hexdigest())]
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise StoreError(f"{path} cannot be read: {told}. Restore it from a copy, or check its permissions.") from None
