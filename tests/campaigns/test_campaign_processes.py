"""Ten annotators, each a process of her own, at one ledger."""

import multiprocessing

from campaign_folder import told
from unskew.campaigns import Campaign

BUDGET = 60


def work(folder, name, ready, answered):
    """Ask and answer until nothing is left; every third row is skipped once."""
    mine, skips = [], 0
    with Campaign.open(folder) as campaign:
        ready.wait()
        while rows := campaign.ask(2, by=name):
            answers = told(rows)
            if skips < 2:
                answers[rows[0].id] = None
                skips += 1
            campaign.tell(answers, by=name)
            mine += answers.items()
            campaign.close_due()
    answered.put((name, mine))


def test_ten_annotators_in_ten_processes(folder):
    """Never the same row, never past the budget, no answer lost."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["unskew.campaigns.learning.fitting"])
    ready, answered = server.Barrier(10), server.Queue()
    people = [
        server.Process(target=work, args=(folder, f"annotator {k}", ready, answered), daemon=True) for k in range(10)
    ]
    for person in people:
        person.start()
    said = dict(answered.get(timeout=120) for _ in people)
    for person in people:
        person.join(60)
        assert person.exitcode == 0
    ids = [id for mine in said.values() for id, _ in mine]
    assert len(ids) == len(set(ids))
    with Campaign.open(folder) as campaign:
        status, state = campaign.status(), campaign.state
        assert (status.spent, status.left, status.open) == (BUDGET, 0, 0)
        assert status.closed == status.rounds
        assert len(state.rows) == len(ids) == BUDGET + status.skipped
        for name, mine in said.items():
            assert {id: (state.rows[id].label, state.rows[id].by) for id, _ in mine} == {
                id: (label, name) for id, label in mine
            }
        leases = [e for e in campaign.ledger.events(campaign.id) if e.kind == "leased"]
        assert len([id for e in leases for id in e.event.ids]) == len(ids), "each row was handed out once"
