"""The paper's experiments: data sets, simulated logs, mean curves."""

from unskew.experiments.curves import Point, mean_curve
from unskew.experiments.datasets import DATASETS, load

__all__ = ["DATASETS", "Point", "load", "mean_curve"]
