"""Data sets, simulated logs and mean curves."""

import lzma

import numpy as np
import pytest

from unskew.errors import InputError
from unskew.experiments import DATASETS, mean_curve
from unskew.experiments.datasets import FILES, Synthetic, load, scaled
from unskew.experiments.simulation import horizons, simulate


def test_the_twelve_sets(data_dir):
    assert len(DATASETS) == 12
    for name in FILES:
        if name == "covtype":
            continue  # 75 MB of text: read by test_covtype
        check(name, data_dir)


def test_covtype(data_dir):
    check("covtype", data_dir)


def check(name, data_dir):
    file, data = FILES[name], load(name, data_dir)
    assert data.X.shape == (file.used, file.features)
    assert np.count_nonzero(data.y == 1.0) == file.positive and set(data.y) == {-1.0, 1.0}
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    varies = low != high
    np.testing.assert_allclose(low[varies], -1.0)
    np.testing.assert_allclose(high[varies], 1.0)
    assert np.all(data.X[:, ~varies] == 0.0)
    X, y = data.population(0, 0)
    assert len(X) == len(y) == min(6000, file.used)


def test_splice_parts(data_dir):
    assert load("splice", data_dir).X.shape[0] == 3175
    assert load("splice", data_dir, variant="released").X.shape[0] == 2175


def test_synthetic_forms():
    X, y = Synthetic("released").population(0, 0)
    U, _ = Synthetic("paper").population(0, 0)
    assert X.shape == (6000, 30) and np.abs(X).max() == 1.0
    assert np.var(X) == pytest.approx(1 / 6, rel=0.05)  # triangular
    assert np.var(U) == pytest.approx(1 / 3, rel=0.05)  # uniform
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.mean(np.sign(X @ w) == y) == pytest.approx(0.9, abs=0.03)  # one label in ten is flipped


def test_scaled():
    assert scaled(np.array([[0.0, 3.0], [4.0, 3.0], [1.0, 3.0]])).tolist() == [[-1.0, 0.0], [1.0, 0.0], [-0.5, 0.0]]


def test_split_and_log():
    X, y = Synthetic().population(0, 0)
    s = simulate(X, y, "uniform", 0.25, np.random.default_rng(1))
    assert (s.log.m, s.n, len(s.test_y)) == (1200, 3600, 1200)
    together = np.vstack([s.log.X, s.X, s.test_X])
    assert np.array_equal(np.unique(together, axis=0), np.unique(X, axis=0))
    assert s.log.z.mean() == pytest.approx(s.log.q0.mean(), abs=0.03)
    with pytest.raises(InputError, match="got 1.0. Try 0.5"):
        simulate(X, y, "uniform", 1.0, np.random.default_rng(1))


def test_horizons():
    assert horizons(400).tolist() == [10, 20, 40, 80, 160, 320, 400]
    assert horizons(10).tolist() == [10] and horizons(3).tolist() == [3]


def test_mean_curve_is_reproducible_and_seeded():
    asked = {"dataset": "synthetic", "policy": "uncertainty", "method": "IDBAL", "repeats": 3, "C": 0.1, "eta": 0.1}
    one, two, other = mean_curve(**asked), mean_curve(**asked), mean_curve(**asked, seed=1)
    assert one == two and one != other
    assert [p.horizon for p in one] == [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2400]
    assert one[3]["labels"] == one[3].labels
    with pytest.raises(KeyError):
        one[3]["label"]


def test_passive_buys_every_row_until_past_twice_the_budget():
    points = mean_curve(dataset="synthetic", policy="uniform", method="Passive", repeats=2, label_budget=100)
    assert [p.horizon for p in points] == [0, 10, 30, 70, 150, 310]
    assert [p.labels for p in points] == [0, 10, 30, 70, 150, 310]
    assert all(p.labels_se == 0.0 for p in points)


def test_paper_variant_runs_every_method():
    for method in ("Passive", "DBALw", "DBALwm", "IDBAL"):
        points = mean_curve(dataset="synthetic", policy="certainty", method=method, repeats=2, variant="paper")
        assert points[0].labels == 0.0 and points[-1].error < points[0].error + 0.1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dataset": "magick"}, "unknown data set 'magick': did you mean 'magic'"),
        ({"policy": "Uniform"}, "unknown policy 'Uniform': did you mean 'uniform'"),
        ({"method": "idbal"}, "unknown method 'idbal': did you mean 'IDBAL'"),
        ({"variant": "text"}, "unknown variant 'text'"),
        ({"repeats": 1}, "repeats must be at least 2"),
        ({"seed": -1}, "seed must not be negative; got -1"),
        ({"label_budget": 0}, "label_budget must be at least 1; got 0"),
        ({"logged_fraction": 0.0}, "logged_fraction must leave at least 3 log rows"),
        ({"eta": -1.0}, "eta must be above 0; got -1.0"),
    ],
)
def test_bad_requests(changed, message):
    with pytest.raises(InputError, match=message):
        mean_curve(**({"dataset": "synthetic", "policy": "uniform", "method": "IDBAL"} | changed))


def test_missing_and_broken_files(tmp_path, monkeypatch):
    monkeypatch.setenv("UNSKEW_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"needs the file german\.libsvm\.xz, which is not in .*UNSKEW_DATA"):
        load("german")
    with pytest.raises(InputError, match=r"data folder '.*nowhere' does not exist"):
        load("german", tmp_path / "nowhere")
    whole = b"+1 1:2 2:3\n" * 1000
    (tmp_path / "german.libsvm.xz").write_bytes(lzma.compress(whole)[:-20])
    with pytest.raises(InputError, match=r"german\.libsvm\.xz cannot be read .*expected 1000 rows of 24 features"):
        load("german")
    (tmp_path / "german.libsvm.xz").write_bytes(lzma.compress(whole[:-11]))
    with pytest.raises(InputError, match=r"is not whole: 999 rows; expected 1000 rows"):
        load("german", tmp_path)
    (tmp_path / "magic.data.xz").write_bytes(lzma.compress(b"1,2,g\n" * 19020))
    with pytest.raises(InputError, match=r"magic\.data\.xz cannot be read \(2 feature columns\)"):
        load("magic")
