"""Every method of the registry as a test case, and a few turns with any of them: what the contract suites share."""

import numpy as np
from scipy import sparse

from unskew import LoggedData
from unskew.methods.registry import PAPER_METHODS, POOL_METHODS, REGISTRY, method_named


def lines():
    """A finite class: thresholds on two of the features, either way round."""
    return [
        (lambda rows, j=j, t=t, s=s: s * (np.asarray(rows.toarray() if sparse.issparse(rows) else rows)[:, j] - t) > 0)
        for j in (0, 1)
        for t in (-0.5, 0.0, 0.5)
        for s in (1, -1)
    ]


def make(case, random_state=1):
    """A method of the registry, by name, or by name and variant."""
    name, _, variant = case.partition(" ")
    kind = method_named(name, tuple(REGISTRY))
    if name == "ExactIDBAL":
        return kind(lines(), gamma_0=0.05, random_state=random_state)
    return kind(**({"variant": variant} if variant else {}), random_state=random_state)


STREAMS = [
    case
    for name, entry in REGISTRY.items()
    if entry.works_on == "stream"
    for case in ([f"{name} released", f"{name} paper"] if name in PAPER_METHODS else [name])
]
EVERY = [*STREAMS, *POOL_METHODS]


def begin(case, s, random_state=1, log=None, X=None):
    method = make(case, random_state)
    log = s.log if log is None else log
    if method.works_on == "pool":
        return method.start(log, s.X if X is None else X, s.q0)
    return method.start(log, s.n)


def ask(method, s, turn, X=None):
    """The next rows of the scene that the method wants labels for, as positions in it."""
    if method.works_on == "pool":
        return np.asarray(method.ask(10))
    at = slice(15 * turn, 15 * turn + 15)
    return 15 * turn + method.ask((s.X if X is None else X)[at], s.q0[at])


def go(method, s, turns=3, y=None, first=0):
    """A few rounds; the method."""
    for turn in range(first, first + turns):
        asked = ask(method, s, turn)
        method.tell((s.y if y is None else y)[asked])
    return method


def says(method, s):
    """All that can be seen of a method."""
    return {
        "labels": method.labels_,
        "rounds": [batch.y.tolist() for batch in method.rounds_],
        "predictions": method.predict(s.test_X).tolist(),
        "pending": method.pending is None,
    }


def words_of(s):
    """The same scene with class values in words."""
    words = np.array(["no", "yes"], dtype=object)
    label = np.where(s.log.z, words[(s.log.y > 0).astype(int)], None)
    return LoggedData(s.log.X, label, s.log.z, s.log.q0), words[(s.y > 0).astype(int)]
