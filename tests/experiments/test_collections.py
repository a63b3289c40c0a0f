"""`unskew data`: the list of data sets, fetching from a server of our own, checking what is on disk."""

import gzip
import io
import json
import lzma
import re
import shutil
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import typer.main

from paths import ROOT
from unskew import cli
from unskew.experiments import collections
from unskew.experiments.collections import BROKEN, COPY, MISSING, ORIGINS, OTHER, RIGHT, Collection, fetch, verify
from unskew.experiments.datasets import DATASETS, FILES, File, load


class Handler(BaseHTTPRequestHandler):
    """Answers with what the test put under a path: bytes, a status, or bytes that break off."""

    def __init__(self, *args, answers, asked):
        self.answers, self.asked = answers, asked
        super().__init__(*args)

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        self.asked.append(name)
        answer = self.answers.get(name, 404)
        if isinstance(answer, int):
            self.send_error(answer)
            return
        content, sent = answer if isinstance(answer, tuple) else (answer, len(answer))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:sent])

    def log_message(self, *_):
        pass


class Server:
    def __init__(self):
        self.answers, self.asked = {}, []


def use(monkeypatch, base):
    monkeypatch.setattr(collections, "COLLECTIONS", {name: Collection(base, "none") for name in ("UCI", "LIBSVM")})


@pytest.fixture
def server(monkeypatch):
    made = Server()
    http = HTTPServer(("127.0.0.1", 0), partial(Handler, answers=made.answers, asked=made.asked))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    use(monkeypatch, f"http://127.0.0.1:{http.server_port}/set/")
    yield made
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, no other folder, no proxy between us and the server."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("UNSKEW_DATA", raising=False)
    return tmp_path / "cache" / "unskew"


TINY = b"+1 1:0.5 2:1\r\n-1 2:3\r\n-1 1:1\r\n"
"""A set small enough to write out; `tiny` makes german and splice of it."""


@pytest.fixture
def tiny(monkeypatch):
    """Stands in for german (one download) and splice (two)."""
    for name, times in (("german", 1), ("splice", 2)):
        known = File(FILES[name].file, 3 * times, 3 * times, 2, times, "0" * 64, 1.0)
        monkeypatch.setitem(FILES, name, known)
        X = np.tile([[0.5, 1.0], [0.0, 3.0], [1.0, 0.0]], (times, 1))
        y = np.tile([1.0, -1.0, -1.0], times)
        values = collections.hashlib.sha256(X.tobytes() + y.tobytes()).hexdigest()
        origin = ORIGINS[name]
        monkeypatch.setitem(ORIGINS, name, collections.Origin(origin.collection, origin.downloads, values))


