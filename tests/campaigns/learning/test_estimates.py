"""What a campaign says its model's error is: right on average, whoever skips, recorded propensities or estimated."""

import shutil

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import binom

from campaign_folder import make, told
from unskew.campaigns import Campaign
from unskew.campaigns.user_cache import user_cache
from unskew.errors import InputError
from unskew.methods import Unskew
from unskew.methods import pool as pool_method
from unskew.models.laplace import leave_one_out

LOG, POOL = 150, 300


def everyone_of(seed):
    """Everyone with their labels, a log that hides most of one half of them, and a pool."""
    rng = np.random.default_rng([seed, 7])
    x = rng.normal(size=(LOG + POOL, 2))
    y = (x[:, 0] + 0.8 * rng.normal(size=LOG + POOL) > 0.0).astype(int)
    q0 = np.where(x[:, 1] > 0.0, 0.8, 0.15)
    seen = rng.random(LOG + POOL) < q0
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y, "q0": q0})
    hidden = pl.when(pl.Series(seen[:LOG])).then("y").alias("y")
    return frame, frame[:LOG].with_columns(hidden), frame[LOG:].select("a", "b")


@pytest.mark.parametrize("seeds", [12, pytest.param(40, marks=pytest.mark.slow)])
def test_estimates_are_right_on_average_with_three_in_ten_rows_skipped(tmp_path, seeds):
    """Over repeated campaigns the mean of estimate minus truth is 0, within three standard errors."""
    off, covered, skipped = [], 0, 0
    for seed in range(seeds):
        everyone, log, pool = everyone_of(seed)
        rng = np.random.default_rng([seed, 8])
        folder = tmp_path / f"campaign {seed}"
        with Campaign.create(
            folder, log=log, pool=pool, label="y", propensity="q0", budget=45, drawn=0.5, seed=seed,
        ) as campaign:  # fmt: skip
            while rows := campaign.ask(15, by="ann"):
                lost = rng.random(len(rows)) < 0.3  # at random: whatever the label
                said = [None if skip else everyone["y"][LOG + row.place] for row, skip in zip(rows, lost, strict=True)]
                campaign.tell({row.id: label for row, label in zip(rows, said, strict=True)}, by="ann")
            wrong = (
                campaign.model().predict(everyone.select("a", "b")).astype(str) != everyone["y"].cast(str).to_numpy()
            )
            found = campaign.error()
            assert campaign.status().spent == 45
            skipped += campaign.status().skipped
        off.append(found.value - wrong.mean())
        covered += found.low <= wrong.mean() <= found.high
    assert 0.25 < skipped / (45 * seeds + skipped) < 0.35
    mean, error = np.mean(off), np.std(off, ddof=1) / np.sqrt(seeds)
    assert abs(mean) < 3 * error, f"off by {mean:.4f}, standard error {error:.4f}"
    assert covered >= binom.ppf(0.01, seeds, 0.95)


