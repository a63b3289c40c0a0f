"""The paper's experiments: data sets, simulated logs, mean curves."""

from unskew.experiments.curves import METHODS, MORE_METHODS, Point, mean_curve
from unskew.experiments.datasets import DATASETS, load

__all__ = ["DATASETS", "METHODS", "MORE_METHODS", "Point", "load", "mean_curve"]
