"""The rules of a campaign under whatever people do, in whatever order."""

import shutil
import tempfile
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from campaign_folder import Clock, replayed
from unskew.campaigns import Campaign, Rejected
from unskew.campaigns.learning.fitting import Fitting, Plan
from unskew.campaigns.ledger.events import PlannedRow
from unskew.errors import InputError

PEOPLE = st.sampled_from(["ann", "bob", "eve"])
LABELS = st.sampled_from(["0", "1", None])
BUDGET, POOL = 60, 400


def next_rows(self, answered, asked, round, k):
    """As quick as a plan can be: what is under test are the rules, not who is asked."""
    left = [place for place in range(POOL) if place not in set(asked)][:k]
    rows = [PlannedRow(str(1000 + at), at, "drawn", 0.5, {}) for at in left]
    return Plan(rows, POOL - len(asked), 1.0, "")


class Rules(RuleBasedStateMachine):
    """Two open campaigns on one ledger, as two processes have them."""

    made: Path
    ids = Bundle("ids")

    def __init__(self):
        super().__init__()
        self.dir = Path(tempfile.mkdtemp())
        folder = shutil.copytree(self.made, self.dir / "campaign", ignore=shutil.ignore_patterns("*.npy", "*.joblib"))
        self.clock = Clock()
        self.both = [Campaign.open(folder, now=self.clock) for _ in range(2)]
        self.said = {}

    def teardown(self):
        for campaign in self.both:
            campaign.close()
        shutil.rmtree(self.dir)

    @rule(target=ids, at=st.integers(0, 1), n=st.integers(1, 25), who=PEOPLE)
    def ask(self, at, n, who):
        campaign = self.both[at]
        held = {row.id for row in campaign.state.open.values() if row.holder not in (None, who)}
        free = {row.id for row in campaign.state.open.values() if row.free(self.clock())}
        rows = campaign.ask(n, by=who)
        assert len({row.id for row in rows}) == len(rows) <= n
        assert not {row.id for row in rows} & (held - free), "somebody else has it"
        assert len(rows) == n or campaign.room(campaign.state) == 0
        assert {row.id for row in campaign.ask(n, by=who)} == {row.id for row in rows}, "asked again, the same"
        return rows[0].id if rows else "none"

    @rule(at=st.integers(0, 1), id=ids, label=LABELS, who=PEOPLE, force=st.booleans())
    def tell(self, at, id, label, who, force):
        campaign = self.both[at]
        before = asdict(campaign.state)
        row = before["rows"].get(id, {"by": None, "holder": None, "lease_until": None})
        held = row["holder"] not in (None, who) and row["lease_until"] > self.clock()
        skipped_by_another = id in self.said and self.said[id] is None and row["by"] != who
        try:
            told = campaign.tell({id: label}, by=who, force_correct=force)
        except Rejected:
            assert asdict(campaign.state) == before
            assert id == "none" or (id in self.said and self.said[id] != label)
            assert id == "none" or not skipped_by_another or before["spent"] + len(before["open"]) == BUDGET
            return
        new = told.answered + told.skipped + told.corrected
        assert new + told.repeated == 1
        if told.repeated:
            assert asdict(campaign.state) == before
            assert (held and label is None) or self.said[id] == label
            return
        assert not (held and label is None)
        assert bool(told.corrected) == (id in self.said and force)
        assert force or id not in self.said or skipped_by_another
        self.said[id] = label

    @rule(at=st.integers(0, 1), who=PEOPLE)
    def undo(self, at, who):
        campaign = self.both[at]
        wanted = campaign.state.undoable(who)
        try:
            row = campaign.undo(by=who)
        except InputError:  # skips whose places are taken
            assert campaign.state.left == 0 and all(self.said[id] is None for id in campaign.state.done[who])
            return
        assert (None if row is None else row.id) == wanted
        if row is not None:
            del self.said[row.id]
            assert campaign.undo(row.id, by=who).id == row.id, "again, and nothing changes"
            assert campaign.hand_out(1, by=who)[0].id == row.id

    @rule(minutes=st.integers(1, 12))
    def wait(self, minutes):
        self.clock.time += timedelta(minutes=minutes)

    @invariant()
    def nothing_is_lost_or_overspent(self):
        states = [campaign.state for campaign in self.both]
        assert states[0] == states[1] == replayed(self.both[0])
        state = states[0]
        rows = state.rows.values()
        assert {row.id: row.label for row in rows if row.status in ("answered", "skipped")} == self.said
        assert state.spent == sum(label is not None for label in self.said.values())
        assert len(rows) - state.skipped + state.left == BUDGET and state.left >= 0
        assert set(state.open) == {row.id for row in rows if row.status in ("waiting", "leased")}
        assert all((row.holder is not None) == (row.status == "leased") for row in rows)
        assert sorted(id for done in state.done.values() for id in done) == sorted(self.said)


def test_the_rules_hold_whatever_people_do(made, monkeypatch):
    monkeypatch.setattr(Fitting, "plan", next_rows)
    monkeypatch.setattr(Rules, "made", made, raising=False)
    wanted = settings(
        max_examples=40, stateful_step_count=30, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],  # to make an example small takes minutes
    )  # fmt: skip
    run_state_machine_as_test(Rules, settings=wanted)
