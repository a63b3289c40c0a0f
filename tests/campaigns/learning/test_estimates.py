"""What a campaign says its model's error is: right on average, whoever skips, recorded propensities or estimated."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from campaign_folder import make, told
from unskew.campaigns import Campaign
from unskew.campaigns.learning.estimate import judged
from unskew.methods.report import honest_margins
from unskew.rows import stack

SEEDS, LOG, POOL = 40, 150, 300


def write_everyone(folder, seed):
    """A log that hides most of one half of the population, and a pool; labels of all rows of both."""
    rng = np.random.default_rng([seed, 7])
    x = rng.normal(size=(LOG + POOL, 2))
    y = (x[:, 0] + 0.8 * rng.normal(size=LOG + POOL) > 0.0).astype(int)
    q0 = np.where(x[:, 1] > 0.0, 0.8, 0.15)
    seen = rng.random(LOG + POOL) < q0
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "q0": q0})
    hidden = pl.when(pl.Series(seen[:LOG])).then("y").alias("y")
    frame[:LOG].with_columns(hidden).write_parquet(folder / "log.parquet")
    frame[LOG:].select("a", "b").write_parquet(folder / "pool.parquet")
    return frame


def test_estimates_are_right_on_average_with_three_in_ten_rows_skipped(tmp_path):
    """Over repeated campaigns the mean of estimate minus truth is 0, within three standard errors."""
    off, covered, skipped = [], 0, 0
    for seed in range(SEEDS):
        everyone = write_everyone(tmp_path, seed)
        rng = np.random.default_rng([seed, 8])
        folder = tmp_path / f"campaign {seed}"
        with Campaign.create(
            folder, log=tmp_path / "log.parquet", pool=tmp_path / "pool.parquet", label="y", propensity="q0",
            budget=45, audit=0.5, seed=seed,
        ) as campaign:  # fmt: skip
            while rows := campaign.ask(15, "ann"):
                said = [str(everyone["y"][LOG + campaign.row(row.id).place]) for row in rows]
                lost = rng.random(len(rows)) < 0.3  # at random: whatever the label
                records = [
                    (k, row.id, None if skip else label)
                    for k, (row, label, skip) in enumerate(zip(rows, said, lost, strict=True))
                ]
                campaign.tell(records, "ann")
            wrong = (
                campaign.model().predict(everyone.select("a", "b")).astype(str) != everyone["y"].cast(str).to_numpy()
            )
            found = campaign.error()
            assert campaign.status().spent == 45
            skipped += campaign.status().skipped
        off.append(found.value - wrong.mean())
        covered += found.low <= wrong.mean() <= found.high
    assert 0.25 < skipped / (45 * SEEDS + skipped) < 0.35
    mean, error = np.mean(off), np.std(off, ddof=1) / np.sqrt(SEEDS)
    assert abs(mean) < 3 * error, f"off by {mean:.4f}, standard error {error:.4f}"
    assert covered >= 0.85 * SEEDS


def test_everyone_is_judged_as_if_in_one_piece(campaign, monkeypatch):
    """Labelled rows apart, the pool gives what all rows at once give; of a large pool some rows stand for all."""
    rows = campaign.ask(12, "ann")
    campaign.tell(told(rows), "ann")
    method, pool = campaign.method(), campaign._rounds.fitting.pool
    log, places = method.log_, np.array([campaign.row(row.id).place for row in rows])
    found = judged(method, pool)
    y = np.zeros(log.m + len(pool))
    y[: log.m] = log.y
    y[log.m + places] = [1.0 if label == "1" else -1.0 for _, _, label in told(rows)]
    np.testing.assert_array_equal(found.y, y)
    order = np.concatenate([np.flatnonzero(log.z), log.m + method.rounds_[0].positions])
    whole = honest_margins(method, stack([log.X, np.asarray(pool)]), y, order)
    np.testing.assert_allclose(found.margin, whole, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr("unskew.campaigns.learning.estimate.LOOK_AT", len(pool) // 2)
    some = judged(method, pool)
    np.testing.assert_array_equal(some.y, y)
    np.testing.assert_allclose(some.margin[order], whole[order], rtol=1e-9, atol=1e-12)
    seen = np.isclose(some.margin[log.m :], whole[log.m :], rtol=1e-9)
    assert len(pool) // 2 <= np.count_nonzero(seen) < len(pool)
    assert expit(some.margin).mean() == pytest.approx(expit(whole).mean(), abs=0.05)


def test_a_campaign_whose_log_has_no_propensities(tables, tmp_path):
    """They are estimated, once; the model is the same after the campaign is opened again, and without its cache."""
    pl.read_parquet(tables / "log.parquet").drop("q0").write_parquet(tmp_path / "log.parquet")
    folder = tmp_path / "campaign"
    with make(tables, folder, log=tmp_path / "log.parquet", propensity=None) as campaign:
        for _ in range(2):
            campaign.tell(told(campaign.ask(8, "ann")), "ann")
            campaign.close_due()
        assert all(found.q0_estimated for _, found in campaign.history())
        q0 = np.array(campaign.method().log_.q0)
        assert ((q0 > 0.0) & (q0 <= 1.0)).all()
        high = (campaign.log_frame["x0"] > 0).to_numpy()
        assert q0[high].mean() > 2 * q0[~high].mean(), "the log saw mostly x0 > 0"
        name, mode, error = campaign.digest(), campaign.method().model_.posterior_.mode, campaign.error()
    for cached in (True, False):
        if not cached:
            for file in (folder / "cache").iterdir():
                file.unlink()
        with Campaign.open(folder) as again:
            assert again.digest() == name
            assert (again.method().model_.posterior_.mode == mode).all()
            assert (again.method().log_.q0 == q0).all()
            assert again.error() == error
