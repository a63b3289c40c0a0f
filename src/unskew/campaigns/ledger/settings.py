"""What a campaign was created with. Settings never change."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, cast

from unskew.campaigns.ledger.events import Extended
from unskew.campaigns.options import check
from unskew.campaigns.start_options import START, Options
from unskew.estimation.aims import Aim
from unskew.estimation.costs import Costs
from unskew.kept import Kept

COSTS = ("cost_false_positive", "cost_false_negative")

LISTS = ("classes", "sources")

APART = ("options", "pool_parts")
"""Fields that are no values of the record under their own names."""

LONGEST = 1e9
"""In seconds, longer than any lease."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a campaign.

    Attributes
    ----------
    version : str
        The version of unskew that created the campaign.
    method : str
        The name of a method that works on a pool, or ``module:Class``.
    budget : int
        The number of labels that may be bought.
    drawn : float
        The share of the labels spent on rows drawn at random.
    cost_false_positive, cost_false_negative : float
        What a false alarm and a missed positive cost. Versions before 0.4.0 knew no costs: both are 1.
    recall : float or None
        The wanted recall, if there is one.
    lease_seconds : float
        For how long a row is kept for the person who asked for it.
    seed : int
        The seed of everything random.
    label, propensity, id : str or None
        Columns: the label and the propensity in the log, the ids in the pool.
    classes : tuple of str
        The classes, of two the negative one first.
    kinds : dict
        The columns that models learn from, and what each holds.
    given : dict
        What columns hold as whoever began the campaign said, with the order of ordinals. Versions before 0.8.0 could
        not be told.
    types : dict
        The columns of the pool that people see, and the type of each.
    log_rows, pool_rows : int
    log_labelled : int
        The number of rows of the log with a label. Versions before 0.7.0 did not record it.
    log_kept : int
        If the log was long, the number of its rows that were kept, drawn at random; 0 if all were.
    log_sha256, pool_sha256 : str
        Digests of the two files in the campaign's folder; if the pool stayed where it is, of the list of its files.
    levels : int
        The number of features of a column of categories, at most. Versions before 0.8.0 had 20.
    look : int
        Each round considers only this number of rows, drawn at random; 0 looks at all.
    model : dict
        A classifier of the user's own, as `learning.recipes` writes it; empty for the method's own model.
    policy : str or None
        The column of the log that names the policy of each row, if there are several.
    pool_labelled : int
        The number of rows of the pool that had a label before the campaign, and are never asked for.
    sources : tuple of str
        Where labels came from before the campaign, in words.
    options : dict
        Options of `start` that are recorded and have no field above (`campaigns.start_options`). What a ledger does
        not have, because it is older, is the default.
    pool_parts : tuple of Extended
        The rows that came to the pool later, which are counted in `pool_rows`. They are not kept with the settings:
        the ledger's events say them (`with_parts`).

    Examples
    --------
    >>> old = Settings.from_record({"method": "Unskew", "audit": 0.25, "classes": ["no", "yes"], "colour": "red"})
    >>> old.drawn, old.classes, old.budget
    (0.25, ('no', 'yes'), 0)
    >>> Settings.from_record(old.as_record()) == old
    True
    """

    version: str = ""
    method: str = "Unskew"
    budget: int = 0
    drawn: float = 0.1
    cost_false_positive: float = 1.0
    cost_false_negative: float = 1.0
    recall: float | None = None
    lease_seconds: float = 1800.0
    seed: int = 0
    label: str = ""
    propensity: str | None = None
    id: str | None = None
    classes: tuple[str, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    log_rows: int = 0
    log_labelled: int = 0
    log_kept: int = 0
    log_sha256: str = ""
    pool_rows: int = 0
    pool_sha256: str = ""
    levels: int = 20
    look: int = 0
    model: dict[str, Any] = field(default_factory=dict)
    policy: str | None = None
    pool_labelled: int = 0
    sources: tuple[str, ...] = ()
    options: Options = field(default_factory=lambda: recorded_options({}))
    pool_parts: tuple[Extended, ...] = ()

    @property
    def first_rows(self) -> int:
        """The number of rows that the pool had when the campaign began."""
        return self.pool_rows - sum(part.rows for part in self.pool_parts)

    def with_parts(self, parts: tuple[Extended, ...]) -> Self:
        """The settings of the same campaign, whose pool has got these rows since it began, and no others."""
        if parts == self.pool_parts:
            return self
        rows = self.first_rows + sum(part.rows for part in parts)
        wider = {name: kind for part in parts for name, kind in part.types.items()}
        return replace(self, pool_rows=rows, pool_parts=parts, types=self.types | wider)

    @property
    def kept(self) -> Kept | None:
        """What the whole log holds, if only some of its rows were kept."""
        return Kept(self.log_labelled, self.log_rows - self.log_labelled) if self.log_kept else None

    @property
    def aim(self) -> Aim:
        """What the model is for: few errors, low costs, or a wanted recall."""
        return Aim(Costs(self.cost_false_positive, self.cost_false_negative), self.recall)

    def decision(self, threshold: float | None) -> str | None:
        """Which rows are flagged, in one sentence; None if the likelier class is predicted.

        `threshold` is where the model decides, if that is known. It matters only if a recall is wanted.
        """
        return self.aim.decision(self.classes[1], threshold)

    def as_record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        record = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in APART}
        if self.pool_parts:
            record["pool_parts"] = [part.as_body() for part in self.pool_parts]
        columns = {name: dict(record[name]) for name in ("kinds", "given", "types")}
        return {**record, **{name: list(getattr(self, name)) for name in LISTS}, **columns, **self.options}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The settings that `as_record` wrote, in this version or another.

        Unknown keys are ignored and missing ones get their default. Version 0.1.0 wrote `drawn` as "audit". A value of
        another type is a `ValueError`: then the ledger is damaged.
        """
        names = [each.name for each in fields(cls) if each.name not in APART]
        known = {name: record[name] for name in names if name in record}
        if "drawn" not in known and "audit" in record:
            known["drawn"] = record["audit"]
        usual = cls()
        for name, value in known.items():
            if name not in ("recall", "model") and not _like(getattr(usual, name), value):
                raise ValueError(f"{name} cannot be {value!r:.40}")
        Aim(Costs(*(known.get(name, 1.0) for name in COSTS)), known.get("recall"))  # is it possible?
        if not _is_recipe(known.get("model", {})):
            raise ValueError(f"model cannot be {known['model']!r:.40}")
        known |= {name: tuple(known.get(name, ())) for name in LISTS}
        return cls(**known, options=recorded_options(record))


