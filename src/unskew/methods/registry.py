"""Every method by name, in one place: commands, experiments, campaigns and contract tests read this table.

A method's module is imported only when the method is needed, so the command line can list names without delay.
"""

import hashlib
import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from unskew.errors import InputError, unknown

if TYPE_CHECKING:
    from unskew.methods.loop import Method


@dataclass(frozen=True)
class Listed:
    """The module of a method, and what it works on."""

    module: str
    works_on: str
    """``"stream"`` or ``"pool"``."""
    of_paper: bool = False
    """Whether it is one of the four methods that the paper compares."""
    in_experiments: bool = True
    """Whether it can be run by name alone; `ExactIDBAL` also needs a finite class of classifiers."""


REGISTRY: dict[str, Listed] = {
    "Passive": Listed("unskew.methods.streams.passive", "stream", of_paper=True),
    "DBALw": Listed("unskew.methods.streams.dbal", "stream", of_paper=True),
    "DBALwm": Listed("unskew.methods.streams.dbal", "stream", of_paper=True),
    "IDBAL": Listed("unskew.methods.streams.idbal", "stream", of_paper=True),
    "VCDBAL": Listed("unskew.methods.streams.vcdbal", "stream"),
    "Unskew": Listed("unskew.methods.pools.unskew", "pool"),
    "StreamedUnskew": Listed("unskew.methods.streams.unskew", "stream"),
    "RandomLabels": Listed("unskew.methods.pools.yardsticks", "pool"),
    "MarginSampling": Listed("unskew.methods.pools.yardsticks", "pool"),
    "WeightedMarginSampling": Listed("unskew.methods.pools.yardsticks", "pool"),
    "ExactIDBAL": Listed("unskew.methods.streams.exact", "stream", in_experiments=False),
}

PAPER_METHODS = tuple(name for name, entry in REGISTRY.items() if entry.of_paper)
EXPERIMENT_METHODS = tuple(name for name, entry in REGISTRY.items() if entry.in_experiments)
POOL_METHODS = tuple(name for name, entry in REGISTRY.items() if entry.works_on == "pool")


def method_named(name: str, among: tuple[str, ...] = EXPERIMENT_METHODS) -> "type[Method]":
    """The method class of that name, or a class of your own given as ``module:Class``.

    Parameters
    ----------
    name : str
        A name in this table, or ``module:Class`` with the module's folder on PYTHONPATH.
    among : tuple of str
        The names that are allowed here. The caller may have to check a class of your own further.

    Examples
    --------
    >>> method_named("IDBAL").__name__
    'IDBAL'
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in among:
            raise unknown("method", name, [*among, "module:Class"])
        module, attribute = REGISTRY[name].module, name
    source = import_named("method", name if colon else f"{module}:{attribute}")
    if not hasattr(source, attribute):
        methods = [one for one, value in vars(source).items() if isinstance(value, type) and hasattr(value, "works_on")]
        raise unknown(f"method in the module {module}", attribute, methods)
    found = getattr(source, attribute)
    if not isinstance(found, type) or getattr(found, "works_on", None) not in ("stream", "pool"):
        raise InputError(f"method {name!r} must be a subclass of StreamMethod or PoolMethod; got {found!r}. Name one.")
    if lacking := sorted(getattr(found, "__abstractmethods__", ())):
        raise InputError(f"method {name!r} must have {', '.join(lacking)}; it does not. Write what is missing.")
    taken = inspect.signature(found).parameters
    if "random_state" not in taken and not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        raise InputError(f"method {name!r} must take random_state=; it takes {', '.join(taken) or 'nothing'}. Add it.")
    return found


def import_named(kind: str, name: str) -> Any:
    """The module of ``module:name``, or why there is no such thing."""
    try:
        return import_module(name.partition(":")[0])
    except ModuleNotFoundError as error:
        raise InputError(f"{kind} {name!r} cannot be imported: {error}. Is its folder on PYTHONPATH?") from None
    except Exception as error:  # a module of the user's own may raise anything
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{kind} {name!r} cannot be imported: {told:.160}. Correct the module.") from None


def source_digest(kind: type) -> str:
    """A digest of the source of a class of your own; empty for the package's own, which have the version."""
    return "" if is_registered(kind) else hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()


def is_registered(kind: type) -> bool:
    """Whether a class is one of the package's own methods."""
    entry = REGISTRY.get(kind.__name__)
    return entry is not None and entry.module == kind.__module__
