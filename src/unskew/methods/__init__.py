"""The methods, and the one loop that drives them."""

from unskew.methods.base import Method, Round
from unskew.methods.dbal import DBALw, DBALwm
from unskew.methods.exact import ExactIDBAL
from unskew.methods.follow_up import VCDBAL
from unskew.methods.idbal import IDBAL
from unskew.methods.linear_method import LinearMethod
from unskew.methods.loop import pool_rounds, rounds, run
from unskew.methods.passive import Passive
from unskew.methods.report import population_error
from unskew.methods.rivals import MarginSampling, RandomLabels, StreamedUnskew, WeightedMarginSampling
from unskew.methods.stopping import Stop, StoppingRule, expected_gain
from unskew.methods.unskew import Unskew

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
