"""The methods, and the one loop that drives them."""

from unskew.methods.base import Method, Round
from unskew.methods.dbal import DBALw, DBALwm
from unskew.methods.exact import ExactIDBAL
from unskew.methods.idbal import IDBAL
from unskew.methods.linear_method import LinearMethod
from unskew.methods.loop import rounds, run
from unskew.methods.passive import Passive

__all__ = ["IDBAL", "DBALw", "DBALwm", "ExactIDBAL", "LinearMethod", "Method", "Passive", "Round", "rounds", "run"]
