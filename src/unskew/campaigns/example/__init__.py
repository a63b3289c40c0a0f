"""A simulated bank's log and pool as files, and apart from them the truth: for the demo and the tutorial."""

from pathlib import Path

import polars as pl

from unskew.writing import Output

FOLDER = Path(__file__).parent
LOG, POOL, TRUTH = (FOLDER / name for name in ("log.csv", "pool.csv", "truth.csv"))
LABEL, PROPENSITY, ID = "repaid", "granted_with", "application"
"""The columns to name in `start`."""


def copy_files(folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Put log.csv, pool.csv and truth.csv into a folder, unless other files of these names are there already."""
    contents = {folder / file.name: file.read_bytes() for file in (LOG, POOL, TRUTH)}
    outputs = [
        Output(path, "unskew demo", lambda there: there.read_bytes() == contents[folder / there.name], overwrite,
               make_folder=True)
        for path in contents
    ]  # fmt: skip
    for output in outputs:
        output.put_bytes(contents[output.path])
    return list(contents)


def truth() -> dict[str, str]:
    """What each applicant in log and pool did, or would have done. It is known because the bank is simulated.

    >>> len(truth())
    4000
    """
    return dict(pl.read_csv(TRUTH).iter_rows())
