"""The model of Unskew: the team by default, a model of one's own alone or as one more member."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from scenes import scene
from unskew import BayesianLogistic, LoggedData, StreamedUnskew, Team, Unskew, run
from unskew.kept import Kept
from unskew.methods import MarginSampling
from unskew.models.committee import BootstrapCommittee


def taught(s, **parameters):
    method = Unskew(random_state=0, **parameters).start(s.log, s.X, s.q0)
    for k in (20, 20):
        asked = method.ask(k)
        method.tell(s.y[np.asarray(asked)])
    return method


@pytest.mark.parametrize(
    ("model", "kind"),
    [(None, Team), (Team([LogisticRegression()]), Team), (BayesianLogistic(), BayesianLogistic),
     (LogisticRegression(), BootstrapCommittee)],
)  # fmt: skip
def test_models_that_know_how_sure_they_are_need_no_committee(model, kind):
    s = scene()
    method = taught(s, model=model)
    assert type(method.state_.model) is kind
    assert np.array_equal(taught(s, model=model).log_odds(s.X), method.log_odds(s.X))  # a seed is a seed
    assert not hasattr(model, "classes_")  # the user's own object is never changed


def test_another_classifier_as_one_more_member():
    s = scene()
    method = taught(s, model=Team([HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5)]))
    members = method.members()
    assert [m.name for m in members] == ["BayesianLogistic", "Trees", "HistGradientBoostingClassifier"]
    assert [m.weight for m in members] == method.state_.model.weights_.tolist()


def test_what_each_member_is_worth_alone():
    s = scene()
    method = taught(s)
    for k, member in enumerate(method.members()):
        found, team = member.alone.error(), method.state_.model
        assert found.low < found.value < found.high
        np.testing.assert_array_equal(member.alone.log_odds(s.X), team.alone(k).log_odds(s.X))
        seen = method.observed()
        np.testing.assert_array_equal(member.alone.held_out(seen.X, seen.y), team._honest[k])
    assert method.state_.model.weights_.sum() > 0.0  # the method itself is as it was
    assert taught(s, model=BayesianLogistic()).members() == []


def test_every_method_learns_with_the_team():
    s = scene()
    assert isinstance(MarginSampling(random_state=0).start(s.log, s.X, s.q0).model_, Team)
    stream = run(StreamedUnskew(random_state=0), s.log, (s.X, s.q0), s.y)
    assert isinstance(stream.model_, Team) and s.error(stream) < 0.3


def test_labels_of_a_log_of_which_few_are_kept_count_by_how_many_are_here():
    """v ~ (N rate q0 + the number bought where q0 is alike / the log's share there) ^ (-1/4)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    q0 = np.where(X[:, 0] > 0, 0.8, 0.2)
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, 0.0)
    z = np.repeat([True, False], 200)
    log = LoggedData(X, np.where(z, y, np.nan), q0=q0, classes=(0.0, 1.0), kept=Kept(4000, 6000))
    pool, pool_q0 = rng.normal(size=(100, 2)), np.repeat([0.8, 0.2], 50)
    method = Unskew(random_state=0, model=BayesianLogistic()).start(log, pool, pool_q0)
    asked = np.asarray(method.ask(12))
    method.tell(np.where(pool[asked].sum(axis=1) > 0, 1.0, 0.0))
    high = np.append(X[:200, 0] > 0, pool_q0[asked] == 0.8)  # the labelled rows, in this order
    share = (20.0 * (X[:200, 0] > 0).sum() + 30.0 * (X[200:, 0] > 0).sum()) / 10_000
    bought = high[200:].sum() / share, (~high[200:]).sum() / (1.0 - share)
    rate = 200 / 4000
    labels = np.where(high, 10_000 * rate * 0.8 + bought[0], 10_000 * rate * 0.2 + bought[1])
    v = labels**-0.25
    assert 0 < high[200:].sum() < 12
    assert method.weights(method.state_) == pytest.approx(v / v.mean(), rel=1e-9)
