"""Pools of more rows than a round can study: every row gets a look, wherever it is, and the answer is the same."""

import joblib
import numpy as np
import polars as pl
import pytest

from unskew import LoggedData, Unskew
from unskew.errors import InputError
from unskew.methods import MarginSampling
from unskew.methods import pool as pool_module

N = 6000


@pytest.fixture(autouse=True)
def _large(monkeypatch):
    """A pool counts as large from 1,000 rows on."""
    monkeypatch.setattr(pool_module, "LOOK_AT", 1000)
    monkeypatch.setattr(pool_module, "JUDGE", 1000)


def world(seed=0, rows=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows + 400, 3))
    y = (X[:, 0] * X[:, 1] > 0.0) ^ (rng.random(rows + 400) < 0.05)
    q0 = np.where(X[:, 0] > 0.0, 0.8, 0.05)
    log = LoggedData(X[:400], y[:400].astype(int), rng.random(400) < q0[:400], q0[:400])
    return log, X[400:], y[400:].astype(int)


def campaign(method, y, rounds=3):
    asked = []
    for _ in range(rounds):
        rows = method.ask(10)
        asked.append((rows.positions.tolist(), rows.probability.tolist(), method.pending.spread))
        method.tell(y[rows.positions])
    return asked


def test_every_row_gets_a_look():
    """What is chosen is nearly what a study of all rows would choose, and far better than what a sample holds."""
    log, X, y = world()
    shares = []
    for seed in range(3):
        method = Unskew(drawn=0.5, random_state=seed).start(log, X)
        campaign(method, y)
        chosen = method.ask(20).positions[:10]
        belief, M = method.belief(X), method.screen(method.pool_.some(1000).X).stake
        U = belief.root(np.arange(N)).T
        from unskew.models.belief import settled

        value = settled(belief.mu, U, M)
        shares.append(value[chosen[0]] / value.max())
    assert min(shares) > 0.97


def test_the_same_for_one_thread_two_threads_and_two_processes():
    log, X, y = world()
    found = []
    for config in ({"n_jobs": 1}, {"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 2}):
        with joblib.parallel_config(**config):
            found.append(campaign(Unskew(random_state=0).start(log, X), y, rounds=2))
    assert found[0] == found[1] == found[2]


def test_a_share_is_drawn_with_chances_that_make_the_estimate_right():
    """Over many campaigns, the estimated error is right on average, and its interval holds."""
    held, misses = 0, []
    for seed in range(40):
        log, X, y = world(seed)
        method = Unskew(random_state=seed).start(log, X)
        campaign(method, y, rounds=3)
        found, truth = method.error(), np.mean(method.predict(X) != y)
        held += found.low <= truth <= found.high
        misses.append(found.value - truth)
    assert held >= 35
    assert abs(np.mean(misses)) < 3.0 * np.std(misses) / np.sqrt(len(misses))


def test_who_wants_rows_by_another_rule_or_a_look_at_some_considers_a_sample():
    log, X, y = world()
    for method in (Unskew(look=500, random_state=0), MarginSampling(drawn=0.5, random_state=0)):
        method.start(log, X)
        assert method._screened(N) is None
        first = method.ask(10)
        assert len(set(first.positions.tolist())) == 10 and method.pending.rest == N - 5
        method.tell(y[first.positions])
        assert 0.0 < method.error().value < 1.0


def test_rows_are_never_asked_for_twice():
    log, X, y = world(rows=1500)
    method = Unskew(random_state=0).start(log, X)
    seen = [place for rows, *_ in campaign(method, y, rounds=8) for place in rows]
    assert len(set(seen)) == 80


@pytest.fixture(scope="module")
def frames():
    log, X, y = world(3)
    names = ["a", "b", "c"]
    table = pl.DataFrame(log.X, schema=names).with_columns(
        y=pl.Series([int(v > 0) if z else None for v, z in zip(log.y, log.z, strict=True)]), q0=pl.Series(log.q0)
    )
    ids = [f"case-{k}" for k in np.random.default_rng(1).permutation(N)]
    return table, pl.DataFrame(X, schema=names).with_columns(id=pl.Series(ids)), dict(zip(ids, y.tolist(), strict=True))


def in_files(frames, folder, id="id"):
    """A campaign on a folder of files: the ids asked for, their chances, and the model's probabilities."""
    log, pool, label = frames
    method = Unskew(random_state=0).start(log, folder, label="y", propensity="q0", id=id)
    found = []
    for _ in range(3):
        rows = method.ask(10)
        ids = method.pool_.frame(rows.positions)["id"].to_list()
        found.append((ids, rows.probability.tolist()))
        method.tell([label[one] for one in ids])
    return found, method.model_.predict_proba(pool.sort("id").select("a", "b", "c").to_numpy()), method.error()


def test_files_renamed_reordered_and_cut_otherwise_give_the_same_rows_and_model(frames, tmp_path):
    _, pool, _ = frames
    cuts = {"one": [N], "many": [500] * 12, "odd": [1, 3999, 2000]}
    found = []
    for name, sizes in cuts.items():
        folder = tmp_path / name
        folder.mkdir()
        rows = pool if name == "one" else pool.sample(fraction=1.0, shuffle=True, seed=len(sizes))
        start = 0
        for k, size in enumerate(sizes):
            part = rows[start : start + size]
            part.write_parquet(folder / f"{(7 * k) % 13}-{k}.parquet", row_group_size=313 if name == "many" else 5000)
            start += size
        found.append(in_files(frames, folder))
    for other in found[1:]:
        assert other[0] == found[0][0]
        np.testing.assert_array_equal(other[1], found[0][1])
        assert other[2] == found[0][2]


def test_a_pool_in_files_needs_names_and_takes_no_array_of_propensities(frames, tmp_path):
    table, pool, _ = frames
    pool.write_parquet(tmp_path / "pool.parquet")
    log, _, _ = world()
    with pytest.raises(InputError, match="names of its features"):
        Unskew().start(log, tmp_path)
    with pytest.raises(InputError, match="an array q0"):
        Unskew().start(table, str(tmp_path), np.ones(N), label="y", propensity="q0")
    method = Unskew(random_state=0).start(table, tmp_path / "*.parquet", label="y", propensity="q0")
    method.tell([1 if k % 2 else 0 for k in range(len(method.ask(10)))])
    with pytest.raises(InputError, match="has no array of all its 6,000 rows"):
        method.error(where=np.ones(N, dtype=bool))
