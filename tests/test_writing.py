"""What may be written over, and what never."""

import os
import stat
from pathlib import Path

import pytest

from unskew.errors import InputError
from unskew.writing import CAMPAIGN_FILES, Output, page_of

MINE = "precious"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    folder = tmp_path / "bank"
    folder.mkdir()
    (folder / "campaign.json").write_text(MINE)
    return folder


@pytest.mark.parametrize("name", [*CAMPAIGN_FILES, "Ledger.SQLite", "cache/model.json", "cache/old/x.npy"])
@pytest.mark.parametrize("way", ["straight", "linked folder", "linked file", "roundabout"])
def test_a_file_of_a_campaign_is_never_written(name: str, way: str, campaign: Path, tmp_path: Path) -> None:
    """Whether it is there or not, and whatever the path that leads to it."""
    (campaign / name).parent.mkdir(parents=True, exist_ok=True)
    path = campaign / name
    if way == "linked folder":
        (tmp_path / "link").symlink_to(campaign)
        path = tmp_path / "link" / name
    elif way == "linked file":
        path = tmp_path / "rows.csv"
        path.symlink_to(campaign / name)
    elif way == "roundabout":
        path = campaign / ".." / "bank" / name
    with pytest.raises(
        InputError, match=r"is a file of the campaign in .*bank and is never written over. Name another"
    ):
        Output(path, "unskew ask", lambda _: True, overwrite=True)


def test_a_campaign_that_is_being_made_is_spared_and_another_folder_is_not(tmp_path: Path) -> None:
    Output(tmp_path / "log.parquet", "unskew predict").put_text("rows")
    (tmp_path / ".unfinished").touch()
    with pytest.raises(InputError, match="never written over"):
        Output(tmp_path / "log.parquet", "unskew predict", overwrite=True)


def test_a_campaign_made_meanwhile_is_spared(tmp_path: Path) -> None:
    output = Output(tmp_path / "pool.parquet", "unskew predict")
    (tmp_path / "campaign.json").touch()
    with pytest.raises(InputError, match="never written over"):
        output.put_text("rows")
    assert [file.name for file in tmp_path.iterdir()] == ["campaign.json"]


def test_a_file_that_appeared_meanwhile_is_kept(tmp_path: Path) -> None:
    output = Output(tmp_path / "page.html", "unskew report")
    (tmp_path / "page.html").write_text(MINE)
    with pytest.raises(InputError, match="`unskew report` may not have written it"):
        output.put_text("<p>")
    assert (tmp_path / "page.html").read_text() == MINE


def test_pages_are_known_by_their_mark(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<html><meta name="generator" content="unskew audit">')
    Output(page, "unskew audit", page_of("unskew audit"))
    with pytest.raises(InputError, match="`unskew report` may not have written it"):
        Output(page, "unskew report", page_of("unskew report"))
    page.write_text("x" * 10_000 + '<meta name="generator" content="unskew audit">')  # quoted far below, in a text
    with pytest.raises(InputError, match="`unskew audit` may not have written it"):
        Output(page, "unskew audit", page_of("unskew audit"))


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/none-of-this-name"])
def test_devices_are_refused(path: str) -> None:
    """Nothing is written here: to root, moving a file to /dev/null would replace it."""
    with pytest.raises(InputError, match=r"is not a plain file. Name a file|does not exist"):
        Output(Path(path), "unskew report", lambda _: True, overwrite=True)


def test_an_empty_file_is_free_and_an_empty_file_behind_a_link_is_not(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("empty")
    (tmp_path / "nowhere").symlink_to("not there")
    Output(tmp_path / "empty", "unskew report").put_text("page")
    for name in ("link", "nowhere"):
        with pytest.raises(InputError, match="may not have written it"):
            Output(tmp_path / name, "unskew report")
        Output(tmp_path / name, "unskew report", overwrite=True).put_text("new")
        assert (tmp_path / name).read_text() == "new" and not (tmp_path / name).is_symlink()
    assert (tmp_path / "empty").read_text() == "page" and not (tmp_path / "not there").exists()


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        Output(tmp_path / "deep" / "page.html", "unskew report", make_folder=True).put_text("page")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "deep" / "page.html").stat().st_mode) == 0o640


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(MINE)
    with pytest.raises(InputError, match="is a folder. Name a file"):
        Output(tmp_path, "unskew report")
    with pytest.raises(InputError, match="does not exist. Create it first"):
        Output(tmp_path / "file" / "page.html", "unskew report")
    with pytest.raises(InputError, match="file' is a file, not a folder"):
        Output(tmp_path / "file" / "page.html", "unskew report", make_folder=True)
    with pytest.raises(InputError, match="File name too long. Name another file"):
        Output(tmp_path / ("x" * 300), "unskew report")
