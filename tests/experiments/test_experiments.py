"""Data sets, simulated logs and mean curves."""

import lzma

import numpy as np
import pytest

from unskew.descent import Descent
from unskew.errors import InputError
from unskew.experiments import DATASETS, mean_curve
from unskew.experiments.datasets import FILES, Synthetic, load, scaled
from unskew.experiments.simulation import horizons, simulate, simulations


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


def algorithm_1(method, s, n, C, eta, rng):
    """`variant="paper"` of a method, written out plainly: the labels bought and the final w."""
    m, xi0, revealed = s.log.m, 0.005, np.flatnonzero(s.log.z)
    X, q0, y = np.vstack([s.log.X, s.X[:n]]), np.concatenate([s.log.q0, s.q0[:n]]), np.concatenate([s.log.y, s.y[:n]])
    w, t, alpha, third = np.zeros(X.shape[1]), 0, 2 * m / (3 * n), m // 3

    def fit(w, t, rows, labels, v):
        for i in rng.permutation(len(rows)):
            x, t = X[rows[i]], t + 1  # the clock counts rows
            h = v[i] * np.sqrt(eta / (eta + t)) * (x @ x)
            w = w + (labels[i] - np.clip(w @ x, -1.0, 1.0)) * (1.0 - np.exp(-2.0 * h)) / (x @ x) * x
        return w, t, v[X[rows] @ w * labels <= 0.0].sum()

    def region(rows):
        bound = np.sqrt(C * V * loss) / cnt + C * V * np.log(cnt) / cnt
        a, xx = np.sqrt(eta / (eta + t)), (X[rows] ** 2).sum(axis=1)
        return np.abs(2.0 * X[rows] @ w) / (a * xx) / cnt <= bound

    rows = revealed[revealed < third]
    w, t, loss = fit(w, t, rows, y[rows], 1.0 / q0[rows])
    cnt, V, used, done, size, bought = third, 1.0 / xi0, third, 0, 1, 0
    while done < n:
        b = min(size, n - done)
        batch = np.arange(m + done, m + done + b)
        inside, everyone = region(batch), np.concatenate([np.arange(m), batch])
        xi = q0[everyone][region(everyone)].min(initial=1.0)  # line 9
        Q = q0 <= xi + 1.0 / alpha if method == "IDBAL" else np.ones(len(q0), dtype=bool)  # line 12
        asked = Q[batch] if method == "Passive" else inside & Q[batch]  # line 14
        labels = y.copy()
        labels[batch[~asked]] = np.where(X[batch[~asked]] @ w >= 0.0, 1.0, -1.0)
        upto = m if done + b == n else int(third + alpha * (done + b))
        rows = np.concatenate([revealed[(revealed >= used) & (revealed < upto)], batch[Q[batch]]])
        v = np.where(rows < m, 1.0 / q0[rows], 1.0)  # eq. 1
        if method in ("DBALwm", "IDBAL"):
            v = (alpha + 1.0) / (alpha * q0[rows] + Q[rows])  # eq. 2
        w, t, loss = fit(w, t, rows, labels[rows], v)
        V = 1.0 / xi if method in ("Passive", "DBALw") else (alpha + 1.0) / (alpha * xi + 1.0)
        cnt, used, done, size, bought = (1.0 + alpha) * b, upto, done + b, 2 * size, bought + asked.sum()
    return bought, w


@pytest.mark.parametrize(("method", "C"), [("Passive", 0.1), ("DBALw", 0.002), ("DBALwm", 0.1), ("IDBAL", 0.1)])
@pytest.mark.parametrize("policy", ["certainty", "uncertainty"])
def test_the_paper_variant_is_algorithm_1(method, C, policy):
    """Every point of a curve beside the pseudocode, over two repeats; C is such that the region leaves rows out."""
    cell = {"policy": policy, "C": C, "eta": 0.1, "repeats": 2}
    points = mean_curve(dataset="synthetic", method=method, variant="paper", label_budget=300, **cell)
    reached = [p.horizon for p in points]
    plain, at_0 = np.zeros((len(points) - 1, 2)), 0.0
    for s, random in simulations(Synthetic("paper"), policy, 0.5, 0, range(2), variant="paper"):
        rng = np.random.default_rng(random)
        whole = Descent(30, cell["eta"], clock="rows")  # the model at 0 labels, of the whole log
        whole.run(s.log.revealed_X, s.log.revealed_y, 1.0 / s.log.revealed_q0, rng.permutation(s.log.z.sum()))
        at_0 += np.mean(whole.judge(s.test_X, 0.0)[0] != s.test_y) / 2
        for k, n in enumerate(reached[1:]):
            bought, w = algorithm_1(method, s, n, C, cell["eta"], rng)
            plain[k] += np.array([bought, np.mean(np.where(s.test_X @ w >= 0.0, 1.0, -1.0) != s.test_y)]) / 2
    assert reached[:7] == [0, 10, 20, 40, 80, 160, 320] and points[0].labels == 0.0
    assert points[0].error == pytest.approx(at_0)
    assert [p.labels for p in points[1:]] == plain[:, 0].tolist()
    assert [p.error for p in points[1:]] == pytest.approx(plain[:, 1], abs=1e-3)
    share = points[6].labels / 320
    assert share == 1.0 if method == "Passive" else 0.05 < share < 0.95


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
