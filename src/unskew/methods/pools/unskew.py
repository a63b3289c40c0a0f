"""Unskew on a pool: the method to use. It has nothing to tune, and learns from every label of every source."""

from typing import Any

import numpy as np

from unskew.estimation.aims import Aim
from unskew.estimation.costs import EQUAL, Costs
from unskew.methods.learner import Learner
from unskew.methods.pool import PoolMethod
from unskew.methods.rounds import SHARE


class Unskew(Learner, PoolMethod):
    """Learn from every label so far, and ask for the labels that settle most of the doubtful signs.

    The model is a `Team`: a Bayesian logistic regression and trees, weighted by how well each predicts labels that it
    has not seen. Every row gets a margin with mean mu, by the team, and standard deviation s, by the
    posterior of the logistic regression; s is large where the log has few labels.

    The value of a label is what it tells about all rows. It is the sum, over the rows of the pool, of the probability
    that the sign of the margin is wrong, times the share of the margin's variance that the label removes
    (`unskew.models.belief`). Rows are chosen one after the other, each as if the earlier ones were already labelled. So
    labels go where many rows are in doubt, including the log's blind spots, and a batch is not k copies of one row. A
    share `drawn` of all labels goes to rows drawn at random from the others, in proportion to doubt: where the model is
    more likely to be wrong, a row is more likely to be drawn. Before the first label, all rows are drawn, evenly.

    Labels are weighted by the tempered mixture of log and rounds (`weights.thinness`). Where the log reveals many
    labels, a single label counts less; where it reveals few, each label stands for more rows of the population.

    Every row comes with the probability with which it was asked for: 1 if it was chosen; if it was drawn, its chance
    when its turn came (`unskew.sampling.draws`). Error estimates for the whole population are based on these.

    Parameters
    ----------
    drawn : float in [0, 1]
        The share of the labels that are drawn at random. More of them make the estimate of the error narrower, fewer of
        them teach a little more.
    costs : Costs
        What a missed positive and a false alarm cost, such as ``Costs(false_negative=10)``. They decide from what
        probability on a row is predicted to be positive. Rows are then chosen, drawn and judged by that decision.
    recall : float in (0, 1), optional
        The share of all positives that is to be found, instead of costs. After each round, the costs become those with
        the largest threshold at which the model is expected to find as many.
    model : scikit-learn classifier, optional
        Learn with this classifier instead. A committee of copies of it (`BootstrapCommittee`) measures how sure it is,
        and rows are chosen by |mu| / s. Its `fit` must take `sample_weight`. ``Team([classifier])`` adds it to the
        team.
    look : int
        Each round considers only this number of rows, drawn again each time. By default it looks at every row.
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
    >>> asked[0].reason, asked[0].probability, asked[19].reason, asked[19].probability < 0.5
    ('chosen', 1.0, 'drawn', True)
    >>> method.tell(answer[asked]).labels_
    20
    >>> method.predict([[0.5, 0.5], [0.5, -0.5]]).tolist()
    [True, False]
    """

    many_classes = True

    def __init__(
        self,
        *,
        drawn: float = SHARE,
        costs: Costs = EQUAL,
        recall: float | None = None,
        model: Any = None,
        look: int = 0,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(drawn=drawn, look=look, random_state=random_state)
        aim = Aim(costs, recall)
        self.costs, self.recall = aim.costs, aim.recall
        self._use(model)
