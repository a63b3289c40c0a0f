"""Texts and vectors as blocks of features: learned from the log alone, the same for a row wherever it is met."""

import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.campaigns.tables import embeddings, text_features
from unskew.campaigns.tables.encoding import block_places, encoder, feature_names, features
from unskew.campaigns.tables.grams import PLACES, SIZES, cleaned, counts, place_of
from unskew.errors import InputError

SUBJECTS = ("the parcel", "my order", "this lamp", "your service", "the food")
GOOD, BAD = ("is great", "was lovely", "made me happy"), ("is broken", "was awful", "needs a refund")
KINDS = {"stars": "number", "note": "text", "vector": "embedding"}


def posts(rows: int, seed: int = 0) -> pl.DataFrame:
    """Texts of which the first word group tells nothing and the second all; and vectors that tell the same."""
    rng = np.random.default_rng(seed)
    good = rng.random(rows) < 0.5
    notes = [f"{rng.choice(SUBJECTS)} {rng.choice(GOOD if well else BAD)}!" for well in good]
    vectors = rng.normal(size=(rows, 6)) * [4, 3, 2, 1, 0.5, 0.1] + good[:, None]
    frame = pl.DataFrame({"stars": rng.integers(1, 6, rows), "note": notes, "good": good})
    holes = pl.int_range(rows) % 10 == 3
    return frame.with_columns(
        note=pl.when(holes).then(None).otherwise("note"),
        vector=pl.Series(vectors.tolist(), dtype=pl.List(pl.Float64)),
    ).with_columns(vector=pl.when(holes).then(None).otherwise("vector"))


def test_a_row_has_the_same_features_alone_among_others_and_in_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    log, pool = posts(300), posts(400, seed=1)
    monkeypatch.setattr(text_features, "DIMENSIONS", 4)
    fitted = encoder(log, KINDS)
    X = features(fitted, pool)
    assert X.shape[1] == len(feature_names(fitted)) and np.isfinite(X).all()
    assert fitted.transform(pool).tobytes() == fitted.transform(pool.to_pandas()).tobytes() == X.tobytes()
    for i in range(0, 400, 11):
        assert features(fitted, pool[i]).tobytes() == X[i].tobytes()
    monkeypatch.setattr(text_features, "AT_ONCE", 50)
    assert features(fitted, pool).tobytes() == X.tobytes()


def test_refits_and_pickles_are_the_same_to_the_last_bit(tmp_path: Path) -> None:
    log = posts(300)
    fitted = encoder(log, KINDS)
    X = features(fitted, log)
    joblib.dump(fitted, tmp_path / "encoder.joblib")
    assert features(joblib.load(tmp_path / "encoder.joblib"), log).tobytes() == X.tobytes()
    log.write_parquet(tmp_path / "log.parquet")
    code = (
        "import hashlib, polars as pl\n"
        "from unskew.campaigns.tables.encoding import encoder, features\n"
        f"log = pl.read_parquet({str(tmp_path / 'log.parquet')!r})\n"
        f"print(hashlib.sha256(features(encoder(log, {KINDS}), log).tobytes()).hexdigest())"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1] != b""


def test_empty_missing_and_unknown_texts_are_zeros_with_a_mark() -> None:
    fitted = encoder(posts(200), KINDS)
    (start, end), vector = block_places(fitted)
    names = feature_names(fitted)
    rows = pl.DataFrame({"stars": [1.0] * 4, "note": [None, "", " \n", "ξ"], "vector": [[0.0] * 6] * 3 + [None]})
    X = features(fitted, rows)
    assert not X[:3, start:end].any() and np.isfinite(X).all()
    assert X[:, names.index("note is missing")].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert X[:, names.index("vector is missing")].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert X[0, slice(*vector)].tolist() == [0.0] * 6


def test_features_of_texts_are_named_by_words() -> None:
    names = feature_names(encoder(posts(200), {"note": "text"}))
    assert names[0] == "note is missing" and names[1].startswith("note 1 (")
    assert any("refund" in name for name in names) and len(set(names)) == len(names)


