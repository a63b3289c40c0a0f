"""Rounds of a campaign: planned once, closed with the labels there are, also when people work at the same time."""

from contextlib import nullcontext

from campaign_folder import lines, replayed, told, truth
from unskew.campaigns import Campaign


def test_a_round_closes_when_all_is_answered_skipped_or_expired(campaign, clock):
    rows = campaign.ask(6, by="ann")
    assert campaign.close_due() == 0
    campaign.tell_lines([*lines(rows[:4]), (5, rows[4].id, None)], by="ann")
    assert campaign.close_due() == 0
    clock.on(minutes=10)
    assert campaign.close_due() == 1
    assert campaign.close_due() == 0
    closed = campaign.state.batches[0].closed
    assert closed.labels == 4
    (none, _), (labels, estimate) = campaign.history()
    assert none == 0 and labels == 4 and estimate.low <= estimate.value <= estimate.high
    assert campaign.status().error.value == estimate.value
    campaign.answer(rows[5].id, truth(rows[5]), by="ann")  # counts from the next fit on
    assert campaign.method().labels_ == 5


def told_error(campaign):
    """(labels, value) of the error that status and history tell, once what is due is closed."""
    campaign.close_due()
    labels, estimate = campaign.history()[-1]
    assert campaign.status().error.value == estimate.value
    return labels, estimate.value


def wrong(rows):
    return {id: "0" if label == "1" else "1" for id, label in told(rows).items()}


def test_a_round_that_closed_closes_again_when_its_answers_change(campaign, clock):
    """The error that is told is that of the labels there are: after late answers, a correction, an undo."""
    rows = campaign.ask(20, by="ann")
    clock.on(minutes=10)
    assert campaign.close_due() == 1
    campaign.tell(wrong(rows), by="ann")
    assert campaign.status().closed == 0
    assert told_error(campaign) == (20, campaign.error().value)
    before = campaign.error().value
    campaign.tell(told(rows), by="ann", force_correct=True)
    assert told_error(campaign) == (20, campaign.error().value)
    assert campaign.error().value < before
    campaign.undo(by="ann")
    assert campaign.close_due() == 0  # somebody is at it
    campaign.answer(rows[-1].id, wrong(rows)[rows[-1].id], by="ann")
    assert told_error(campaign) == (20, campaign.error().value)
    assert campaign.close_due() == 0
    assert replayed(campaign) == campaign.state


def test_the_error_told_last_is_that_of_the_labels_there_are(campaign):
    """Also when they have become fewer."""
    rows = campaign.ask(20, by="ann")
    campaign.tell(told(rows), by="ann")
    assert told_error(campaign)[0] == 20
    campaign.tell({row.id: None for row in rows[:10]}, by="ann", force_correct=True)
    assert told_error(campaign) == (10, campaign.error().value)
    campaign.tell({row.id: None for row in rows}, by="ann", force_correct=True)
    campaign.tell(told(campaign.ask(4, by="ann")), by="ann")
    assert told_error(campaign) == (4, campaign.error().value)
    assert [labels for labels, _ in campaign.history()] == [0, 4]
    assert replayed(campaign) == campaign.state


def test_a_round_is_not_closed_with_labels_that_changed_meanwhile(folder, campaign, clock, monkeypatch):
    rows, others = campaign.ask(4, by="ann"), campaign.ask(4, by="bob")
    clock.on(minutes=10)
    fitting = campaign._rounds.fitting
    real, changes = fitting.estimates, [told(rows[:2]), told(others)]

    def slow(asked):
        found = real(asked)
        if changes:
            with Campaign.open(folder, now=clock) as other:
                other.tell(changes.pop(0), by="eve")
                if not changes:
                    other.close_due()
        return found

    monkeypatch.setattr(fitting, "estimates", slow)
    assert campaign.close_due() == 0  # the other closed them, with all labels
    assert [batch.closed.labels for batch in campaign.state.batches] == [6, 6]
    assert not changes and list(campaign.state.errors) == [0, 6]


def test_planned_rows_wait_for_whoever_asks(campaign):
    assert campaign.hand_out(5, by="ann") == []
    assert campaign.plan(8)
    assert len(campaign.hand_out(5, by="ann")) == 5
    assert len(campaign.hand_out(5, by="bob")) == 3
    assert len(campaign.state.batches) == 1


def test_a_plan_that_came_too_late_is_thrown_away(folder, campaign, clock, monkeypatch):
    draft = campaign._rounds._draft

    def slow(k):
        found = draft(k)
        if len(campaign.state.batches) == 0:
            with Campaign.open(folder, now=clock) as other:
                monkeypatch.setattr(other.folder, "planning", nullcontext)
                other.ask(4, by="bob")
        return found

    monkeypatch.setattr(campaign._rounds, "_draft", slow)
    rows = campaign.ask(4, by="ann")
    assert [(b.number, len(b.ids)) for b in campaign.state.batches] == [(1, 4), (2, 4)]
    assert {row.round for row in rows} == {2}


def test_only_rows_that_fit_are_handed_out_and_kept(campaign):
    assert campaign.plan(8)
    assert len(campaign.hand_out(5, by="ann", fit=lambda rows: rows[:2])) == 2
    assert len(campaign.hand_out(9, by="bob")) == 6
