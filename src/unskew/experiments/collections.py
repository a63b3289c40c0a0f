"""Where the data sets come from, how they are downloaded, and whether a file on disk is the right one."""

import gzip
import hashlib
import io
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unskew.errors import InputError, unknown
from unskew.experiments.datasets import DATASETS, FILES, Synthetic, read, search_path
from unskew.writing import Output

TIMEOUT = 20.0
"""The number of seconds to wait for a server's answer."""


@dataclass(frozen=True)
class Collection:
    """A public collection of data sets."""

    base: str
    """The beginning of the addresses of its files."""
    licence: str


COLLECTIONS = {
    "UCI": Collection(
        "https://archive.ics.uci.edu/static/public/", "CC BY 4.0, as the data set's page in the collection states"
    ),
    "LIBSVM": Collection(
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/",
        "see the original source, which the collection's page names",
    ),
}


@dataclass(frozen=True)
class Origin:
    """The files of one data set in a collection."""

    collection: str
    downloads: tuple[str, ...]
    """Files below the collection's base; our file has their rows, one file after the other."""
    values: str
    """sha256 of the rows used: their features, then their labels in {-1, +1}, as 8-byte little-endian floats."""
    member: str = ""
    """The file to extract, if the download is a zip archive."""

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(COLLECTIONS[self.collection].base + download for download in self.downloads)


ORIGINS = {
    "letter": Origin(
        "UCI", ("59/letter+recognition.zip",), "f31295b7fc1650ab43c86667ca638b7898a339a9aaf814190ec0e1e682dda1d9",
        "letter-recognition.data",
    ),
    "skin": Origin(
        "UCI", ("229/skin+segmentation.zip",), "5fe65930917b26e01757fcd472a8a2c7e58dadfd3ad9ad2fad289b4807c8a7a9",
        "Skin_NonSkin.txt",
    ),
    "magic": Origin(
        "UCI", ("159/magic+gamma+telescope.zip",), "f2617b0b850c93046818b0ba1e3cd1c3a9d130f02b2b714676c07f6135d9b5d4",
        "magic04.data",
    ),
    "covtype": Origin(
        "UCI", ("31/covertype.zip",), "86589dce7b4c19825df545ebcef0e00ef6c459059edd80ca226489622bb6858f",
        "covtype.data.gz",
    ),
    "mushrooms": Origin(
        "LIBSVM", ("mushrooms",), "c1e4a7a4a5812dabb91601ab15699382a3dcc764264a4c5c9c2ff9f004dfff63"
    ),
    "phishing": Origin("LIBSVM", ("phishing",), "7e78c5d804eafbc40cee0a220d54edb6085c91b19806ee53790d8eb10a12d0cd"),
    "splice": Origin(
        "LIBSVM", ("splice", "splice.t"), "249fc91835287b61c736359082caa7c956d548149fafa6f8be3ccea507f2da2d"
    ),
    "svmguide1": Origin(
        "LIBSVM", ("svmguide1.t",), "3473f25c86877d06a17c1b7d010d19098175c07122faeb26a3771ab7b9b5fbfa"
    ),
    "a5a": Origin("LIBSVM", ("a5a",), "dbc27348ae7a90c52164be2d682dad7cda34d28e20ee1afb173a81e997e05a54"),
    "cod-rna": Origin("LIBSVM", ("cod-rna",), "5789c714126fb6519431f87ffbe8d3b95bb0b0d0111fb5709dc9961a5ed6b17d"),
    "german": Origin("LIBSVM", ("german.numer",), "56ebd1e867db7d7c1daeb427fc235189707b08e0f07745529e543290629da9c9"),
}  # fmt: skip


@dataclass(frozen=True)
class Card:
    """What is known about a data set, and where its file was found. The synthetic one has no file."""

    name: str
    rows: int
    """Rows of the two classes of the task."""
    rows_in_file: int | None
    features: int
    positive: int | None
    negative: int | None
    collection: str | None
    urls: tuple[str, ...]
    licence: str | None
    file: str | None
    sha256: str | None
    path: str | None


RIGHT, COPY, OTHER = "right", "other copy, content right", "other copy, other values"
BROKEN, MISSING = "broken", "not here"


@dataclass(frozen=True)
class Checked:
    """The result of checking a data set's file."""

    name: str
    path: Path | None
    state: str
    """RIGHT, the known file; COPY, the same values; OTHER, the same counts; BROKEN or MISSING."""
    detail: str = ""


def cards(data_dir: str | Path | None = None) -> list[Card]:
    """The twelve data sets of the paper."""
    return [_card(name, data_dir) for name in DATASETS]


def _card(name: str, data_dir: str | Path | None) -> Card:
    if name not in FILES:
        rows, features = Synthetic().population(0, 0)[0].shape
        return Card(name, rows, None, features, None, None, None, (), None, None, None, None)
    file, origin, path = FILES[name], ORIGINS[name], find(name, search_path(data_dir))
    return Card(
        name, file.used, file.rows, file.features, file.positive, file.used - file.positive, origin.collection,
        origin.urls, COLLECTIONS[origin.collection].licence, file.file, file.sha256, str(path) if path else None,
    )  # fmt: skip


