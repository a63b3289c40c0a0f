"""A campaign: rows asked for, handed out, answered, and learnt from, by many people at once."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.live import Live, Transaction
from unskew.campaigns.ledger.people import checked_name, checked_role, holder, new_token, token_hash
from unskew.campaigns.ledger.state import Asked, Row, State
from unskew.campaigns.ledger.status import Status, status_of
from unskew.campaigns.ledger.store import Ledger, utc_now
from unskew.campaigns.rounds import Rounds
from unskew.campaigns.telling import Record, Told, Unread, judge
from unskew.errors import InputError

if TYPE_CHECKING:  # what fits models takes seconds to import, and who hands rows out or takes answers in needs none
    import polars as pl
    from sklearn.pipeline import Pipeline

    from unskew.estimation.population import PopulationEstimate
    from unskew.methods.loop import Method


class Campaign:
    """A log, a pool, a budget, and a ledger of who was asked what and said what.

    Make one with `create`, come back to it with `open`. Several threads may share one object, and several processes
    or machines one ledger. Close it when done, or use it in a `with` statement.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import polars as pl
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
        self._live = Live(ledger, campaign, settings["budget"])
        self._rounds = Rounds(folder, settings, ledger, self._live)

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
        from unskew.campaigns.creating import create

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
        return self._live.refresh()

    def room(self, state: State) -> int:
        """Rows that may still be planned: as many as budget and pool have room for."""
        return self._rounds.room(state)

    @property
    def log_frame(self) -> "pl.DataFrame":
        """The log as read."""
        return self._rounds.fitting.log_frame

    @property
    def pool_frame(self) -> "pl.DataFrame":
        """The pool as read."""
        return self._rounds.fitting.pool_frame

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
        return self._rounds.ask(n, actor)

    def hand_out(self, n: int, actor: str) -> list[Asked]:
        """As `ask`, of rows that are planned already: quick, and perhaps none."""
        return self._rounds.hand_out(n, actor)[0]

    def plan(self, k: int) -> bool:
        """Plan a round of k rows, or as many as the budget and the pool still allow; False if that is none."""
        return self._rounds.plan(k)

    def close_due(self) -> int:
        """Close every round whose rows are all answered, skipped or out of time; how many there were."""
        return self._rounds.close_due()

    # Answering

    def tell(self, records: Sequence[Record | Unread], actor: str, *, force_correct: bool = False) -> Told:
        """Take in answers (line, id, label), the label None for a skip; all of them or, with `Rejected`, none.

        An answer that is known already is passed over, and so is the skip of a row that somebody else holds. A label
        stands against somebody else's skip, if the budget has room. Any other answer that differs from what was said
        before is a problem, or with `force_correct` a correction. So is a line that could not be read.
        """
        with self._live.writing() as write:
            return self._take_in(write, records, actor, force_correct)

    def exchange(self, records: Sequence[Record], n: int, actor: str) -> tuple[Told, list[Asked]]:
        """`tell`, then `hand_out`, in one transaction: answers in, the next rows out."""
        with self._live.writing() as write:
            return self._take_in(write, records, actor), self._rounds.give(write, n, actor)[0]

    def answer(self, id: str, label: str, actor: str) -> Told:
        """One answer."""
        return self.tell([(1, id, label)], actor)

    def skip(self, id: str, actor: str) -> Told:
        """A row that `actor` cannot or will not answer; its place in the budget is free again."""
        return self.tell([(1, id, None)], actor)

    def undo(self, actor: str, id: str | None = None) -> Asked | None:
        """Take back the last answer or skip of `actor`, who holds the row again, before all others.

        None if there is nothing to take back. A skip whose place in the budget is taken stays, and what was said before
        it is the last. With `id`, only if that was to row `id`; to say so again changes nothing.
        """
        checked_name(actor)
        with self._live.writing() as write:
            state = write.state
            last, newest = state.undoable(actor), next(reversed(state.done.get(actor, [])), None)
            wanted = id if id is not None else last or newest
            if wanted is None:
                return None
            if wanted != last:
                held = state.open.get(wanted)
                if held is not None and held.holder == actor:
                    return Asked.of(held)
                if wanted == newest:
                    told = f"row {wanted!r} was skipped and its place in the budget is taken. Go on with the next."
                else:
                    told = f"only your last answer can be taken back; {wanted!r} is not it. Answer the next row."
                raise InputError(told)
            row = state.rows[wanted]
            until = (self.ledger.now() + self._rounds.lease).isoformat()
            write.append("undone", actor, {"id": wanted, "was": row.label, "until": until})
            return Asked.of(row)

    def _take_in(
        self, write: Transaction, records: Sequence[Record | Unread], actor: str, force_correct: bool = False
    ) -> Told:
        checked_name(actor)
        drafts, told = judge(
            write.state, records, self.settings["classes"], actor=actor, now=self.ledger.now(), in_pool=self._in_pool,
            force_correct=force_correct,
        )  # fmt: skip
        write.append_all([(kind, actor, body) for kind, body in drafts])
        return told

    def _in_pool(self, ids: Collection[str]) -> set[str]:
        return self.folder.in_pool(ids, self.settings["id"], self.settings["pool_rows"])

    # Learning

    def digest(self) -> str:
        """A name for the model after all answers so far: the same wherever it is fitted."""
        return self._rounds.fitting.digest(self._rounds.snapshot()[0])

    def method(self) -> "Method":
        """The method after all answers so far."""
        return self._rounds.fitting.method(self._rounds.snapshot()[0])

    def model(self) -> "Pipeline":
        """A fitted scikit-learn pipeline: a frame with the pool's columns in, classes out."""
        return self._rounds.fitting.pipeline(self._rounds.snapshot()[0])

    def predict(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """The class of every row and the probability of the positive one, beside the id where there is one."""
        return self._rounds.fitting.predict(self._rounds.snapshot()[0], frame)

    def error(self, measure: str = "error") -> "PopulationEstimate":
        """What the model's error, or another measure, is on the whole population, with an interval."""
        return self._rounds.fitting.error(*self._rounds.snapshot(), measure=measure)

    def history(self) -> "list[tuple[int, PopulationEstimate]]":
        """Labels and the error estimated from them: from the log alone, then each time a round closed."""
        from unskew.estimation.population import PopulationEstimate

        return [(labels, PopulationEstimate(**error)) for labels, error in sorted(self.refresh().errors.items())]

    # People

    def status(self) -> Status:
        """Where the campaign stands."""
        with self._live.lock:
            return status_of(self.refresh(), self.settings, self.ledger.now())

    def invite(self, name: str, role: str = "annotator") -> str:
        """A new token for somebody, instead of any she had. It is not kept: hand it over now."""
        token = new_token()
        body = {"name": checked_name(name), "token_sha256": token_hash(token), "role": checked_role(role)}
        with self._live.writing() as write:
            write.append("invited", "", body)
        return token

    def who(self, token: str) -> tuple[str, str] | None:
        """Name and role of the token's owner."""
        with self._live.lock:
            person = holder(self.refresh(), token)
        return None if person is None else (person.name, person.role)

    def revoke(self, name: str) -> None:
        """Make somebody's token worthless; what she answered stays."""
        with self._live.writing() as write:
            people = write.state.people
            if name not in people:
                raise InputError(f"nobody named {name!r} was invited. Invited: {', '.join(people) or 'nobody'}.")
            write.append("revoked", "", {"name": name})
