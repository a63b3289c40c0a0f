"""A new campaign from two tables: everything is checked first, then written. `campaign.json` is written last."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from numbers import Integral
from typing import Any
from uuid import uuid4

import polars as pl

import unskew
from unskew.campaigns.consent import agree, agree_to_reach
from unskew.campaigns.folder import Folder, digest
from unskew.campaigns.learning.fitting import Fitting
from unskew.campaigns.learning.own_model import Cost
from unskew.campaigns.learning.recipes import consented, recorded
from unskew.campaigns.ledger.chain import Head
from unskew.campaigns.ledger.engines import holds_password, place, server
from unskew.campaigns.ledger.events import Started
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.ledger.store import Ledger
from unskew.campaigns.tables.encoding import MOST_LEVELS, schema_of
from unskew.campaigns.tables.files import feature_columns, kinds
from unskew.campaigns.tables.frames import put_frame
from unskew.campaigns.tables.pool_files import write_list
from unskew.campaigns.tables.sources import gather
from unskew.errors import InputError
from unskew.estimation.aims import Aim
from unskew.methods.registry import POOL_METHODS, REGISTRY, is_registered, method_named
from unskew.methods.rounds import checked_look, checked_share
from unskew.pools.hashes import with_hashes
from unskew.pools.scanning import Progress

LONGEST_LEASE = timedelta(days=365)

PREDICTED = ("prediction", "probability")
"""The columns that `predict` writes after the id."""


def create(
    folder: Folder,
    *,
    log: Any,
    pool: Any,
    label: str,
    propensity: str | None,
    id: str | None,
    budget: int,
    method: str,
    model: Any,
    drawn: float,
    aim: Aim,
    store: str | None,
    classes: list[str] | None,
    lease: timedelta,
    seed: int,
    look: int,
    hash: bool = False,
    types: Mapping[str, str] | None = None,
    policy: str | None = None,
    pool_labels: str = "known",
    same_ids: str = "refuse",
    progress: Progress | None = None,
    costing: Callable[[Cost], None] | None = None,
) -> None:
    """Make the folder a campaign, or leave everything as it was. After a kill at any point, the same call works."""
    folder.check_free()
    named = _checked_method(method)
    agree(named)
    own = {} if model is None else _checked_model(named, model)
    budget, seed = _whole("budget", budget, "500"), _whole("seed", seed, "0")
    if budget < 1:
        raise InputError(f"budget must be at least 1 label; got {budget}. Set it to the number you can pay for.")
    checked_share(drawn)
    if not timedelta(seconds=1) <= lease <= LONGEST_LEASE:
        raise InputError(f"lease must be from a second to a year; got {lease}. A good first value is half an hour.")
    look = checked_look(_whole("look", look, "50000"))
    if seed < 0:
        raise InputError(f"seed must be at least 0; got {seed}. Choose another.")
    if id in PREDICTED:
        raise InputError(f"ids may not be in a column {id!r}: predictions have one of that name. Rename it.")
    tables = gather(
        log, pool, label, propensity, id, policy=policy, classes=classes, pool_labels=pool_labels, same_ids=same_ids,
        types=types, progress=progress,
    )  # fmt: skip
    read, files, pool_frame = tables.log, tables.files, tables.pool
    log_frame = read.described
    features = feature_columns(log_frame, label, propensity, id, read.types)
    holds = kinds(log_frame, read.types)
    with ExitStack() as opened:
        ledger = None if store is None else opened.enter_context(Ledger(server(store)))  # first: is it there at all?
        opened.enter_context(folder.making())
        put_frame(folder.log, read.frame)
        if files is None:
            put_frame(folder.pool, pool_frame)
        else:
            write_list(folder.pool_files, with_hashes(files, progress) if hash else files)
        settings = Settings(
            version=unskew.__version__,
            method=named,
            budget=budget,
            drawn=drawn,
            cost_false_positive=float(aim.costs.false_positive),
            cost_false_negative=float(aim.costs.false_negative),
            recall=aim.recall,
            lease_seconds=lease.total_seconds(),
            seed=seed,
            label=label,
            propensity=propensity,
            id=id,
            classes=tuple(read.classes),
            kinds={name: holds[name] for name in features if log_frame[name].n_unique() > 1},
            given=read.types,
            types=_shown_types(pool_frame, label, propensity),
            log_rows=read.rows,
            log_kept=0 if read.kept is None else log_frame.height,
            log_labelled=sum(read.labels.values()),
            log_sha256=digest(folder.log),
            pool_rows=pool_frame.height if files is None else sum(file.rows for file in files),
            pool_sha256=digest(folder.pool if files is None else folder.pool_files),
            levels=MOST_LEVELS,
            look=look,
            model=own,
            policy=read.policy,
            pool_labelled=tables.known,
            sources=tables.sources,
        )
        fitting = Fitting(folder, settings, progress)
        if costing is not None and (cost := fitting.cost()) is not None:
            costing(cost)  # before it is paid
        fitting.method([])  # now, so that the first ask need not wait, and what cannot be fitted is refused here
        first = Started(*fitting.estimates(Snapshot([], [], [])))
        campaign = str(uuid4())
        ledger = ledger or opened.enter_context(Ledger(folder.ledger))
        ledger.create(campaign, settings)
        with ledger.writing(campaign) as write:
            begun = write.append(first)
        Head(folder.head).write(begun)
        if store is not None:
            agree_to_reach([place(store)], campaign)
        folder.finish(campaign, store, private=store is not None and holds_password(store))


def _whole(name: str, value: Any, example: str) -> int:
    """A whole number as Python's own, which the ledger can keep."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} must be a whole number; got {value!r}. Pass one, such as {example}.")
    return int(value)


def _checked_method(method: Any) -> str:
    """The name of a method that works on a pool, written as in the registry, or ``module:Class``."""
    if not isinstance(method, str):
        if isinstance(method, type):
            own = is_registered(method)
            name = method.__name__ if own else f"{method.__module__}:{method.__qualname__}"
            raise InputError(f"method must be a name; got the class {method.__name__}. Pass {name!r}.")
        raise InputError(
            f"method must be a name; got {type(method).__name__}. Pass {POOL_METHODS[0]!r} or module:Class."
        )
    name = {known.lower(): known for known in REGISTRY}.get(method.lower(), method)
    works_on = REGISTRY[name].works_on if name in REGISTRY else method_named(name, POOL_METHODS).works_on
    if works_on != "pool":
        raise InputError(
            f"method {name!r} works on a stream, and a campaign needs one that works on a pool. "
            f"Name one of {', '.join(POOL_METHODS)}, or your own as module:Class."
        )
    return name


def _checked_model(method: str, model: Any) -> dict[str, Any]:
    """What the ledger keeps of a classifier of the user's own, to which the user has agreed by naming it."""
    if "model" not in inspect.signature(method_named(method, POOL_METHODS)).parameters:
        raise InputError(f"method {method!r} takes no model=, so it learns with its own. Leave one of them out.")
    found = recorded(model)
    agree(consented(found))
    return found


def _shown_types(pool: pl.DataFrame, label: str, propensity: str | None) -> dict[str, str]:
    """The pool's columns that people see and models learn from, with their types."""
    return {name: kind for name, kind in schema_of(pool).items() if name not in (label, propensity)}
