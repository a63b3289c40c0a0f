"""A campaign: rows are asked for, handed out, answered and learned from, by many people at once."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from unskew.campaigns.conduct import Conduct, check_changes
from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.events import Event, Said, Undone
from unskew.campaigns.ledger.live import Transaction
from unskew.campaigns.ledger.people import checked_name
from unskew.campaigns.ledger.remarks import Remarks, remarks_in
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row
from unskew.campaigns.ledger.status import as_html
from unskew.campaigns.ledger.store import Ledger, ledger_of, utc_now
from unskew.campaigns.options import complete, taking
from unskew.campaigns.rounds import Fit, Rounds
from unskew.campaigns.start_options import START, Start
from unskew.campaigns.telling import Label, Line, Told, Unread, id_text, judge, label_text, lines_of, to_undo
from unskew.campaigns.verifying import Verified, Watch, verify
from unskew.errors import LedgerReplaced

if TYPE_CHECKING:  # handing out rows and taking in answers needs nothing that fits models, which is slow to import
    import polars as pl
    from sklearn.pipeline import Pipeline

    from unskew.campaigns.audit.rules import Rule
    from unskew.campaigns.learning.drivers import Importance
    from unskew.campaigns.learning.one_row import Why
    from unskew.campaigns.learning.own_model import Cost
    from unskew.campaigns.measuring import Measuring
    from unskew.estimation.everyone import Everyone
    from unskew.estimation.population import PopulationEstimate
    from unskew.methods.loop import Method
    from unskew.pools.scanning import Progress


class Campaign(Conduct):
    """A log, a pool, a budget, and a ledger of who was asked for which label and what they answered.

    Make one with `create`, and come back to it with `open`. Several threads may share one object, and several
    processes or machines one ledger. Close it when done, or use it in a `with` statement.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import polars as pl
    >>> rng = np.random.default_rng(0)
    >>> x, seen = rng.normal(size=300), rng.random(300) < 0.5
    >>> log = pl.DataFrame({"x": x, "paid": np.where(seen, x > 0, np.nan), "q0": np.full(300, 0.5)})
    >>> pool = pl.DataFrame({"x": rng.normal(size=1000)})
    >>> loans = Campaign.create(
    ...     Path(tempfile.mkdtemp(), "loans"), log=log, pool=pool, label="paid", propensity="q0", budget=50
    ... )
    >>> loans.tell({row.id: int(row.values["x"] > 0) for row in loans.ask(20, by="ann")}, by="ann")
    Told(answered=20, skipped=0, corrected=0, repeated=0)
    >>> loans.status().spent
    20
    >>> loans.close()
    """

    def __init__(self, folder: Folder, ledger: Ledger, campaign: str, settings: Settings) -> None:
        super().__init__(folder, ledger, campaign, settings)
        self._rounds = Rounds(folder, ledger, self._live)

    @classmethod
    @taking(START)
    def create(
        cls,
        dir: Path | str,
        *,
        now: Callable[[], datetime] = utc_now,
        progress: "Progress | None" = None,
        costing: "Callable[[Cost], None] | None" = None,
        **options: Unpack[Start],
    ) -> Self:
        """Begin a campaign in a new folder, from a log and a pool.

        Parameters
        ----------
        dir : path
            A folder that holds no campaign yet.
        **options
        now, progress, costing : callable
            The clock; what is told how many rows are read, or copies of `model` fitted, and of how many; and what is
            told what each ask costs with this `model`, before the first fits.
        """
        from unskew.campaigns.creating import create  # scikit-learn takes seconds to import

        checked = cast(Start, complete(START, options))
        create(Folder(dir), checked, progress=progress, costing=costing)
        return cls.open(dir, now=now)

    @classmethod
    def open(cls, dir: Path | str, *, patience: float | None = None, now: Callable[[], datetime] = utc_now) -> Self:
        """Come back to the campaign in a folder.

        Where its folder may only be read, so can the campaign: nothing is asked for, told or closed. `patience` is the
        number of seconds to wait while others write to the ledger, before `LedgerBusy`; by default half a minute. `now`
        is the clock.
        """
        folder = Folder(dir)
        campaign, ledger = ledger_of(folder, patience, now)
        try:
            return cls(folder, ledger, campaign, ledger.settings(campaign))
        except BaseException:
            ledger.close()
            raise

    def close(self) -> None:
        """Keep a snapshot for the next time, and close the ledger's connections.

        Where something was written, and the ledger was then deleted or replaced, `LedgerReplaced` names the file with
        all that was acknowledged.
        """
        try:
            if self.ledger.wrote:
                self.ledger.check_place()
            self.keep()
        finally:
            self.ledger.close()

    def keep(self) -> None:
        """Keep a snapshot of the state in the user's own cache, if enough has happened since the last one."""
        self._live.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # that error is the one to be seen
            with suppress(LedgerReplaced):
                self.close()

    @property
    def log_frame(self) -> "pl.DataFrame":
        """The log as it was read."""
        return self._rounds.fitting.log_frame

    @property
    def pool_frame(self) -> "pl.DataFrame":
        """The pool as it was read. Of a pool of more than 50,000 rows in files, there is only a `pool_sample`."""
        return self._rounds.fitting.pool_frame

    @property
    def pool_sample(self) -> "pl.DataFrame":
        """The pool as it was read, or 50,000 rows that stand for a larger one in files."""
        return self._rounds.fitting.pool_sample

    def verify(self, progress: "Progress | None" = None) -> Verified:
        """Look at the whole ledger, at the snapshot of it and at the tables. Damage is a `StoreError` that names it.

        Opening reads only what came after the snapshot, so this finds what became of older events since.
        """
        return verify(self.folder, self.ledger, self._live, progress or (lambda done, total: None))

    def watching(self) -> Watch:
        """The same for the chain of events, in short parts, for a process that has other work to do."""
        return Watch(self.folder, self.ledger, self._live)

    def watch(self, progress: "Progress") -> None:
        """Tell `progress`, whenever a pool in files is read, how many rows are done, and of how many."""
        self._rounds.progress = progress

    def check_hashes(self, progress: "Progress | None" = None) -> int:
        """Refuse a pool's file whose bytes are not those at `create`, with `hash`. Returns the number of files."""
        return self._rounds.fitting.check_hashes(progress)

    def extend(self, pool: Any, *, by: str = "", progress: "Progress | None" = None) -> int:
        """Give the pool new rows, without labels, as a path or frame (`campaigns.extending`). Returns their number.

        Rounds that are planned from now on ask for old and new rows. The new ones are a stratum of their own, which
        only these rounds measure. Until a row that they draw is answered, estimates rest on the log, or there are none.
        `status` has the one for the larger pool once `close_due` has made it.
        """
        from unskew.campaigns.extending import extend

        self.ledger.check_writable()
        return extend(self.folder, self._live, *self._rounds.now(), pool, by=by, progress=progress)

    # Asking

    def ask(self, n: int, *, by: str) -> list[Row]:
        """Rows for `by` to answer: n, or fewer where the budget or the pool ends.

        First come the rows that `by` still holds, then those nobody holds any more, then a new round is planned.
        """
        return self._rounds.ask(n, by)

    def hand_out(self, n: int, *, by: str, fit: Fit = list) -> list[Row]:
        """Like `ask`, but only rows that are planned already: quick, and perhaps none.

        Of the rows there are, only those that `fit` returns are handed out.
        """
        return self._rounds.hand_out(n, by, fit)[0]

    def plan(self, k: int) -> bool:
        """Plan a round of k rows, or of as many as the budget and the pool still allow; False if that is none."""
        return self._rounds.plan(k)

    def close_due(self) -> int:
        """Close every round whose rows are all answered, skipped or overdue, and return the number of them."""
        return self._rounds.close_due()

    # Answering

    def tell(self, answers: Mapping[str, Label], *, by: str, force_correct: bool = False) -> Told:
        """Take in answers: a label for each row id, None for a skip. All of them are taken or, with `Rejected`, none.

        Labels are matched to the classes as those in files are: 1, 1.0 and "1" are the same.
        An answer that is known already changes nothing, and neither does the skip of a row that somebody else holds. A
        label overrides somebody else's skip, if the budget has room. Any other answer that differs from what was
        answered before is a problem, or with `force_correct` a correction.
        """
        return self.tell_lines(lines_of(answers), by=by, force_correct=force_correct)

    def tell_lines(
        self,
        lines: Sequence[Line | Unread],
        *,
        by: str,
        force_correct: bool = False,
        only_given: bool = False,
        remarks: Mapping[str, Remarks] | None = None,
    ) -> Told:
        """Like `tell`, for lines (number, id, label) of a file. A line that could not be read is a problem as well.

        With `only_given`, `by` may answer only rows that were handed to `by`, now or earlier. `remarks` are recorded
        with the answers, by row id (`ledger.remarks`).
        """
        with self._live.writing() as write:
            return self._take_in(write, lines, by, remarks, force_correct=force_correct, only_given=only_given)

    def exchange(
        self,
        lines: Sequence[Line],
        n: int,
        *,
        by: str,
        fit: Fit = list,
        remarks: Mapping[str, Remarks] | None = None,
    ) -> tuple[Told, list[Row]]:
        """`tell_lines` with `only_given`, then `hand_out`, in one transaction: answers in, the next rows out."""
        with self._live.writing() as write:
            taken = self._take_in(write, lines, by, remarks, only_given=True)
            return taken, self._rounds.give(write, n, by, fit)[0]

    def answer(self, id: str, label: Label, *, by: str) -> Told:
        """Take in one answer."""
        return self.tell_lines([(None, id_text(id), label_text(label))], by=by)

    def skip(self, id: str, *, by: str) -> Told:
        """Skip a row that `by` cannot or will not answer; its place in the budget is free again."""
        return self.tell_lines([(None, id_text(id), None)], by=by)

    def undo(self, id: str | None = None, *, by: str) -> Row | None:
        """Take back the last answer or skip of `by`, who then holds the row again, before all other rows.

        Returns the row, or None if there is nothing to take back. A skip whose place in the budget is taken cannot be
        taken back; then the answer before it counts as the last. With `id`, the last answer is taken back only if it
        was to that row, and doing so twice changes nothing.
        """
        checked_name(by)
        with self._live.writing() as write:
            state = write.state
            row = to_undo(state, by, id)
            if row is not None and row.id == state.undoable(by):
                check_changes(state, row.id, by)
                own = row.said(by)
                was = row.label if own is None else own.label
                write.append(Undone(row.id, was, self.ledger.now() + self._rounds.lease), by=by)
                row = state.asked_of(by, row.id)
            return row

    def _take_in(
        self,
        write: Transaction,
        lines: Sequence[Line | Unread],
        by: str,
        remarks: Mapping[str, Remarks] | None,
        **how: bool,
    ) -> Told:
        checked_name(by)
        now = self.ledger.now()
        events, told = judge(write.state, lines, self.settings.classes, actor=by, now=now, **how)
        write.append(*(_with_remarks(event, remarks or {}) for event in events), by=by)
        return told

    # Learning

    def digest(self) -> str:
        """A name for the model after all answers so far. It is the same wherever the model is fitted."""
        fitting, asked = self._rounds.now()
        return fitting.digest(asked.answered)

    def method(self) -> "Method":
        """The method after all answers so far."""
        fitting, asked = self._rounds.now()
        return fitting.method(asked.answered)

    def model(self) -> "Pipeline":
        """A fitted scikit-learn pipeline: it takes a frame with the pool's columns and returns classes."""
        fitting, asked = self._rounds.now()
        return fitting.pipeline(asked.answered)

    def predict(self, rows: "Path | str | pl.DataFrame | Any") -> "pl.DataFrame":
        """The class of every row, and the probability of the positive class; `rows` are as the pool in `create`."""
        from unskew.campaigns.learning.predictions import predict

        return predict(self.model(), self.settings, rows)

    def predict_to(self, out: Path | str, rows: Path | str, *, overwrite: bool = False) -> int:
        """`predict`, block by block from files to a .csv or .parquet file. Returns the number of rows."""
        from unskew.campaigns.learning.predictions import output_for, predictions, put_predictions

        output = output_for(Path(out), overwrite=overwrite)  # before the work
        return put_predictions(predictions(self.model(), self.settings, rows), output)

    def error(
        self,
        measure: str = "error",
        *,
        level: float = 0.95,
        threshold: float | None = None,
        where: "str | Rule | None" = None,
        against: Any = None,
        of: str | None = None,
    ) -> "PopulationEstimate":
        """The model's error, or another measure, on the whole population, with an interval.

        `where` is a rule for a group of rows, such as ``"income < 2300 and region = north"``. `against` is another
        model: a column of log and pool with its probability of the positive class, a number of labels (for this
        campaign's model at that time), or a fitted classifier that takes the pool's columns. The estimate is then how
        much larger the measure is for the present model. `of` is one of more than two classes, against all others.
        """
        return self.measuring().estimate(measure, level, threshold, where, against, of)

    def measuring(self) -> "Measuring":
        """All that can be said about the model after the answers so far: measures, groups, labels for a width."""
        from unskew.campaigns.measuring import Measuring

        return Measuring(*self._rounds.now())

    def doubts(self) -> dict[str, float]:
        """By row, the chance that its label is wrong, as far as the model can say without having seen it."""
        return self.measuring().doubts()

    def importance(self) -> "Importance | None":
        """How much each column matters to the model; None while labels are too few (`learning.drivers`)."""
        from unskew.campaigns.learning.drivers import importance

        return importance(*self._rounds.now())

    def why(self, id: str) -> "Why":
        """What the model says of a row of the pool, and what each column does to it (`learning.one_row`)."""
        from unskew.campaigns.learning.one_row import why

        return why(*self._rounds.now(), id)

    def everyone(self) -> "Everyone":
        """Every row of log and pool as the model judges it, and how the labels came about; estimates rest on this."""
        fitting, asked = self._rounds.now()
        return fitting.everyone(asked)

    def history(self) -> "list[tuple[int, PopulationEstimate]]":
        """The number of labels and the error estimated from them: from the log alone, then as each round closed.

        Each is about the rows that the pool had then.
        """
        return sorted(self.refresh().errors.items())

    def _repr_html_(self) -> str:
        return as_html(self.name, self.status())


def _with_remarks(event: Event, remarks: Mapping[str, Remarks]) -> Event:
    """The event of an answer, with what is to be recorded beside it."""
    if isinstance(event, Said) and event.id in remarks:
        return replace(event, remarks=remarks_in(remarks[event.id]))
    return event
