"""Drive a method with an oracle that knows all labels, for simulations and notebooks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.data import LoggedData, propensities
from unskew.errors import InputError
from unskew.labels import codes
from unskew.methods.pool import PoolMethod
from unskew.methods.stream import StreamMethod
from unskew.pools import MemoryPool
from unskew.rows import Floats, Rows

Oracle = Callable[[NDArray[np.intp]], ArrayLike]
Signs = Callable[[NDArray[np.intp]], Floats]


def stream_rounds(method: StreamMethod, log: LoggedData, X: Rows, q0: Floats, oracle: Signs, n: int) -> Iterator[int]:
    """Run over the first n rows of a checked stream; yield the number of rows seen at the warm start and every round.

    The oracle takes positions in the stream and returns their labels as +1.0 and -1.0.
    """
    method.start_checked(log, n)
    seen = 0
    yield seen
    for size in method.batch_sizes():
        asked = method.ask_checked(X[seen : seen + size], q0[seen : seen + size])
        method.tell_checked(oracle(asked + seen))
        seen += size
        yield seen


def pool_rounds(method: PoolMethod, log: LoggedData, X: Rows, q0: Floats, oracle: Signs, budget: int) -> Iterator[int]:
    """Spend a budget on a checked pool in growing batches; yield the number of labels bought, 0 at the warm start."""
    method.start_checked(log, MemoryPool(X), q0)
    yield 0
    for k in pool_batches(min(budget, len(q0))):
        method.tell_checked(oracle(method.ask_checked(k).positions))
        yield method.labels_


def pool_batches(budget: int) -> Iterator[int]:
    """The sizes of the batches: 5 labels, then a third more each time, up to a twelfth of the budget.

    >>> list(pool_batches(60)), sum(pool_batches(731))
    ([5, 7, 10, 10, 10, 10, 8], 731)
    """
    left, size = budget, 5
    while left > 0:
        yield min(size, left)
        left, size = left - size, min(int(1.3 * size) + 1, max(10, budget // 12))


def run(
    method: StreamMethod,
    log: LoggedData,
    stream: tuple[Any, ArrayLike],
    oracle: Oracle | ArrayLike,
    *,
    budget: int | None = None,
) -> StreamMethod:
    """Run a method over a whole stream `(X, q0)` and return it, trained.

    `oracle` is a function from stream positions to labels, or an array with all the stream's labels, of which only
    those asked for are used. No further round begins once more than `budget` labels have been bought.

    >>> import numpy as np
    >>> from unskew import LoggedData, Passive
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2)); y = np.where(X[:, 0] > 0, 1, -1)
    >>> z = np.arange(100) % 2 == 0
    >>> log = LoggedData(X[:100], y[:100], z, 0.5)
    >>> method = run(Passive(random_state=0), log, (X[100:], 0.5), y[100:])
    >>> method.labels_, bool(method.model_.score(X, y) > 0.9)
    (200, True)
    """
    if not isinstance(method, StreamMethod):
        raise InputError(
            f"run drives a method over a stream; {type(method).__name__} works on a pool. "
            "Use start(log, pool), then ask(k) and tell(labels) in turn."
        )
    rows = log.rows_like(stream[0], name="the stream's rows")
    q0 = propensities(stream[1], rows.shape[0])
    if callable(oracle):
        ask = oracle
    else:
        known = np.asarray(oracle)
        if known.ndim != 1 or len(known) < len(q0):
            raise InputError(
                f"the oracle must have one label for each of the {len(q0)} stream rows; got shape {known.shape}. "
                "Pass all labels, or a function from positions to labels."
            )
        ask = known.__getitem__

    def answer(asked: NDArray[np.intp]) -> Floats:
        labels = np.asarray(ask(asked))
        if labels.shape != asked.shape:
            raise InputError(
                f"the oracle must return one label for each of the {len(asked)} rows; got shape {labels.shape}. "
                "Keep the order of the positions."
            )
        return codes(labels, log.classes)

    for _ in stream_rounds(method, log, rows, q0, answer, len(q0)):
        if budget is not None and method.labels_ > budget:
            break
    return method