def with_file(names: Iterable[str]) -> list[str]:
    """These data sets, or all that have a file; names without a file are refused."""
    chosen = list(dict.fromkeys(names)) or list(FILES)
    for name in chosen:
        if name not in DATASETS:
            raise unknown("data set", name, FILES)
        if name not in FILES:
            raise InputError(f"data set {name!r} is drawn at random and has no file. Leave it out.")
    return chosen


def find(name: str, folders: Iterable[Path]) -> Path | None:
    """The file of a data set in the first folder that has it."""
    return next((path for folder in folders if (path := folder / FILES[name].file).is_file()), None)


def verify(name: str, path: Path | None, *, whole: bool = True) -> Checked:
    """Compare a file with what is known about it: its checksum, then its rows, features and values.

    With `whole=False`, a correct checksum is enough.
    """
    file = FILES[name]
    if path is None:
        return Checked(name, None, MISSING)
    try:
        right = hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256
        if right and not whole:
            return Checked(name, path, RIGHT)
        X, y = read(name, path)
    except OSError as error:
        return Checked(name, path, BROKEN, f"{path} cannot be read ({error.strerror}); expected {file.rows} rows.")
    except InputError as error:
        return Checked(name, path, BROKEN, str(error))
    positive = int(np.count_nonzero(y == 1.0))
    if (len(y), positive) != (file.used, file.positive):
        return Checked(
            name, path, BROKEN,
            f"{path} has {positive} and {len(y) - positive} rows of the two classes; expected {file.positive} and "
            f"{file.used - file.positive} of {file.rows} rows. Fetch the file again.",
        )  # fmt: skip
    digest = hashlib.sha256(np.ascontiguousarray(X, dtype="<f8").data)
    digest.update(np.ascontiguousarray(y, dtype="<f8").data)
    if digest.hexdigest() != ORIGINS[name].values:
        return Checked(name, path, OTHER, f"{path} has the counts expected, but other values or another order.")
    return Checked(name, path, RIGHT if right else COPY)


def fetch(
    name: str,
    to: str | Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    overwrite: bool = False,
) -> tuple[Checked, bool]:
    """Download a data set into the folder `to`, or the user's cache, and say whether that was necessary.

    A file that is there and not broken is left alone. A broken one is replaced in the cache; elsewhere it may be
    somebody's own, and is replaced only with `overwrite`. A download that somebody has put into the folder by hand is
    used in place of the network. The file is written whole or not at all.
    """
    folders = search_path() if to is None else [Path(to)]
    folder, there = folders[-1], find(name, folders)
    if there is not None:
        checked = verify(name, there, whole=False)
        if checked.state != BROKEN:
            return checked, False
        if there.parent != folder:
            raise InputError(f"{there} is broken, and is found before {folder}. Remove it, or use --to {there.parent}.")
    file = FILES[name].file
    output = Output(folder / file, "unskew data fetch", lambda _: to is None, overwrite, make_folder=True)
    raws = dict(_raw(name, url, folder, progress) for url in ORIGINS[name].urls)
    text = b"".join(_rows(name, source, raw) for source, raw in raws.items())
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary, file)
        made.write_bytes(lzma.compress(text, preset=1))
        checked = verify(name, made)
        if checked.state == BROKEN:
            raise InputError(checked.detail.replace(str(made), f"what came from {' and '.join(raws)}"))
        output.put_bytes(made.read_bytes())
    return Checked(name, folder / file, checked.state, checked.detail.replace(str(made), str(folder / file))), True


def _raw(name: str, url: str, folder: Path, progress: Callable[[int, int], None]) -> tuple[str, bytes]:
    """The download and where it came from: the folder, if it was put there by hand, otherwise the network."""
    import pooch

    by_hand = folder / url.rpartition("/")[2]
    if by_hand.is_file():
        return str(by_hand), by_hand.read_bytes()
    content = io.BytesIO()
    try:
        pooch.HTTPDownloader(progressbar=_Bar(progress), timeout=TIMEOUT)(url, content, None)
    except OSError as error:  # the base of all errors of the library that downloads
        raise InputError(
            f"data set {name!r}: {url} cannot be downloaded ({_reason(error)}). Download it by other means, put it "
            f"as {by_hand.name} into the folder {folder}, and run the command again."
        ) from None
    return url, content.getvalue()


def _reason(error: OSError) -> str:
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code}"
    named = {"ConnectionError": "no connection", "ConnectTimeout": "no connection", "ReadTimeout": "no answer"}
    return named.get(type(error).__name__, "the download stopped early")


class _Bar:
    """Receives the downloader's progress, in bytes."""

    total = 0

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self.progress = progress
        self.done = 0

    def update(self, count: int) -> None:
        self.done += count
        self.progress(min(self.done, self.total), self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """The caller clears the bar."""


def _rows(name: str, source: str, raw: bytes) -> bytes:
    """The rows in a download, unpacked, with a newline character at the end of every line."""
    member = ORIGINS[name].member
    if member:
        try:
            with zipfile.ZipFile(io.BytesIO(raw)) as archive:
                raw = archive.read(member)
            if member.endswith(".gz"):
                raw = gzip.decompress(raw)
        except (zipfile.BadZipFile, KeyError, OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"what came from {source} is not an archive with {member} ({error}); expected {FILES[name].rows} rows. "
                "Try again later."
            ) from None
    return raw.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"
