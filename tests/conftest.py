"""What several tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the paper's data files; tests that need it skip where there is none."""
    named = os.environ.get("UNSKEW_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            f"the paper's data files (magic.data.xz and others) are not in {folder}: "
            "set UNSKEW_DATA to the folder that holds them"
        )
    return folder
