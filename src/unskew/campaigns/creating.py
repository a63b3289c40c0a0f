"""A new campaign from two tables: everything is checked first, then written. `campaign.json` is written last."""

import inspect
from collections.abc import Callable
from contextlib import ExitStack
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
from unskew.campaigns.ledger.settings import Settings, recorded_options
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.ledger.store import Ledger
from unskew.campaigns.start_options import Start
from unskew.campaigns.tables.encoding import MOST_LEVELS, schema_of
from unskew.campaigns.tables.files import feature_columns, kinds
from unskew.campaigns.tables.frames import put_frame
from unskew.campaigns.tables.pool_files import write_list
from unskew.campaigns.tables.sources import gather
from unskew.errors import InputError
from unskew.estimation.aims import Aim
from unskew.methods.registry import POOL_METHODS, REGISTRY, is_registered, method_named
from unskew.pools.hashes import with_hashes
from unskew.pools.scanning import Progress

PREDICTED = ("prediction", "probability")
"""The columns that `predict` writes after the id."""


def create(
    folder: Folder,
    options: Start,
    *,
    progress: Progress | None = None,
    costing: Callable[[Cost], None] | None = None,
) -> None:
    """Make the folder a campaign, or leave everything as it was. After a kill at any point, the same call works.

    `options` has a value for every option that `campaigns.start_options` describes.
    """
    folder.check_free()
    label, propensity, id, store = options["label"], options["propensity"], options["id"], options["store"]
    named = _checked_method(options["method"])
    agree(named)
    own = {} if options["model"] is None else _checked_model(named, options["model"])
    aim = Aim(options["costs"], options["recall"])
    classes = None if options["classes"] is None else list(options["classes"])
    if id in PREDICTED:
        raise InputError(f"ids may not be in a column {id!r}: predictions have one of that name. Rename it.")
    tables = gather(
        options["log"], options["pool"], label, propensity, id, policy=options["policy"], classes=classes,
        pool_labels=options["pool_labels"], same_ids=options["same_ids"], types=options["types"], progress=progress,
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
            write_list(folder.pool_files, with_hashes(files, progress) if options["hash"] else files)
        settings = Settings(
            version=unskew.__version__,
            method=named,
            budget=options["budget"],
            drawn=options["drawn"],
            cost_false_positive=float(aim.costs.false_positive),
            cost_false_negative=float(aim.costs.false_negative),
            recall=aim.recall,
            lease_seconds=options["lease"].total_seconds(),
            seed=options["seed"],
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
            look=options["look"],
            model=own,
            policy=read.policy,
            pool_labelled=tables.known,
            sources=tables.sources,
            options=recorded_options(options),
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
