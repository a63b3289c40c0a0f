"""A simulated bank's log and pool as files, and apart from them the truth: for the demo and the tutorial."""

from pathlib import Path

import polars as pl

from unskew.errors import InputError
from unskew.writing import put_bytes

FOLDER = Path(__file__).parent
LOG, POOL, TRUTH = (FOLDER / name for name in ("log.csv", "pool.csv", "truth.csv"))
LABEL, PROPENSITY, ID = "repaid", "granted_with", "application"
"""The columns to name in `start`."""


def copy_files(folder: Path) -> list[Path]:
    """Put log.csv, pool.csv and truth.csv into a folder, unless one of them is there already."""
    folder.mkdir(parents=True, exist_ok=True)
    copies = [folder / file.name for file in (LOG, POOL, TRUTH)]
    for path in copies:
        if path.exists():
            raise InputError(f"{path} exists already. Name another folder, or remove it.")
    for file, path in zip((LOG, POOL, TRUTH), copies, strict=True):
        put_bytes(path, file.read_bytes())
    return copies


def truth() -> dict[str, str]:
    """What each applicant in log and pool did, or would have done. It is known because the bank is simulated.

    >>> len(truth())
    4000
    """
    return dict(pl.read_csv(TRUTH).iter_rows())
