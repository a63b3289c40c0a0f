"""The twelve data sets of the paper's experiments: what they are, where they lie, how they are read."""

import hashlib
import io
import lzma
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InputError, unknown
from unskew.rows import Floats

ROWS_USED = 6000
"""From a larger data set, this number of random rows is used (protocol.md)."""


class Source(Protocol):
    """A source of populations to experiment on."""

    @property
    def name(self) -> str: ...

    def population(self, seed: int, block: int) -> tuple[Floats, Floats]:
        """Population number `block` of that seed: features scaled to [-1, 1], labels in {-1, +1}."""
        ...


@dataclass(frozen=True)
class Dataset:
    """A real data set: features scaled to [-1, 1] over all its rows, labels in {-1, +1}."""

    name: str
    X: Floats
    y: Floats

    def population(self, seed: int, block: int) -> tuple[Floats, Floats]:
        """All rows, or 6000 random rows of a larger set."""
        if len(self.y) <= ROWS_USED:
            return self.X, self.y
        rng = np.random.default_rng([seed, block])
        rows = rng.choice(len(self.y), ROWS_USED, replace=False)
        return self.X[rows], self.y[rows]


@dataclass(frozen=True)
class Synthetic:
    """6000 points in 30 dimensions, a random linear classifier, 10 % of labels flipped; new for every population.

    In the text, points are uniform on [-1, 1]^30 (`variant="paper"`). The released program draws every coordinate of x
    and of the hidden normal vector as the difference of two U(0, 1) (`variant="released"`).
    """

    variant: str = "released"
    name: str = "synthetic"

    def population(self, seed: int, block: int) -> tuple[Floats, Floats]:
        rng = np.random.default_rng([seed, block])

        def coordinates(*shape: int) -> Floats:
            if self.variant == "paper":
                return rng.uniform(-1.0, 1.0, shape)
            return rng.random(shape) - rng.random(shape)

        X = coordinates(ROWS_USED, 30)
        y = np.where(X @ coordinates(30) >= 0.0, 1.0, -1.0)
        y[rng.random(ROWS_USED) < 0.1] *= -1.0
        return scaled(X), y


@dataclass(frozen=True)
class Drawn:
    """Populations drawn in advance, to be sent to a worker that has no data files."""

    name: str
    drawn: dict[int, tuple[Floats, Floats]]

    @classmethod
    def of(cls, source: Source, seed: int, blocks: Iterable[int]) -> Self:
        return cls(source.name, {block: source.population(seed, block) for block in blocks})

    def population(self, seed: int, block: int) -> tuple[Floats, Floats]:
        return self.drawn[block]


@dataclass(frozen=True)
class File:
    """What is known about one of the eleven files before it is opened."""

    file: str
    rows: int
    """Rows in the file."""
    used: int
    """Rows of the two classes of the task."""
    features: int
    positive: int
    """Rows of the positive class among those used."""
    sha256: str
    """Of the compressed file."""
    label: str | float
    """The positive class."""
    other: str | float | None = None
    """The negative class, where the file holds more than two."""
    against_all: str | float | None = None
    """The positive class of the task in which all rows are used, where that is another one."""
    label_first: bool = False
    separator: str = ","
    integers: bool = False
    """Whether all values are whole numbers below 2^15; they are then read as such, in a quarter of the memory."""


FILES = {
    "letter": File(
        "letter.data.xz", 20000, 1616, 16, 813,
        "4366e75b89706c1af537afa50a185e71d744cf3aeaf0307621a5675f37c89bf8", "U", "P", label_first=True,
    ),
    "skin": File(
        "skin.txt.xz", 245057, 245057, 3, 50859,
        "9bc8b3f365bf0707f9b04fef4313553e9d6bcbb453870418ab1b35d044fcf2ec", 1.0, separator="\t", integers=True,
    ),
    "magic": File(
        "magic.data.xz", 19020, 19020, 10, 12332,
        "46e1f58e9c7cd100b3c0a36fdc56da4fe27b3ab1dec7a38eea2d5bf52efc39af", "g",
    ),
    "covtype": File(
        "covtype.data.xz", 581012, 495141, 54, 211840,
        "1eb64f029042dbbc0c5e9f8281b07687e51186aba2ecef91e26a1c09874881f1", 1.0, 2.0, against_all=2.0, integers=True,
    ),
    "mushrooms": File(
        "mushrooms.libsvm.xz", 8124, 8124, 112, 3916,
        "65d28f07bfda6d172889dded3c7cb4ce1d0a539d605356e1149dadcd57b9a73c", 1.0,
    ),
    "phishing": File(
        "phishing.libsvm.xz", 11055, 11055, 68, 6157,
        "6c3334a0249d943c9176000349fb289d6b1e64a90e6b66bc41c0dd9647392079", 1.0,
    ),
    "splice": File(
        "splice.libsvm.xz", 3175, 3175, 60, 1648,
        "914861b8c385eca84bb5e99ec1c53d6e4759975468dddc8d2ac009f2fe7c1308", 1.0,
    ),
    "svmguide1": File(
        "svmguide1.libsvm.xz", 4000, 4000, 4, 2000,
        "bd0a117ef2124c1a0a7351cf0bbbe220c432df9fd75539949b4ec8107eae582a", 1.0,
    ),
    "a5a": File(
        "a5a.libsvm.xz", 6414, 6414, 123, 1569,
        "f980ff97619ed9b011f5706324acdb09e78489e322baed252e36144f03f9aeba", 1.0,
    ),
    "cod-rna": File(
        "cod-rna.libsvm.xz", 59535, 59535, 8, 19845,
        "3e48b86f81320adf9850ca96e6c57ee6b6d81c254980d51bad16e60d4313be14", 1.0,
    ),
    "german": File(
        "german.libsvm.xz", 1000, 1000, 24, 300,
        "d2234d26605bce524eb194e7c2f217e00457c026ef0b4e10a3b7b028e415e0ad", 1.0,
    ),
}  # fmt: skip

