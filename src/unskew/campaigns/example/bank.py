"""The simulated bank whose files are in this folder; `python -m unskew.campaigns.example.bank` makes them again.

No person or bank is behind them: every number is drawn here. The officer lends mostly to well paid permanent staff,
nearly all of whom repay, whatever they owe. Among all others, debt decides who repays. The log shows almost only
people of the first kind, so a model of it calls nearly everyone safe.
"""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

LOG_ROWS, POOL_ROWS = 1500, 2500
EMPLOYMENT = ("permanent", "temporary", "self-employed", "none")
REGIONS = ("north", "east", "south", "west")
PURPOSES = ("car", "home", "business", "other")
LEAST, MOST = 0.02, 0.95
"""The smallest and largest chance that the officer lends: nobody is excluded, and nobody is certain."""


def applicants(rows: int, seed: int = 5) -> pl.DataFrame:
    """Applicants in order of arrival, with the chance that the officer lends, and whether they would repay.

    >>> frame = applicants(1000)
    >>> frame["repaid"].unique().sort().to_list(), frame["granted_with"].max()
    (['no', 'yes'], 0.95)
    """
    rng = np.random.default_rng(seed)
    age = (19 + 50 * rng.beta(1.6, 2.4, rows)).astype(int)
    employment = rng.choice(EMPLOYMENT, rows, p=(0.45, 0.25, 0.2, 0.1))
    permanent = employment == "permanent"
    income = np.round(14 + 12 * permanent + 0.2 * (age - 19) + rng.gamma(2.0, 7.0, rows), 1)
    debt = np.round(100 * rng.beta(1.2, 1.2, rows), 1)
    homeowner = rng.random(rows) < expit(0.05 * (age - 40) + 0.04 * (income - 38))
    since = date(2010, 1, 1)
    customer_since = [since + timedelta(days=int(days)) for days in 5400 * rng.beta(1.5, 1.0, rows)]
    region = rng.choice(REGIONS, rows, p=(0.3, 0.3, 0.25, 0.15))
    purpose = rng.choice(PURPOSES, rows, p=(0.35, 0.25, 0.15, 0.25))

    liked = expit(1.1 * (permanent * 9.0 - 6.0 + (income - 38) / 5.0))
    granted_with = np.clip(np.round(liked, 3), LEAST, MOST)
    burden = debt / 50 - 1
    safe = 1.6 + 0.3 * homeowner
    strained = 0.3 - 4.0 * burden + (income - 32) / 12 - 0.7 * (purpose == "business") + 0.4 * homeowner
    odds = liked * safe + (1 - liked) * strained
    repaid = rng.random(rows) < expit(1.7 * odds)

    frame = pl.DataFrame(
        {
            "application": [f"A{number:05d}" for number in range(1, rows + 1)],
            "age": age,
            "income": income,
            "debt_percent": debt,
            "employment": employment,
            "homeowner": homeowner,
            "region": region,
            "purpose": purpose,
            "customer_since": customer_since,
            "granted_with": granted_with,
            "repaid": np.where(repaid, "yes", "no"),
        }
    )
    new_customer, unsaid = rng.random(rows) < 0.2, rng.random(rows) < 0.05
    return frame.with_columns(
        pl.when(pl.Series(~new_customer)).then("customer_since"), pl.when(pl.Series(~unsaid)).then("region")
    )


def write(folder: Path) -> None:
    """Write the log (outcomes of granted loans only), the pool (no outcomes), and the truth about both."""
    rows = applicants(LOG_ROWS + POOL_ROWS)
    granted = np.random.default_rng(6).random(LOG_ROWS) < rows["granted_with"][:LOG_ROWS].to_numpy()
    log = rows[:LOG_ROWS].with_columns(repaid=pl.when(pl.Series(granted)).then("repaid"))
    log.write_csv(folder / "log.csv")
    rows[LOG_ROWS:].drop("granted_with", "repaid").write_csv(folder / "pool.csv")
    rows.select("application", "repaid").write_csv(folder / "truth.csv")


if __name__ == "__main__":
    write(Path(__file__).parent)
