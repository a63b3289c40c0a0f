"""What the tests of models share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Fits here are small: threads that wait for each other would take most of the time."""
    with threadpool_limits(1):
        yield
