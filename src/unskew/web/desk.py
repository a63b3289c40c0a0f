"""What annotators do, one at a time: a short transaction each, and never a fit."""

from threading import Lock
from typing import Any

from unskew.campaigns import Asked, Campaign, State
from unskew.web import show
from unskew.web.models import Answer, Left, Row, Shown, Stand, Told, Work


class Desk:
    """Hands rows out and takes answers in. A campaign's state is for one thread, so its users take turns."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.lock = Lock()

    def who(self, token: str) -> tuple[str, Any] | None:
        with self.lock:
            return self.campaign.who(token)

    def ask(self, actor: str, n: int) -> Work:
        """Rows for `actor`: those she holds, and more up to n."""
        with self.lock:
            return self._work(actor, self.campaign.hand_out(n, actor))

    def tell(self, actor: str, answers: list[Answer], n: int) -> Told:
        """Take answers in, all or none, and hand out the next rows."""
        with self.lock:
            records = [(k, a.id, a.label) for k, a in enumerate(answers, 1)]
            if n:
                told, asked = self.campaign.exchange(records, n, actor)
            else:
                told = self.campaign.tell(records, actor)
            work = self._work(actor, asked) if n else None
        return Told(answered=told.answered, skipped=told.skipped, repeated=told.repeated, work=work)

    def undo(self, actor: str, id: str, n: int) -> Work:
        """Take back the last answer if it was to row `id`; saying so twice does no harm."""
        with self.lock:
            self.campaign.undo(actor, id)
            return self._work(actor, self.campaign.hand_out(n, actor))

    def stand(self, state: State) -> Stand:
        """Why there is no row to hand out."""
        if self.campaign.room(state) > 0:
            return "choosing"
        return "others" if state.open else "done"

    def _work(self, actor: str, asked: list[Asked]) -> Work:
        state = self.campaign.refresh()
        batch = state.batches[asked[0].round - 1].ids if asked else []
        return Work(
            stand="rows" if asked else self.stand(state),
            rows=[self._row(a) for a in asked],
            left=Left(
                budget=max(0, state.budget - state.spent),
                round=sum(id in state.open for id in batch),
                mine=sum(state.rows[id].label is not None for id in state.done.get(actor, ())),
            ),
            last=state.undoable(actor),
        )

    def _row(self, asked: Asked) -> Row:
        named = self.campaign.settings["id"]  # the page says it apart
        seen = show.fields({column: value for column, value in asked.values.items() if column != named})
        shown = [Shown(name=f.name, kind=f.kind, text=f.text, exact=f.exact, href=f.href, wide=f.wide) for f in seen]
        values = {column: show.cut(value) for column, value in asked.values.items()}
        return Row(id=asked.id, round=asked.round, values=values, fields=shown)