def test_everyone_is_judged_without_the_own_label(campaign, monkeypatch):
    """By hand: the model's margins everywhere; where it knows the label, leave-one-out and out-of-bag margins."""
    rows = campaign.ask(12, by="ann")
    campaign.tell(told(rows), by="ann")
    method = campaign.method()
    log, places = method.log_, np.array([row.place for row in rows])
    everyone, model, X = method.everyone(), method.model_, np.asarray(method.pool_.X)
    y = np.zeros(log.m + len(X))
    y[: log.m] = log.y
    y[log.m + places] = [1.0 if label == "1" else -1.0 for label in told(rows).values()]
    np.testing.assert_array_equal(everyone.y, y)
    order = np.concatenate([np.flatnonzero(log.z), log.m + places])
    known = np.vstack([log.X, X])
    whole = model.decision_function(known)
    logistic, trees = model.members_
    F, v = logistic.expand(known[order]), method.weights(method.state_)
    mean, variance = leave_one_out(F, y[order], v, logistic.posterior_)
    newer = trees.log_odds(known[order][len(trees.out_of_bag) :])  # the trees were not fitted to these
    by_trees = np.concatenate([trees.out_of_bag, newer])
    whole[order] = model.weights_ @ [mean / np.sqrt(1.0 + np.pi / 8.0 * variance), by_trees]
    np.testing.assert_allclose(everyone.margin, whole, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr(pool_method, "JUDGE", len(X) // 2)
    some = method.everyone()
    held, asked = some.design.held, len(places)
    assert len(X) // 2 <= held <= len(X) // 2 + asked and some.design.n == len(X)
    np.testing.assert_array_equal(some.y, np.concatenate([y[: log.m], np.zeros(held - asked), y[log.m + places]]))
    np.testing.assert_allclose(some.margin[-asked:], whole[log.m + places], rtol=1e-9, atol=1e-12)
    assert np.isin(some.margin[log.m :].round(9), whole[log.m :].round(9)).all()
    assert expit(some.margin).mean() == pytest.approx(expit(whole).mean(), abs=0.05)


def test_what_breaks_the_estimate_is_not_taken_for_a_want_of_labels(folder, clock, monkeypatch):
    """A round closes without an error only where no label came at random; anything else is said, and it stays open."""
    with Campaign.open(folder, now=clock) as campaign:
        campaign.tell(told(campaign.ask(6, by="ann")), by="ann")
        with monkeypatch.context() as patch:
            patch.setattr(Unskew, "log_odds", lambda self, X: np.full(X.shape[0], np.nan))
            with pytest.raises(InputError, match="margin must be finite"):
                campaign.close_due()
        assert campaign.status().closed == 0
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.close_due() == 1
        assert campaign.history()[-1][0] == 6


def test_a_pools_own_propensities_are_used(tables, tmp_path):
    """They go into the weights of labels, and travel with the ledger; without them the log's are read off."""
    pool = pl.read_parquet(tables / "pool.parquet")
    own = pool.with_columns(pl.when(pl.col("x0") > 0).then(0.33).otherwise(0.44).alias("q0"))
    with (
        make(tables, tmp_path / "own", pool=own) as with_own,
        make(tables, tmp_path / "none", pool=pool) as without,
    ):
        for campaign in (with_own, without):
            rows = campaign.ask(8, by="ann")
            assert "q0" not in rows[0].values
            campaign.tell(told(rows), by="ann")
        places = [row.place for row in with_own.state.answered()]
        np.testing.assert_array_equal(with_own.method().rounds_[0].q0, own["q0"].to_numpy()[places])
        assert not np.isin(without.method().rounds_[0].q0, [0.33, 0.44]).any()
        assert with_own.state.answered()[0].planned.propensity in (0.33, 0.44)


def test_a_campaign_whose_log_has_no_propensities(tables, tmp_path):
    """They are estimated, once; the model is the same after the campaign is opened again, and without its cache."""
    pl.read_parquet(tables / "log.parquet").drop("q0").write_parquet(tmp_path / "log.parquet")
    folder = tmp_path / "campaign"
    with make(tables, folder, log=tmp_path / "log.parquet", propensity=None) as campaign:
        for _ in range(2):
            campaign.tell(told(campaign.ask(8, by="ann")), by="ann")
            campaign.close_due()
        assert all(found.q0_estimated for _, found in campaign.history())
        q0 = np.array(campaign.method().log_.q0)
        assert ((q0 > 0.0) & (q0 <= 1.0)).all()
        high = (campaign.log_frame["x0"] > 0).to_numpy()
        assert q0[high].mean() > 2 * q0[~high].mean(), "the log saw mostly x0 > 0"
        name, said, error = campaign.digest(), campaign.predict(campaign.pool_frame), campaign.error()
    for cached in (True, False):
        if not cached:
            shutil.rmtree(user_cache())
        with Campaign.open(folder) as again:
            assert again.digest() == name
            assert again.predict(again.pool_frame).equals(said)
            assert (again.method().log_.q0 == q0).all()
            assert again.error() == error
