"""The file beside an exported model: it says what loading means, and which files `export` may replace."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.exchange.readme import is_listed, listed
from unskew.errors import InputError


@pytest.fixture
def campaign(made: Path, tmp_path: Path) -> Iterator[Campaign]:
    with Campaign.open(shutil.copytree(made, tmp_path / "campaign")) as opened:
        yield opened


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_it_says_what_loading_means_and_lists_the_checksums(campaign: Campaign, tmp_path: Path) -> None:
    *files, readme = export(campaign, tmp_path / "out").files
    text = readme.read_text()
    assert "LOADING IT CAN RUN ANY CODE" in text and "Loading it runs no code from the file" in text
    assert "scikit-learn pipeline" in text and "Made by unskew " in text
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    assert listed(readme.parent) == sums and text.endswith("".join(sums))
    check = ["sha256sum", "--check", readme.name]
    assert subprocess.run(check, cwd=readme.parent, capture_output=True, check=False).returncode == 0
    files[0].write_bytes(b"other")
    assert subprocess.run(check, cwd=readme.parent, capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("name", ["model.joblib", "model.onnx", "ledger.parquet", "README.txt"])
def test_only_files_of_an_export_are_replaced(name: str, campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(campaign, out)
    before = contents(out)
    assert len(export(campaign, out).files) == 4
    (out / name).write_bytes(b"mine")
    mine = contents(out)
    with pytest.raises(InputError, match=r"`unskew export` may not have written it. Name .* overwrite=True"):
        export(campaign, out)
    assert contents(out) == mine
    export(campaign, out, overwrite=True)
    assert contents(out).keys() == before.keys() and (out / name).read_bytes() != b"mine"


def test_an_interrupted_export_can_be_repeated(
    campaign: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(campaign, out)
    campaign.ask(1, by="ann")  # the ledger is another one
    replace, moved = os.replace, []

    def interrupted(source: Any, target: Any) -> None:
        if len(moved) == 5:  # in the middle: some files are new, some old
            raise KeyboardInterrupt
        moved.append(target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(campaign, out)
    assert all(is_listed(file) for file in out.iterdir())
    export(campaign, out)
    assert len(listed(out)) == 3


def test_a_foreign_list_recognises_nothing(tmp_path: Path) -> None:
    (tmp_path / "model.joblib").write_bytes(b"mine")
    line = f"{hashlib.sha256(b'mine').hexdigest()}  model.joblib\n"
    (tmp_path / "README.txt").write_text(line)
    assert not is_listed(tmp_path / "model.joblib") and not is_listed(tmp_path / "README.txt")
