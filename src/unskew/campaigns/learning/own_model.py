"""A classifier of the user's own as a campaign's model: consent, versions, what its fits cost."""

import io
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from unskew.campaigns.consent import check_agreed
from unskew.campaigns.learning.recipes import build, consented, shown, versions
from unskew.data import LoggedData
from unskew.labels import positions
from unskew.models.bayes import BayesianLogistic
from unskew.models.classifiers import fit_weighted, seeded, watched
from unskew.models.committee import FOLDS, MEMBERS
from unskew.models.team import Team
from unskew.pools.scanning import Progress

FITS = 1 + MEMBERS + FOLDS
"""The number of copies that are fitted if there are new labels: the model, its committee, one without each fold."""


QUICK = 2.0
"""A fit that takes fewer seconds is timed again."""


class Cost(NamedTuple):
    """What new labels cost: the number of fits, and how many seconds they take with as many labels as the log has."""

    fits: int
    seconds: float

    def __str__(self) -> str:
        """In words.

        >>> print(Cost(16, 12.3))
        each ask with new labels fits 16 copies of it: about 12 s here, and longer with more labels
        """
        took = f"about {self.seconds:.0f} s" if self.seconds >= 1.0 else "less than a second"
        return f"each ask with new labels fits {self.fits} copies of it: {took} here, and longer with more labels"


class OwnModel:
    """The classifier that a recipe describes, imported only if the user has agreed to that recipe."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        check_agreed(consented(record), shown(record))
        self.name, self.estimator = str(record["class"]), build(record)
        self.versions = versions(record, self.estimator)
        self._then: dict[str, str] = record.get("versions", {})

    @property
    def changed(self) -> str:
        """Which packages are not those that the campaign began with, in a sentence; empty if all are."""
        other = [name for name, version in self.versions.items() if self._then.get(name, version) != version]
        here = ", ".join(f"{name} {self.versions[name]}" for name in other)
        then = ", ".join(f"{name} {self._then[name]}" for name in other)
        return f"The campaign began with {then}; here is {here}, so its model may differ." if other else ""

    def cost(self, log: LoggedData, rows: int) -> Cost | None:
        """What new labels cost, if a round looks at that number of rows: one fit to the log's labels is timed.

        It is not known while the log shows one class only, nor for a model that needs no committee.
        """
        y = log.revealed_y
        if isinstance(self.estimator, (Team, BayesianLogistic)) or len(np.unique(y)) < 2:
            return None
        values = log.classes[positions(y, log.K)]

        def timed() -> tuple[float, float]:
            begun = time.perf_counter()
            fitted = fit_weighted(seeded(self.estimator, 0), log.revealed_X, values, np.ones(len(y)))
            then = time.perf_counter()
            fitted.predict(log.X)
            return then - begun, time.perf_counter() - then

        with threadpool_limits(1), watching(None):
            fit, look = timed()
            if fit < QUICK:  # the first time, modules are loaded
                fit, look = timed()
        return Cost(FITS, FITS * fit + (1 + MEMBERS) * look * rows / log.m)


@contextmanager
def watching(progress: Progress | None) -> Iterator[None]:
    """While a model learns, each fitted copy is told. What it prints is not shown: the output is the command's."""
    done, out = 0, sys.stdout

    def one_more() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            with redirect_stdout(out):
                progress(min(done, FITS), FITS)

    token = watched.set(one_more)
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        watched.reset(token)
