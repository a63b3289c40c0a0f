"""Driving a method over a stream whose labels an oracle knows: simulations and notebooks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.data import LoggedData
from unskew.methods.base import Method
from unskew.rows import Rows, as_rows

Oracle = Callable[[NDArray[np.intp]], ArrayLike]


def rounds(method: Method, log: LoggedData, X: Rows, q0: NDArray[np.float64], oracle: Oracle, n: int) -> Iterator[int]:
    """Run over the first n rows of a stream, yielding the rows seen: 0 after the warm start, then after each round.

    The oracle is given positions in the stream and answers with their labels.
    """
    method.start(log, n)
    seen = 0
    yield seen
    for size in method.batch_sizes():
        asked = method.ask(X[seen : seen + size], q0[seen : seen + size])
        method.tell(oracle(asked + seen))
        seen += size
        yield seen


def run(
    method: Method,
    log: LoggedData,
    stream: tuple[Any, ArrayLike],
    oracle: Oracle | ArrayLike,
    *,
    budget: int | None = None,
) -> Method:
    """Run a method over a whole stream `(X, q0)` and return it, trained.

    `oracle` is a function from stream positions to labels, or simply all the stream's labels: only
    those asked for are looked at. No further round begins once more than `budget` labels were bought.

    >>> import numpy as np
    >>> from unskew import LoggedData, Passive
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2)); y = np.where(X[:, 0] > 0, 1, -1)
    >>> z = np.arange(100) % 2 == 0
    >>> log = LoggedData(X[:100], y[:100], z, 0.5)
    >>> method = run(Passive(random_state=0), log, (X[100:], 0.5), y[100:])
    >>> method.labels_, bool(method.model_.score(X, y) > 0.9)
    (200, True)
    """
    rows = as_rows(stream[0])
    n = rows.shape[0]
    q0 = np.broadcast_to(np.asarray(stream[1], dtype=np.float64), (n,))
    if callable(oracle):
        answer: Oracle = oracle
    else:
        labels = np.asarray(oracle)
        answer = labels.__getitem__
    for _ in rounds(method, log, rows, q0, answer, n):
        if budget is not None and method.labels_ > budget:
            break
    return method
