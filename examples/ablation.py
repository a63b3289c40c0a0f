"""IDBAL without its third key idea, to see what the debiasing query strategy does by itself."""

from unskew import IDBAL


class Undebiased(IDBAL):
    """IDBAL's segments and weights, but Q_k = 1: every row of the disagreement region is queried."""

    debiases = False
