"""A fifth method: of every batch, buy the quarter on which a logistic model is least sure."""

import numpy as np

from unskew.methods import Method, Round
from unskew.models.linear import Descent, LinearClassifier
from unskew.rows import stack
from unskew.sampling.weights import importance


class Margin(Method):
    """Margin sampling from a weighted warm start: 1/Q0 for the log's labels, 1 for those bought."""

    def warm_start(self):
        log = self.log_
        self.X, self.y, self.v = log.revealed_X, log.revealed_y, importance(log.revealed_q0)
        self.fit()

    def choose(self, X, q0):
        margin = np.abs(self.model_.decision_function(X))
        return Round(X, q0, self.infer(X), queried=margin <= np.quantile(margin, 0.25))

    def learn(self, batch):
        bought = batch.queried
        self.X = stack([self.X, batch.X[bought]])
        self.y = np.concatenate([self.y, batch.y[bought]])
        self.v = np.concatenate([self.v, np.ones(bought.sum())])
        self.fit()

    def fit(self):
        descent = Descent(self.log_.n_features, eta=1.0, loss="logistic", intercept=True)
        descent.run(self.X, self.y, self.v, self._rng.permutation(len(self.y)))
        self._model = LinearClassifier.from_descent(descent, self.log_.classes)

    @property
    def model_(self):
        return self._model
