"""Old names of estimates for more than two classes: `Everyone` now takes any number of classes."""

from unskew.renamed import former

__getattr__ = former(
    __name__,
    {
        "ClassEstimate": "unskew.estimation.everyone:ClassEstimate",
        "ManyEveryone": "unskew.estimation.everyone:Everyone",
    },
)
