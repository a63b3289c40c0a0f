"""Unskew on a pool: the method to use. Nothing to tune; it learns from every label of every source."""

from typing import Any

import numpy as np

from unskew.methods.learner import Learner
from unskew.methods.pool import PoolMethod


class Unskew(Learner, PoolMethod):
    """Learn from every label so far, and ask for the labels that settle most of the signs still in doubt.

    The model is `BayesianLogistic`: intercept, standardised and Fourier features, a prior chosen by the evidence of the
    labels at hand. Its posterior gives every row a margin with mean mu and standard deviation s, and s is large where
    the log has few labels.

    A label is worth what it tells about all rows: the sum, over the rows of the pool, of the chance that the sign of
    the margin is wrong times the share of the margin's variance that the label takes away (`unskew.models.belief`).
    Rows are chosen one after the other, each as if those before it were labelled. So labels go where many rows are in
    doubt, the log's blind spots among them, and a batch is not k copies of one row. A share `drawn` of all labels goes
    to rows drawn at random from the others; before the first label, all do.

    Labels are weighted by the mixture of log and rounds, tempered (`weights.thinness`): where the log reveals much, one
    label more or less says little; where it reveals little, each label counts for more rows of the population.

    Every row asked for carries the probability with which it was asked: 1 if it was chosen, the chance of the draw if
    it was drawn. Error estimates for the whole population rest on these.

    Parameters
    ----------
    drawn : float in [0, 1)
        The share of the labels that is drawn at random.
    model : scikit-learn classifier, optional
        Learn with this one instead. A committee of copies of it (`BootstrapCommittee`) says how sure it is, and rows
        are chosen by |mu| / s. Its `fit` takes `sample_weight`.
    random_state : int, Generator or None

    Examples
    --------
    >>> from unskew import LoggedData, Unskew
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (600, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> log = LoggedData(X[:200], y[:200], X[:200, 0] > 0, np.where(X[:200, 0] > 0, 0.9, 0.01))
    >>> pool, answer = X[200:], y[200:]
    >>> method = Unskew(random_state=0).start(log, pool)
    >>> asked = method.ask(20)
    >>> asked[0].reason, asked[19].reason, asked[19].probability
    ('chosen', 'drawn', 0.005235602094240838)
    >>> method.tell(answer[asked]).labels_
    20
    >>> method.predict([[0.5, 0.5], [0.5, -0.5]]).tolist()
    [True, False]
    """

    def __init__(
        self, *, drawn: float = 0.1, model: Any = None, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(drawn=drawn, random_state=random_state)
        self._use(model)
