"""Propensities within each policy."""

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unskew.sampling.within_policies import estimate_within, policies_of


def scene(rng, rows):
    X = rng.normal(size=(rows, 2))
    who = rng.choice(["ann", "bo", "cy", "di"], rows, p=[0.45, 0.4, 0.1, 0.05])
    Q = np.select(
        [who == "ann", who == "bo", who == "cy"], [expit(2 * X[:, 0]), expit(-2 * X[:, 0] - 1), np.ones(rows)], 0.5
    )
    return X, who, Q, rng.random(rows) < Q


def test_each_policy_gets_its_own_rule():
    X, who, Q, z = scene(np.random.default_rng(0), 1200)
    q0 = estimate_within(X, z, who, random_state=0, model=LogisticRegression())
    for name in ("ann", "bo"):
        rows = who == name
        assert np.corrcoef(q0[rows], Q[rows])[0, 1] > 0.95
    assert (q0[who == "cy"] == 1.0).all()  # all of them have a label


def test_a_policy_with_few_labels_gets_what_all_rows_together_say():
    X, who, _, z = scene(np.random.default_rng(1), 1200)
    assert policies_of(who, z) == (("ann", "bo", "cy"), ("di",))
    q0 = estimate_within(X, z, who, random_state=0, model=LogisticRegression())
    together = estimate_within(X, z, np.full(len(z), "all"), random_state=0, model=LogisticRegression())
    assert np.corrcoef(q0[who == "di"], together[who == "di"])[0, 1] > 0.99


def test_a_policy_with_hardly_any_row_without_a_label_has_one_chance_for_all():
    rng = np.random.default_rng(2)
    X, who = rng.normal(size=(400, 1)), np.repeat(["ann", "bo"], 200)
    z = np.concatenate([rng.random(200) < 0.5, np.arange(200) >= 5])
    q0 = estimate_within(X, z, who, random_state=0, model=LogisticRegression())
    assert (q0[200:] == 195 / 200).all()
