"""Public names that have changed: the old ones keep working for one version, with a warning."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def former(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that knows old names: what each is now, as ``module:name``.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = former("old.place", {"Error": "unskew.errors:InputError"})("Error")
    >>> found.__name__, str(caught[0].message)
    ('InputError', 'old.place.Error is now unskew.errors.InputError. The old name goes with the next version.')
    """

    def named(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, now = names[name].split(":")
        instead = f"{place}.{now}"
        message = f"{module}.{name} is now {instead}. The old name goes with the next version."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(place), now)

    return named