def everything(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def original(name: str, path: Path) -> dict[str, bytes]:
    """The files of the collection that ours was made of."""
    raw = lzma.decompress(path.read_bytes())
    names = [download.rpartition("/")[2] for download in ORIGINS[name].downloads]
    if member := ORIGINS[name].member:
        raw = raw.replace(b"\n", b"\r\n") if name == "skin" else raw
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("Index", "what is here")
            archive.writestr(member, gzip.compress(raw, 1) if member.endswith(".gz") else raw)
        return {names[0]: packed.getvalue()}
    if name == "splice":
        lines = raw.splitlines(keepends=True)
        return {names[0]: b"".join(lines[:1000]), names[1]: b"".join(lines[1000:])}
    return {names[0]: raw.rstrip(b"\n")}


def test_every_file_has_its_origin_and_the_list_names_all(data_dir, capsys):
    assert list(ORIGINS) == list(FILES)
    assert cli.main(["data", "list", "--data-dir", str(data_dir), "--json"]) == 0
    listed = {card["name"]: card for card in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(DATASETS)
    assert listed["covtype"]["rows"] == 495141 and listed["covtype"]["rows_in_file"] == 581012
    assert listed["synthetic"]["path"] is None and (listed["synthetic"]["rows"], listed["synthetic"]["features"]) == (
        6000,
        30,
    )
    for name in FILES:
        assert Path(listed[name]["path"]) == data_dir / FILES[name].file
        assert listed[name]["positive"] + listed[name]["negative"] == listed[name]["rows"]
        assert listed[name]["licence"] and all(url.startswith("https://") for url in listed[name]["urls"])
    assert "CC BY 4.0" in listed["magic"]["licence"] and "CC BY 4.0" not in listed["a5a"]["licence"]


def test_the_table_fits_a_terminal_and_says_where_files_are(cache, tmp_path, monkeypatch, capsys):
    (tmp_path / "german.libsvm.xz").write_bytes(b"")
    monkeypatch.setenv("UNSKEW_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert "…" not in out and f"found in {tmp_path}: 1" in out
    assert re.search(r"^german .* here", out, re.M) and re.search(r"^a5a .* not here", out, re.M)
    assert all(name in out for name in DATASETS)


def test_data_alone_shows_its_commands(capsys):
    assert cli.main(["data"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in ("list", "fetch", "verify"))


def test_commands_and_options_are_documented():
    page = (ROOT / "docs/reference/cli.md").read_text()
    sections = dict(re.findall(r"^## unskew data (\w+)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    group = typer.main.get_command(cli.app).commands["data"].commands
    assert set(sections) == set(group)
    for name, command in group.items():
        options = {option for param in command.params for option in param.opts if option.startswith("--")}
        assert set(re.findall(r"^\| `(--[\w-]+)`", sections[name], re.M)) == options, name


@pytest.mark.parametrize("name", [name for name in FILES if name != "covtype"])
def test_fetch_makes_the_very_data_set(name, data_dir, cache, server, capsys):
    server.answers.update(original(name, data_dir / FILES[name].file))
    assert cli.main(["data", "fetch", name]) == 0
    made = cache / FILES[name].file
    assert capsys.readouterr().out == f"{name}: fetched to {made}\n"
    assert everything(cache.parent) == [made]
    assert verify(name, made).state == COPY
    ours, theirs = load(name, cache), load(name, data_dir)
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.y, theirs.y)
    asked = len(server.asked)
    assert cli.main(["data", "fetch", name]) == 0
    assert capsys.readouterr().out == f"{name}: already at {made}\n"
    assert len(server.asked) == asked


def test_fetch_unpacks_the_archive_in_the_archive(data_dir, cache, server, monkeypatch, tmp_path):
    with lzma.open(data_dir / "covtype.data.xz") as lines:
        head = b"".join(islice(lines, 20000))
    (tmp_path / "head.xz").write_bytes(lzma.compress(head, preset=0))
    classes = [line.rpartition(b",")[2].strip() for line in head.splitlines()]
    used, positive = sum(c in (b"1", b"2") for c in classes), classes.count(b"1")
    monkeypatch.setitem(FILES, "covtype", File("covtype.data.xz", 20000, used, 54, positive, "0" * 64, 1.0, 2.0))
    server.answers.update(original("covtype", tmp_path / "head.xz"))
    checked, fetched = fetch("covtype", tmp_path / "there")
    assert fetched and checked.state == OTHER  # the first rows are not the known values, and it says so
    assert lzma.decompress((tmp_path / "there" / "covtype.data.xz").read_bytes()) == head


def test_fetch_several_to_a_folder(cache, server, tiny, tmp_path, capsys):
    server.answers.update({"german.numer": TINY, "splice": TINY, "splice.t": TINY})
    there = tmp_path / "new" / "folder"
    assert cli.main(["data", "fetch", "german", "splice", "--to", str(there)]) == 0
    assert server.asked == ["german.numer", "splice", "splice.t"]
    assert sorted(path.name for path in everything(there)) == ["german.libsvm.xz", "splice.libsvm.xz"]
    assert lzma.decompress((there / "splice.libsvm.xz").read_bytes()) == 2 * TINY.replace(b"\r", b"")
    assert not cache.exists()


def test_fetch_takes_what_was_put_there_by_hand(cache, server, tiny):
    cache.mkdir(parents=True)
    (cache / "splice").write_bytes(TINY)
    (cache / "splice.t").write_bytes(TINY)
    assert fetch("splice") == (collections.Checked("splice", cache / "splice.libsvm.xz", COPY), True)
    assert server.asked == []
    (cache / "german.numer").write_bytes(TINY[:14])
    with pytest.raises(ValueError, match=r"german\.numer is not whole: 1 rows; expected 3 rows of 2 features"):
        fetch("german")


def test_fetch_replaces_a_broken_file(cache, server, tiny, tmp_path, monkeypatch, capsys):
    server.answers["german.numer"] = TINY
    cache.mkdir(parents=True)
    (cache / "german.libsvm.xz").write_bytes(b"torn")
    assert fetch("german")[0].state == COPY
    monkeypatch.setenv("UNSKEW_DATA", str(tmp_path))
    (tmp_path / "german.libsvm.xz").write_bytes(b"torn")
    assert cli.main(["data", "fetch", "german"]) == 2
    assert f"--to {tmp_path}" in capsys.readouterr().err
    assert cli.main(["data", "fetch", "german", "--to", str(tmp_path)]) == 2  # outside the cache it may be anybody's
    assert "`unskew data fetch` may not have written it" in capsys.readouterr().err
    assert cli.main(["data", "fetch", "german", "--to", str(tmp_path), "--overwrite"]) == 0
    assert verify("german", tmp_path / "german.libsvm.xz").state == COPY


def test_fetch_keeps_other_values_and_says_so(cache, server, tiny, capsys):
    server.answers["german.numer"] = TINY.replace(b"2:3", b"2:4")
    assert cli.main(["data", "fetch", "german"]) == 1
    assert "other values" in capsys.readouterr().err


WRONG = {
    "missing": (404, r"german\.numer cannot be downloaded \(the server answered 404\)\. Download .* put it as "),
    "refused": (503, r"the server answered 503"),
    "truncated": ((TINY, 20), r"the download stopped early|no connection"),
    "short": (TINY[:14], r"what came from http.*german\.numer is not whole: 1 rows; expected 3 rows of 2 features"),
    "page": (b"<html>moved</html>", r"what came from http.*german\.numer cannot be read .*; expected 3 rows"),
    "classes": (TINY.replace(b"+1", b"-1"), r"0 and 3 rows of the two classes; expected 1 and 2 of 3 rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_download_leaves_nothing(case, cache, server, tiny, capsys, tmp_path):
    server.answers["german.numer"], said = WRONG[case]
    assert cli.main(["data", "fetch", "german"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and re.search(said, err)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("answer", [b"no archive", "empty"])
def test_a_bad_archive_leaves_nothing(answer, cache, server, capsys, tmp_path):
    if answer == "empty":
        packed = io.BytesIO()
        zipfile.ZipFile(packed, "w").close()
        answer = packed.getvalue()
    server.answers["letter+recognition.zip"] = answer
    assert cli.main(["data", "fetch", "letter"]) == 2
    assert "is not an archive with letter-recognition.data" in capsys.readouterr().err
    assert list(tmp_path.rglob("*")) == []


def test_no_network_says_what_to_do(cache, monkeypatch, capsys, tmp_path):
    use(monkeypatch, "http://127.0.0.1:9/")  # nothing listens there
    assert cli.main(["data", "fetch"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    for word in (
        "no connection",
        "http://127.0.0.1:9/59/letter+recognition.zip",
        str(cache),
        "as letter+recognition.zip",
    ):
        assert word in err
    assert list(tmp_path.rglob("*")) == []


def test_a_folder_that_cannot_be_written_to(cache, server, tiny, tmp_path, capsys):
    server.answers["german.numer"] = TINY
    (tmp_path / "file").write_text("mine")
    assert cli.main(["data", "fetch", "german", "--to", str(tmp_path / "file" / "inside")]) == 2
    assert "file' is a file, not a folder. Name another folder." in capsys.readouterr().err
    assert server.asked == []
    assert everything(tmp_path) == [tmp_path / "file"]


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_bad_names(command, cache, capsys):
    assert cli.main(["data", command, "gernan"]) == 2
    assert "did you mean 'german'?" in capsys.readouterr().err
    assert cli.main(["data", command, "synthetic"]) == 2
    assert "has no file" in capsys.readouterr().err


def test_verify(data_dir, cache, tmp_path, capsys):
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(data_dir / "german.libsvm.xz", folder)
    raw = lzma.decompress((data_dir / "a5a.libsvm.xz").read_bytes())
    (folder / "a5a.libsvm.xz").write_bytes(lzma.compress(raw, preset=0))
    assert cli.main(["data", "verify", "--data-dir", str(folder)]) == 0
    out = capsys.readouterr().out
    assert f"german: {RIGHT}, {folder / 'german.libsvm.xz'}" in out and f"a5a: {COPY}, " in out
    assert f"magic: {MISSING}\n" in out
    assert cli.main(["data", "verify", "german", "magic", "--data-dir", str(folder)]) == 1  # asked for, and not here

    whole = (folder / "german.libsvm.xz").read_bytes()
    (folder / "german.libsvm.xz").write_bytes(whole[:5000])
    (folder / "a5a.libsvm.xz").write_bytes(lzma.compress(b"\n".join(raw.splitlines()[:6000]) + b"\n", preset=0))
    capsys.readouterr()
    assert cli.main(["data", "verify", "--data-dir", str(folder)]) == 1
    err = capsys.readouterr().err
    assert "german.libsvm.xz cannot be read" in err and "expected 1000 rows" in err
    assert "a5a.libsvm.xz is not whole: 6000 rows; expected 6414 rows" in err

    (folder / "a5a.libsvm.xz").write_bytes(lzma.compress(raw.replace(b"+1 ", b"-1 ", 1), preset=0))
    (folder / "german.libsvm.xz").unlink()
    assert cli.main(["data", "verify", "--data-dir", str(folder), "--json"]) == 1
    states = {found["name"]: found for found in json.loads(capsys.readouterr().out)}
    assert states["a5a"]["state"] == BROKEN and "expected 1569 and 4845" in states["a5a"]["detail"]
    assert states["german"]["state"] == MISSING and states["german"]["path"] is None


def test_verify_where_there_is_nothing(cache, capsys):
    assert cli.main(["data", "verify"]) == 1
    assert "unskew data fetch" in capsys.readouterr().err
