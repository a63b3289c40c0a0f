"""Your own stream method: from every batch, buy the quarter of the rows on which a logistic model is least sure."""

import numpy as np

from unskew.descent import Descent
from unskew.methods import StreamMethod, StreamRound
from unskew.models.linear import LinearClassifier
from unskew.rows import stack
from unskew.sampling.weights import importance


class Margin(StreamMethod):
    """Margin sampling after a weighted warm start: weights are 1/Q0 for the log's labels, 1 for bought labels."""

    def warm_start(self):
        log = self.log_
        return self.fitted(log.revealed_X, log.revealed_y, importance(log.revealed_q0))

    def choose(self, X, q0):
        margin = np.abs(self.model_.decision_function(X))
        queried = margin <= np.quantile(margin, 0.25)
        return StreamRound(X, q0, self.infer(X), queried, kept=queried, p=queried.astype(float))

    def learn(self, batch):
        X, y, v, _ = self.state_
        new = batch.bought
        return self.fitted(stack([X, new.X]), np.append(y, new.y), np.append(v, np.ones(len(new.y))))

    def fitted(self, X, y, v):
        descent = Descent(self.log_.n_features, eta=1.0, loss="logistic", intercept=True)
        descent.run(X, y, v, self._rng.permutation(len(y)))
        return X, y, v, descent

    @property
    def model_(self):
        return LinearClassifier.from_descent(self.state_[-1], self.log_.classes)
