"""The methods, and the one loop that drives them. Classes and functions are imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unskew.methods.registry import REGISTRY, method_named

if TYPE_CHECKING:
    from unskew.methods.driving import pool_rounds, run, stream_rounds
    from unskew.methods.loop import Method
    from unskew.methods.pool import PoolMethod
    from unskew.methods.pools.unskew import Unskew
    from unskew.methods.pools.yardsticks import MarginSampling, RandomLabels, WeightedMarginSampling
    from unskew.methods.rounds import Asked, AskedRow, PoolRound, StreamRound
    from unskew.methods.stopping import Stop, StoppingRule, expected_gain
    from unskew.methods.stream import StreamMethod
    from unskew.methods.streams.dbal import DBALw, DBALwm
    from unskew.methods.streams.exact import ExactIDBAL
    from unskew.methods.streams.idbal import IDBAL
    from unskew.methods.streams.linear_method import LinearMethod
    from unskew.methods.streams.passive import Passive
    from unskew.methods.streams.unskew import StreamedUnskew
    from unskew.methods.streams.vcdbal import VCDBAL

__all__ = [
    "IDBAL",
    "VCDBAL",
    "Asked",
    "AskedRow",
    "DBALw",
    "DBALwm",
    "ExactIDBAL",
    "LinearMethod",
    "MarginSampling",
    "Method",
    "Passive",
    "PoolMethod",
    "PoolRound",
    "RandomLabels",
    "Stop",
    "StoppingRule",
    "StreamMethod",
    "StreamRound",
    "StreamedUnskew",
    "Unskew",
    "WeightedMarginSampling",
    "expected_gain",
    "method_named",
    "pool_rounds",
    "run",
    "stream_rounds",
]

_HOME = {name: entry.module for name, entry in REGISTRY.items()} | {
    "Asked": "unskew.methods.rounds",
    "AskedRow": "unskew.methods.rounds",
    "LinearMethod": "unskew.methods.streams.linear_method",
    "Method": "unskew.methods.loop",
    "PoolMethod": "unskew.methods.pool",
    "PoolRound": "unskew.methods.rounds",
    "Stop": "unskew.methods.stopping",
    "StoppingRule": "unskew.methods.stopping",
    "StreamMethod": "unskew.methods.stream",
    "StreamRound": "unskew.methods.rounds",
    "expected_gain": "unskew.methods.stopping",
    "pool_rounds": "unskew.methods.driving",
    "run": "unskew.methods.driving",
    "stream_rounds": "unskew.methods.driving",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'unskew.methods' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