def test_texts_without_blanks_are_told_apart() -> None:
    """Chinese is written without blanks; pieces of one to four characters tell the topics apart all the same."""
    rng = np.random.default_rng(0)
    topics = ("电影很好看", "非常喜欢"), ("手机坏了", "要求退款")
    kind = rng.integers(0, 2, 200)
    notes = ["".join(rng.permutation([*topics[k], str(rng.choice(["今天", "昨天", "我们"]))])) for k in kind]
    block = text_features.TextFeatures(2).fit_transform(pl.DataFrame({"note": notes}))
    towards = block @ (block[kind == 1].mean(axis=0) - block[kind == 0].mean(axis=0))
    assert towards[kind == 1].min() > towards[kind == 0].max()


def naive_counts(text: str) -> dict[str, int]:
    """Words and pieces as they are defined, with dicts. A piece of a word has the size first."""
    found: dict[str, int] = {}
    for word in text.split():
        for size in SIZES:
            padded = f" {word} "
            for k in range(len(padded) - size + 1):
                piece = padded[k : k + size]
                if piece != " ":
                    found[f"{size}{piece}"] = found.get(f"{size}{piece}", 0) + 1
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab é世\n", max_size=12), min_size=1, max_size=5))
def test_counts_are_those_of_the_obvious_way(texts: list[str]) -> None:
    plain = cleaned(pl.Series(texts, dtype=pl.String))
    found = counts(plain)
    for k, text in enumerate(plain):
        row = found[[k]].toarray()[0]
        assert sorted(row[PLACES:][row[PLACES:] > 0]) == sorted(naive_counts(text).values())
        for word in text.split():
            assert row[place_of(word)] == text.split().count(word)


def test_many_blocks_share_the_room() -> None:
    log = posts(300)
    wide = log.with_columns(log["note"].alias(f"note{k}") for k in range(12))
    fitted = encoder(wide, {name: "text" for name in wide.columns if name.startswith("note")})
    places = block_places(fitted)
    assert len(places) == 13 and places[-1][1] <= 400


def test_long_vectors_become_their_principal_components() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 40)) + 5.0
    frame = pl.DataFrame({"v": pl.Series(vectors.tolist(), dtype=pl.Array(pl.Float32, 40))})
    made = embeddings.Embedding(3).fit_transform(frame)
    centred = vectors - vectors.mean(axis=0)
    np.testing.assert_allclose(made @ made.T, centred @ centred.T, atol=1e-3)


def test_refusals() -> None:
    log = posts(100)
    fitted = encoder(log, KINDS)
    with pytest.raises(InputError, match="'vector' must hold vectors of one length; got 2 and 3 numbers"):
        features(fitted, log[:2].with_columns(vector=pl.Series([[1.0, 2.0], [1.0, 2.0, 3.0]])))
    with pytest.raises(InputError, match="'vector' must hold vectors of 6 numbers; got 2"):
        features(fitted, log[:1].with_columns(vector=pl.Series([[1.0, 2.0]])))
    with pytest.raises(InputError, match="'vector' must hold a embedding; got 'x'"):
        features(fitted, log[:1].with_columns(vector=pl.lit("x")))


@pytest.mark.parametrize("notes", [["a", "b"], ["same", "same", None], ["", " "], ["one two three"] * 3 + ["x"]])
def test_texts_that_share_nothing_make_no_trouble(notes: list[str | None]) -> None:
    log = pl.DataFrame({"note": notes, "x": np.arange(len(notes))})
    X = features(encoder(log, {"note": "text", "x": "number"}), log)
    assert len(X) == len(notes) and np.isfinite(X).all()


@pytest.mark.parametrize("column", ["note", "vector"])
def test_a_block_may_be_all_there_is(column: str) -> None:
    log = posts(300).filter(pl.col("note").is_not_null())
    fitted = encoder(log, {column: KINDS[column]})
    X = features(fitted, log)
    assert X.tobytes() == fitted.transform(log).tobytes() and block_places(fitted) == ((0, X.shape[1]),)
