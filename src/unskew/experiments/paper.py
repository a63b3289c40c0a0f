"""The AUC tables printed in the paper, for comparison with ours."""

from functools import lru_cache
from importlib.resources import files
from io import BytesIO

import polars as pl

TABLE = "paper_auc.csv"


@lru_cache
def paper_auc() -> dict[tuple[str, str, str], float]:
    """The printed AUC of each (data set, policy, method): twelve data sets, four policies, four methods.

    >>> paper_auc()["magic", "uniform", "IDBAL"] < paper_auc()["magic", "uniform", "Passive"]
    True
    """
    raw = files("unskew.experiments").joinpath(TABLE).read_bytes()
    return {(dataset, policy, method): auc for dataset, policy, method, auc in pl.read_csv(BytesIO(raw)).iter_rows()}
