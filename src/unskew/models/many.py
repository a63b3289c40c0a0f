"""Old names of models of more than two classes: every model now takes any number of classes."""

import sys

from unskew.renamed import former

__getattr__ = former(
    __name__,
    {
        "ManyTeam": "unskew.models.team:Team",
        "ManyTrees": "unskew.models.trees:Trees",
        "ManyCommittee": "unskew.models.committee:BootstrapCommittee",
        "class_probabilities": "unskew.models.scores:class_probabilities",
        "class_scores": "unskew.models.scores:class_scores",
        "gaps": "unskew.models.scores:gaps",
    },
)
for old in ("committee", "scores", "team", "trees"):
    sys.modules[f"{__name__}.{old}"] = sys.modules[__name__]  # each was a module of its own
