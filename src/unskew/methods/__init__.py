"""The methods, and the one loop that drives them."""

from unskew.methods.driving import pool_rounds, rounds, run
from unskew.methods.loop import Method, Round
from unskew.methods.pools.unskew import Unskew
from unskew.methods.pools.yardsticks import MarginSampling, RandomLabels, StreamedUnskew, WeightedMarginSampling
from unskew.methods.report import population_error
from unskew.methods.stopping import Stop, StoppingRule, expected_gain
from unskew.methods.streams.dbal import DBALw, DBALwm
from unskew.methods.streams.exact import ExactIDBAL
from unskew.methods.streams.idbal import IDBAL
from unskew.methods.streams.linear_method import LinearMethod
from unskew.methods.streams.passive import Passive
from unskew.methods.streams.vcdbal import VCDBAL

__all__ = [
    "IDBAL",
    "VCDBAL",
    "DBALw",
    "DBALwm",
    "ExactIDBAL",
    "LinearMethod",
    "MarginSampling",
    "Method",
    "Passive",
    "RandomLabels",
    "Round",
    "Stop",
    "StoppingRule",
    "StreamedUnskew",
    "Unskew",
    "WeightedMarginSampling",
    "expected_gain",
    "pool_rounds",
    "population_error",
    "rounds",
    "run",
]
