"""What annotators do. Each request is one short transaction and never fits a model."""

from functools import partial
from typing import Any

from unskew.campaigns import Campaign, Row, State
from unskew.campaigns.ledger.people import ended
from unskew.campaigns.ledger.remarks import REMARKS, remarks_in
from unskew.web import show
from unskew.web.demand import Demand
from unskew.web.models import Answer, Hand, Left, RowShown, Shown, Supply, Taken

REPLY = 1 << 20
"""The most bytes of rows in a reply. A row that is larger is sent alone."""


class Desk:
    """Hands out rows and takes in answers. Only one thread at a time may use it: `Turns` sees to that."""

    def __init__(self, campaign: Campaign, demand: Demand) -> None:
        self.campaign, self.demand = campaign, demand

    def who(self, token: str) -> tuple[str, Any] | None:
        return self.campaign.who(token)

    def ended(self, token: str) -> str | None:
        return ended(self.campaign.refresh(), token)

    def ask(self, by: str, n: int) -> Hand:
        """Rows for `by`: those already held, and more up to n."""
        shown: list[RowShown] = []
        columns = self.columns()
        self.campaign.hand_out(n, by=by, fit=lambda rows: _fit(rows, columns, shown))
        return self._hand(by, n, shown)

    def tell(self, by: str, answers: list[Answer], n: int) -> Taken:
        """Take in answers, all or none, and hand out the next rows."""
        lines = [(k, one.id, one.label) for k, one in enumerate(answers, 1)]
        remarks = {one.id: remarks_in(one.model_dump()) for one in answers} if REMARKS else None
        shown: list[RowShown] = []
        if n:
            columns = self.columns()
            fit = partial(_fit, columns=columns, shown=shown)
            told, _ = self.campaign.exchange(lines, n, by=by, fit=fit, remarks=remarks)
        else:
            told = self.campaign.tell_lines(lines, by=by, only_given=True, remarks=remarks)
        self.demand.answered(by, told.answered + told.skipped)
        hand = self._hand(by, n, shown) if n else None
        return Taken(answered=told.answered, skipped=told.skipped, repeated=told.repeated, work=hand)

    def undo(self, by: str, id: str, n: int) -> Hand:
        """Take back the last answer if it was to row `id`. Repeating this does no harm."""
        self.campaign.undo(id, by=by)
        return self.ask(by, n)

    def revoke(self, name: str) -> bool:
        """End somebody's access; False if they have none."""
        found = name in self.campaign.state.people
        if found:
            self.campaign.revoke(name)
        return found

    def supply(self, state: State) -> Supply:
        """Why there is no row to hand out."""
        if self.campaign.room(state) > 0:
            return "choosing"
        return "others" if state.open else "done"

    def stand(self, state: State, by: str) -> Supply:
        """Why there is no row for this person."""
        return state.barred(by) or self.supply(state)

    def _hand(self, by: str, n: int, rows: list[RowShown]) -> Hand:
        state = self.campaign.refresh()
        if rows or not state.barred(by):
            self.demand.asked(by, n, given=len(rows))
        batch, held = state.batches[rows[0].round - 1].ids if rows else [], {row.id for row in rows}
        return Hand(
            stand="rows" if rows else self.stand(state, by),
            rows=rows,
            left=Left(
                budget=max(0, state.budget - state.spent),
                total=state.budget,
                # A row that somebody else has answered, and this person is asked too, counts like any other.
                round=sum(id in state.open or id in held for id in batch),
                mine=sum(opinion.label is not None for opinion in state.answers.get(by, {}).values()),
            ),
            last=state.undoable(by),
        )

    def columns(self) -> show.Columns:
        """The columns that people see."""
        return show.Columns(self.campaign.arrangement.columns, self.campaign.settings.id)


def _fit(rows: list[Row], columns: show.Columns, shown: list[RowShown]) -> list[Row]:
    """The first of the rows, as many as fit into a reply, and at least one. They are added to `shown`."""
    size = 0
    for row in rows:
        next = _shown(row, columns)
        size += len(next.model_dump_json().encode())
        if shown and size > REPLY:
            break
        shown.append(next)
    return rows[: len(shown)]


def _shown(row: Row, columns: show.Columns) -> RowShown:
    values = {column: show.cut(value) for column, value in columns.values(row.values).items()}
    return RowShown(id=row.id, round=row.round, values=values, fields=fields_of(row, columns))


def fields_of(row: Row, columns: show.Columns) -> list[Shown]:
    """The values of a row as the page shows them."""
    return [Shown.model_validate(field) for field in columns.fields(row.values)]
