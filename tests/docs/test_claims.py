"""What pages say of the code in numbers and names: if the code changes, the page has to say so."""

import pkgutil
import re

import pytest

from paths import ROOT
from unskew.campaigns import user_cache
from unskew.campaigns.audit import blind_spots, log_audit
from unskew.campaigns.learning import drivers, one_row, own_model
from unskew.campaigns.ledger import state
from unskew.campaigns.tables import encoding, log_files, pool_files, text_features
from unskew.estimation import agreement, population
from unskew.experiments.reproduce import Grid
from unskew.experiments.tasks import settings
from unskew.kept import NEARLY_ALL
from unskew.labels import MOST_CLASSES
from unskew.methods import looking, method_named, pool, prospect, rounds, stopping
from unskew.models import bayes, features, screen, stacking
from unskew.pools import scanning
from unskew.sampling import draws, propensity, within_policies
from unskew.web import connections, limits, planner, show, turns, uploads

GRID, LIMITS = Grid(), limits.Limits()
CELLS = len(GRID.datasets) * len(GRID.policies)
SETTINGS = CELLS * sum(len(settings(method_named(name), GRID.protocol.grid)) for name in GRID.methods)


def won(pair: str) -> str:
    """In how many cells of the reproduction one method beats the other."""
    table = (ROOT / "docs/tables/reproduction.md").read_text()
    found = re.search(rf"^\| {pair} \| (\d+) of 48 \|", table, re.M)
    assert found is not None
    return found.group(1)


CLAIMS = [  # the page, the words as they stand there, and what they must agree with
    ("README", "`IDBAL` beats `Passive` in {} of 48 cells", won("IDBAL / Passive")),
    ("README", "It beats `DBALwm` in {}, where the paper has 35", won("IDBAL / DBALwm")),
    ("method", "A column with 3 to {} different values", bayes.BayesianLogistic().few),
    ("method", "(`drawn={}`)", rounds.SHARE),
    ("method", "{:g} ((a_1 - 0.8)^2 + (a_2 - 0.2)^2)", stacking.PULL),
    ("method", "A pool of up to {:,} rows is studied in full", pool.LOOK_AT),
    ("method", "the directions that tell most about it, {} of them or more", screen.DIRECTIONS),
    ("method", "are the {:,} best by the look", looking.CANDIDATES * looking.FEW),
    ("method", "rows of more than {} columns", features.WIDE),
    ("performance", "runs {:,} tuning settings", SETTINGS),
    ("performance", "with {} repeats each", GRID.protocol.tune_repeats),
    ("performance", "and {} fresh repeats", GRID.protocol.repeats),
    ("performance", "If a pool has more than {:,} rows, the mean of the error", pool.JUDGE),
    ("reliability", "instead of {:g}.", planner.AFTER_TROUBLE),
    ("scaling", "One of up to {:,} rows is copied", pool_files.COPIED),
    ("scaling", "makes features of {:,} rows at a time", scanning.BLOCK),
    ("scaling", "{:,} rows with a label and 50,000 without one are kept", log_files.LABELLED),
    ("scaling", "estimated from at most {:,} rows", propensity.FITTED_ROWS),
    ("howto/audit", "If a log has more than {:,} rows, propensities and errors", log_audit.MOST_ROWS),
    ("howto/audit", "The tree behind the blind spots sees at most {:,} rows", blind_spots.MOST_ROWS),
    ("howto/base-model", "says how long {} fits take", own_model.FITS),
    ("howto/drivers", "and at most {:,} are judged", drivers.JUDGED),
    ("howto/drivers", "the values of {} other rows", one_row.OTHERS),
    ("howto/label-on-a-page", "Somebody who skips {} rows one after the other", state.SKIPS),
    ("howto/label-on-a-page", "It shows at most {:,} characters of a text", show.MOST),
    ("howto/label-on-a-page", "may have at most {:g} GiB", uploads.LARGEST / 2**30),
    ("howto/label-on-a-page", "It allows {:g} requests a second to each person", LIMITS.person_rate),
    ("howto/label-on-a-page", "A request has {:g} seconds for its headers", connections.HEADERS),
    ("howto/label-on-a-page", "for its headers and {:g} for the rest", LIMITS.seconds),
    ("howto/label-on-a-page", "waits for its turn for at most {:g} seconds", turns.QUEUE),
    ("howto/label-on-a-page", "more than a {} of half the interval's width", {0.25: "quarter"}[agreement.MATTERS]),
    ("howto/many-classes", "may have from 2 to {} classes", MOST_CLASSES),
    ("howto/population-error", "has a chance below {:g} % if both are right", 100 * population.DISAGREE),
    ("howto/population-error", "the log never counts for more than {}", {0.5: "half"}[population.LOG_AT_MOST]),
    ("howto/population-error", "A {} of the draw is even", {0.1: "tenth"}[draws.EVENLY]),
    ("howto/run-a-campaign", "more than chance explains (p < {})", population.DISAGREE),
    ("howto/run-a-campaign", "What was not used for {:g} days is removed", user_cache.UNUSED / 86_400),
    ("howto/several-logs", "Officers with fewer than {} labels", within_policies.LEAST_LABELS),
    ("howto/text-and-embeddings", "into at most {} numbers", text_features.DIMENSIONS),
    ("howto/text-and-embeddings", "A column with more than {} categories", encoding.MOST_CATEGORIES),
    ("howto/unknown-propensities", "at least {:g} % of its rows have a label", 100 * NEARLY_ALL),
    ("howto/when-to-stop", "the next {} labels are expected to gain less than a fiftieth", prospect.AHEAD),
    ("howto/when-to-stop", "Less than {:g} percentage points is never worth 50 labels", 100 * prospect.LEAST),
    ("howto/when-to-stop", "If the pool has more than {:,} rows", stopping.LOOK_AT),
]


def read(page: str) -> str:
    return (ROOT / ("README.md" if page == "README" else f"docs/{page}.md")).read_text()


@pytest.mark.parametrize(("page", "words", "value"), CLAIMS)
def test_numbers_are_those_of_the_code(page: str, words: str, value: object) -> None:
    said = words.format(value)
    assert said in " ".join(read(page).split()), f"{page} should say: {said}"


def test_the_path_of_a_row_names_what_exists() -> None:
    rooms = "campaigns|cli|estimation|experiments|methods|models|web"
    named = set(re.findall(rf"`((?:{rooms})\.[\w.]+)`", read("internals")))
    assert len(named) > 20
    for name in named:
        pkgutil.resolve_name(f"unskew.{name}")
