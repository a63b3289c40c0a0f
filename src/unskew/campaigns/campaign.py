"""A campaign: rows asked for, handed out, answered, and learnt from, by many people at once."""

import fcntl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

import polars as pl
from sklearn.pipeline import Pipeline

from unskew.campaigns.access import checked_name, checked_role, holder, new_token, token_hash
from unskew.campaigns.creating import create
from unskew.campaigns.estimate import population_error_of
from unskew.campaigns.fitting import Fitting, Plan
from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger import Ledger, Writer, utc_now
from unskew.campaigns.state import Asked, Row, State
from unskew.campaigns.status import Status, status_of
from unskew.campaigns.telling import Record, Told, judge
from unskew.errors import InputError
from unskew.estimates import PopulationEstimate
from unskew.methods.base import Method


class Campaign:
    """A log, a pool, a budget, and a ledger of who was asked what and said what.

    Make one with `create`, come back to it with `open`. Several threads may share one object, and several processes
    or machines one ledger. Close it when done, or use it in a `with` statement.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> x = rng.normal(size=300)
    >>> frame = pl.DataFrame({"x": x, "paid": (x > 0).astype(int), "q0": np.full(300, 0.5)})
    >>> seen = pl.Series(rng.random(300) < 0.5)
    >>> frame.with_columns(pl.when(seen).then("paid").alias("paid")).write_parquet(folder / "log.parquet")
    >>> pl.DataFrame({"x": rng.normal(size=1000)}).write_parquet(folder / "pool.parquet")
    >>> campaign = Campaign.create(
    ...     folder / "loans", log=folder / "log.parquet", pool=folder / "pool.parquet", label="paid", propensity="q0",
    ...     budget=50,
    ... )
    >>> rows = campaign.ask(20, "ann")
    >>> campaign.tell([(k, row.id, "1" if row.values["x"] > 0 else "0") for k, row in enumerate(rows, 1)], "ann")
    Told(answered=20, skipped=0, corrected=0, repeated=0)
    >>> campaign.status().spent
    20
    >>> campaign.close()
    """

    def __init__(self, folder: Folder, ledger: Ledger, campaign: str, settings: dict[str, Any]) -> None:
        self.folder, self.ledger, self.id, self.settings = folder, ledger, campaign, settings
        self.lease = timedelta(seconds=settings["lease_seconds"])
        self._fitting = Fitting(folder, settings)
        self._state = State(settings["budget"])
        self._lock = threading.RLock()

    @classmethod
    def create(
        cls,
        dir: Path | str,
        *,
        log: Path | str,
        pool: Path | str,
        label: str,
        propensity: str | None = None,
        id: str | None = None,
        budget: int = 500,
        method: str = "Unskew",
        audit: float = 0.1,
        store: str | None = None,
        classes: Sequence[str] | None = None,
        lease: timedelta = timedelta(minutes=30),
        seed: int = 0,
        now: Callable[[], datetime] = utc_now,
    ) -> Self:
        """Begin a campaign in a new folder, from a log and a pool in files.

        Parameters
        ----------
        dir : path
            A folder that holds no campaign yet.
        log, pool : path
            CSV or Parquet, as `files.read_table` takes them.
        label, propensity, id : str
            Columns of the log. Propensities that were not recorded are estimated. Ids come from the pool.
        budget : int
            Labels that may be bought.
        method : str
            A method that picks from a pool; `Unskew` is the one to use.
        audit : float
            Share of the labels spent on rows drawn at random, on which error estimates rest.
        store : str, optional
            ``postgresql://user@host/database``; a password can come from ~/.pgpass. A file in `dir` if left out.
        classes : pair of str, optional
            (negative, positive), where the log shows only one or in another order.
        lease : timedelta
            For how long a row is kept for whoever asked.
        seed : int
            Of everything drawn at random.
        now : callable
            The clock.
        """
        create(
            Folder(dir), log=log, pool=pool, label=label, propensity=propensity, id=id, budget=budget, method=method,
            audit=audit, store=store, classes=None if classes is None else list(classes), lease=lease, seed=seed,
        )  # fmt: skip
        return cls.open(dir, now=now)

    @classmethod
    def open(cls, dir: Path | str, *, now: Callable[[], datetime] = utc_now) -> Self:
        """Come back to a campaign."""
        folder = Folder(dir)
        said = folder.identify()
        if said["store"] is None and not folder.ledger.exists():
            raise InputError(f"{folder.ledger} is missing. Copy it from where the campaign was made.")
        ledger = Ledger(folder.url(said["store"]), now=now)
        try:
            return cls(folder, ledger, said["campaign"], ledger.settings(said["campaign"]))
        except BaseException:
            ledger.close()
            raise

    def close(self) -> None:
        """Give the ledger's connections back."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state(self) -> State:
        """What the ledger says now."""
        return self.refresh()

    def refresh(self) -> State:
        """Apply what others wrote since."""
        with self._lock:
            return self._state.replay(self.ledger.events(self.id, self._state.last))

    @property
    def log_frame(self) -> pl.DataFrame:
        """The log as read."""
        return self._fitting.log_frame

    @property
    def pool_frame(self) -> pl.DataFrame:
        """The pool as read."""
        return self._fitting.pool_frame

    def row(self, id: str) -> Row:
        """A row that was asked for."""
        found = self.refresh().rows.get(id)
        if found is None:
            raise InputError(f"row {id!r} was never asked for. Check the id.")
        return found

    # Asking

    def ask(self, n: int, actor: str) -> list[Asked]:
        """Rows for `actor` to answer: n, or fewer where the budget or the pool ends.

        First come the rows she still holds, then those nobody holds any more, then a new round is planned.
        """
        given, missing = self._hand_out(n, actor)
        while missing:
            with self._planning():
                given, missing = self._hand_out(n, actor)  # somebody may have planned while we waited
                if missing:
                    plan, number = self._draft(missing)
                    with self._writing() as write:
                        self._record(write, plan, number)
                        given, missing = self._give(write, n, actor)
        return given

    def hand_out(self, n: int, actor: str) -> list[Asked]:
        """As `ask`, of rows that are planned already: quick, and perhaps none."""
        return self._hand_out(n, actor)[0]

    def plan(self, k: int) -> bool:
        """Plan a round of k rows, or as many as the budget and the pool still allow; False if that is none."""
        with self._planning():
            missing = min(k, self._room())
            if missing < 1:
                return False
            plan, number = self._draft(missing)
            with self._writing() as write:
                return self._record(write, plan, number)

    def close_due(self) -> int:
        """Close every round whose rows are all answered, skipped or out of time; how many there were."""
        with self._lock:
            due = self.refresh().due(self.ledger.now())
        if not due:
            return 0
        try:
            labels, found = self._estimate("error")
            said = {"labels": labels, "error": asdict(found)}
        except InputError:  # no label came at random yet
            said = {"labels": self._state.spent, "error": None}
        with self._writing() as write:
            closing = [batch.number for batch in due if self._state.batches[batch.number - 1].closed is None]
            write.append_all([("closed", "", {"round": number, **said}) for number in closing])
        return len(closing)

    def _hand_out(self, n: int, actor: str) -> tuple[list[Asked], int]:
        if n < 1:
            raise InputError(f"n must be at least 1 row; got {n}. Ask for some.")
        with self._writing() as write:
            return self._give(write, n, checked_name(actor))

    def _give(self, write: Writer, n: int, actor: str) -> tuple[list[Asked], int]:
        """Lease up to n rows; what they are, and how many should be planned for the rest."""
        state, now = self._state, self.ledger.now()
        given = state.available(actor, now)[:n]
        stale = [row.id for row in given if row.holder != actor or not _fresh(row, now, self.lease)]
        if stale:
            write.append("leased", actor, {"ids": stale, "until": (now + self.lease).isoformat()})
            self._catch_up(write)
        return [Asked.of(row) for row in given], min(n - len(given), self._room())

    def _room(self) -> int:
        """Rows that budget and pool still have room for."""
        state = self._state
        return min(state.left, int(self.settings["pool_rows"]) - len(state.rows))

    def _draft(self, k: int) -> tuple[Plan, int]:
        """A round of k rows, picked outside of any transaction, and its number."""
        with self._lock:
            state = self.refresh()
            answered = [copy(row) for row in state.answered()]
            asked = [row.place for row in state.rows.values()]
            number = len(state.batches) + 1
        return self._fitting.plan(answered, asked, number, k), number

    def _record(self, write: Writer, plan: Plan, number: int) -> bool:
        """Write the round down, unless somebody else planned one meanwhile: then theirs counts."""
        if len(self._state.batches) + 1 != number or len(plan.rows) > self._room():
            return False
        write.append("planned", "", {"round": number, "rows": plan.rows, "rest": plan.rest, "model": plan.model})
        self._catch_up(write)
        return True

    # Answering

    def tell(self, records: Sequence[Record], actor: str, *, force_correct: bool = False) -> Told:
        """Take in answers (line, id, label), the label None for a skip; all of them or, with `Rejected`, none.

        An answer that is known already is passed over. One that differs from what was said before is a problem, or
        with `force_correct` a correction.
        """
        checked_name(actor)
        with self._writing() as write:
            drafts, told = judge(
                self._state,
                records,
                self.settings["classes"],
                in_pool=self._fitting.in_pool,
                force_correct=force_correct,
            )
            write.append_all([(kind, actor, body) for kind, body in drafts])
        return told

    def answer(self, id: str, label: str, actor: str) -> Told:
        """One answer."""
        return self.tell([(1, id, label)], actor)

    def skip(self, id: str, actor: str) -> Told:
        """A row that `actor` cannot or will not answer; its place in the budget is free again."""
        return self.tell([(1, id, None)], actor)

    def undo(self, actor: str) -> Asked | None:
        """Take back the last answer or skip of `actor`, who holds the row again; None if there is none."""
        checked_name(actor)
        with self._writing() as write:
            state = self._state
            done = state.done.get(actor)
            if not done:
                return None
            row = state.rows[done[-1]]
            if row.status == "skipped" and state.left < 1:
                raise InputError(
                    f"row {row.id!r} was skipped and its place in the budget is taken. Go on with the next."
                )
            until = (self.ledger.now() + self.lease).isoformat()
            write.append("undone", actor, {"id": row.id, "was": row.label, "until": until})
            self._catch_up(write)
            return Asked.of(row)

    # Learning

    def method(self) -> Method:
        """The method after all answers so far."""
        return self._fitting.method(self._snapshot()[0])

    def model(self) -> Pipeline:
        """A fitted scikit-learn pipeline: a frame with the pool's columns in, classes out."""
        return self._fitting.pipeline(self._snapshot()[0])

    def predict(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The class of every row and the probability of the positive one, beside the id where there is one."""
        model = self.model()
        named = self.settings["id"]
        columns = [frame[named]] if named in frame.columns else []
        labels = pl.Series("prediction", model.predict(frame).astype(str), dtype=pl.String)
        return pl.DataFrame([*columns, labels, pl.Series("probability", model.predict_proba(frame)[:, 1])])

    def error(self, measure: str = "error") -> PopulationEstimate:
        """What the model's error, or another measure, is on the whole population, with an interval."""
        return self._estimate(measure)[1]

    def history(self) -> list[tuple[int, PopulationEstimate]]:
        """Labels and the error estimated from them, each time a round closed."""
        closed = [batch.closed for batch in self.refresh().batches if batch.closed is not None]
        found = [(c["labels"], PopulationEstimate(**c["error"])) for c in closed if c["error"] is not None]
        return sorted(found, key=lambda pair: pair[0])

    def _estimate(self, measure: str) -> tuple[int, PopulationEstimate]:
        """How many labels there are, and the measure estimated from them."""
        answered, rows = self._snapshot()
        method = self._fitting.method(answered)
        return len(answered), population_error_of(method, self._fitting.pool, rows, measure=measure)

    def _snapshot(self) -> tuple[list[Row], list[Row]]:
        """Answered rows, and all that were asked for, as they are now."""
        with self._lock:
            rows = [copy(row) for row in self.refresh().rows.values()]
        return [row for row in rows if row.status == "answered"], rows

    # People

    def status(self) -> Status:
        """Where the campaign stands."""
        with self._lock:
            return status_of(self.refresh(), self.settings, self.ledger.now())

    def invite(self, name: str, role: str = "annotator") -> str:
        """A new token for somebody, instead of any she had. It is not kept: hand it over now."""
        token = new_token()
        body = {"name": checked_name(name), "token_sha256": token_hash(token), "role": checked_role(role)}
        with self._writing() as write:
            write.append("invited", "", body)
        return token

    def who(self, token: str) -> tuple[str, str] | None:
        """Name and role of the token's owner."""
        with self._lock:
            person = holder(self.refresh(), token)
        return None if person is None else (person.name, person.role)

    def revoke(self, name: str) -> None:
        """Make somebody's token worthless; what she answered stays."""
        with self._writing() as write:
            if name not in self._state.people:
                raise InputError(
                    f"nobody named {name!r} was invited. Invited: {', '.join(self._state.people) or 'nobody'}."
                )
            write.append("revoked", "", {"name": name})

    # Writing

    @contextmanager
    def _writing(self) -> Iterator[Writer]:
        """The one writer's transaction, the state up to date before it and, if all went well, after it."""
        with self._lock:
            try:
                with self.ledger.writing(self.id) as write:
                    self._catch_up(write)
                    yield write
                    self._catch_up(write)
            except BaseException:
                self._state = State(self.settings["budget"])  # it may hold what was not committed: replay
                raise

    def _catch_up(self, write: Writer) -> None:
        self._state.replay(write.events(self._state.last))

    @contextmanager
    def _planning(self) -> Iterator[None]:
        """One plan at a time on this machine: a second one would mostly be thrown away. A kill lets go of it."""
        self.folder.cache.mkdir(exist_ok=True)
        with open(self.folder.cache / "planning.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _fresh(row: Row, now: datetime, lease: timedelta) -> bool:
    """Whether at least half of the lease is left."""
    return row.lease_until is not None and row.lease_until - now >= lease / 2