DATASETS = ("synthetic", *FILES)

SPLICE_TEST = slice(1000, None)
"""Rows of splice that are LIBSVM's test part: all that the released program read (protocol.md)."""


def load(
    name: str, data_dir: str | Path | None = None, *, variant: str = "paper", all_rows: bool = False
) -> Dataset | Synthetic:
    """A data set by its name in the paper.

    The eleven files are looked up in `data_dir`, then in `$UNSKEW_DATA`, then in the user's cache. `variant` matters
    for two sets: "released" draws `synthetic` as the released program did, and uses the 2175 rows of splice that it
    read; "paper" uses the text's uniform distribution and all 3175 rows. `all_rows` matters for covtype: classes 3 to
    7 are not left out, and class 2 is told from all others. These are the 581,012 rows of the paper's Table 5, and the
    task of LIBSVM's covtype.binary.
    """
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    if name == "synthetic":
        return Synthetic(variant)
    return _dataset(name, find(name, data_dir), variant, all_rows)


@lru_cache(maxsize=1)  # the last one only: covtype alone takes 200 MB
def _dataset(name: str, path: Path, variant: str, all_rows: bool) -> Dataset:
    X, y = read(name, path, all_rows=all_rows)
    if name == "splice" and variant == "released":
        X, y = X[SPLICE_TEST], y[SPLICE_TEST]
    return Dataset(name, scaled(X, in_place=True), y)


def scaled(X: Floats, *, in_place: bool = False) -> Floats:
    """Every feature scaled to [-1, 1] by its minimum and maximum; a constant feature becomes 0.

    >>> scaled(np.array([[0.0, 7.0], [10.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    low, high = X.min(axis=0), X.max(axis=0)
    half = (high - low) / 2.0
    half[half == 0.0] = 1.0
    if not in_place:
        X = X.copy()
    X -= (low + high) / 2.0
    X /= half
    return X


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """The folders in which data files are looked up, in order."""
    import pooch

    if data_dir is not None and not Path(data_dir).is_dir():
        raise InputError(
            f"the data folder {str(data_dir)!r} does not exist. Pass the folder that holds the *.xz files."
        )
    named = [data_dir, os.environ.get("UNSKEW_DATA")]
    return [Path(folder) for folder in named if folder] + [Path(pooch.os_cache("unskew"))]


def find(name: str, data_dir: str | Path | None = None) -> Path:
    """The file of a data set, in the first folder that has it."""
    folders = search_path(data_dir)
    for folder in folders:
        path = folder / FILES[name].file
        if path.is_file():
            return path
    places = ", ".join(map(str, folders))
    raise InputError(
        f"data set {name!r} needs the file {FILES[name].file}, which is not in {places}. "
        "Set UNSKEW_DATA to the folder that holds it, or get it with: unskew data fetch."
    )


def check(name: str, data_dir: str | Path | None = None) -> str:
    """The checksum of a data set's file. A file that is missing, or neither known nor readable, is refused."""
    if name not in FILES:
        return ""
    path = find(name, data_dir)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != FILES[name].sha256:
        read(name, path)
    return digest


def read(name: str, path: Path, *, all_rows: bool = False) -> tuple[Floats, Floats]:
    """The rows of a file that belong to the task, not yet scaled, and their labels in {-1, +1}."""
    file = FILES[name]
    if all_rows and file.against_all is not None:
        file = replace(file, label=file.against_all, other=None)
    expected = f"expected {file.rows} rows of {file.features} features"
    try:
        raw = lzma.decompress(path.read_bytes())
        X, labels = _read_libsvm(raw, file) if ".libsvm" in file.file else _read_table(raw, file)
    except (OSError, EOFError, lzma.LZMAError, ValueError, IndexError) as error:
        raise InputError(f"{path} cannot be read ({error}); {expected}. Fetch the file again.") from None
    if len(labels) != file.rows:
        raise InputError(f"{path} is not whole: {len(labels)} rows; {expected}. Fetch the file again.")
    positive = np.asarray(labels == file.label)
    used = slice(None) if file.other is None else positive | (labels == file.other)
    return X[used].astype(np.float64), np.where(positive[used], 1.0, -1.0)


def _read_libsvm(raw: bytes, file: File) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(raw), n_features=file.features)
    return X.toarray(), y


def _read_table(raw: bytes, file: File) -> tuple[NDArray[Any], NDArray[Any]]:
    import polars as pl

    try:
        small = [pl.Int16] * (file.features + 1) if file.integers else None
        frame = pl.read_csv(raw, has_header=False, separator=file.separator, schema_overrides=small)
        label = frame.columns[0 if file.label_first else -1]
        features = frame.drop(label)
        if features.width != file.features:
            raise ValueError(f"{features.width} feature columns")
        return (features if file.integers else features.cast(pl.Float64)).to_numpy(), frame[label].to_numpy()
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error).splitlines()[0]) from None
