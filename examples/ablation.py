"""IDBAL without its third key idea, to see how much the debiasing query strategy contributes."""

from unskew import IDBAL


class Undebiased(IDBAL):
    """IDBAL's segments and weights, but with Q_k = 1: every row of the disagreement region is queried."""

    debiases = False