def recorded_options(given: Mapping[str, Any]) -> Options:
    """The recorded options without a field of their own in the settings: as given, or their defaults."""
    own = {each.name for each in fields(Settings)}
    kept = [option for option in START.values() if option.recorded and option.recorded not in own]
    values = {each.name: check(each, given.get(each.name, each.default), each.name) for each in kept}
    return cast(Options, values)


def _is_recipe(model: Any) -> bool:
    """Whether this is what `learning.recipes` writes, as far as one can see without importing anything; or nothing."""
    if not isinstance(model, dict) or not model:
        return model == {}
    named, parts = model.get("class"), (model.get("parameters"), model.get("versions"))
    whole = isinstance(named, str) and ":" in named and all(isinstance(part, dict) for part in parts)
    return whole and all(isinstance(version, str) for version in model["versions"].values())


def _like(usual: Any, value: Any) -> bool:
    """Whether a value is of the type that the default has."""
    if isinstance(usual, tuple):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if isinstance(usual, dict):
        return isinstance(value, dict) and all(isinstance(one, str) for one in (*value, *value.values()))
    if usual is None:
        return value is None or isinstance(value, str)
    if isinstance(usual, float):
        return isinstance(value, int | float) and 0.0 <= value <= LONGEST
    return type(value) is type(usual)
