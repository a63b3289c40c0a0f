"""Learn a classifier for everyone when labels were recorded only for some.

>>> import unskew
>>> unskew.IDBAL(C=0.64, eta=0.0256).eta
0.0256

Names are imported on first use, so that `import unskew` itself is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.data import LoggedData
    from unskew.estimation.costs import Costs
    from unskew.methods import (
        IDBAL,
        VCDBAL,
        DBALw,
        DBALwm,
        ExactIDBAL,
        Passive,
        StoppingRule,
        StreamedUnskew,
        Unskew,
        run,
    )
    from unskew.models.bayes import BayesianLogistic
    from unskew.models.linear import LinearClassifier
    from unskew.models.team import Team

__version__ = "0.11.0"

__all__ = [
    "IDBAL",
    "VCDBAL",
    "BayesianLogistic",
    "Costs",
    "DBALw",
    "DBALwm",
    "ExactIDBAL",
    "LinearClassifier",
    "LoggedData",
    "Passive",
    "StoppingRule",
    "StreamedUnskew",
    "Team",
    "Unskew",
    "__version__",
    "run",
]

_HOME = {
    "BayesianLogistic": "unskew.models.bayes",
    "Costs": "unskew.estimation.costs",
    "LinearClassifier": "unskew.models.linear",
    "LoggedData": "unskew.data",
    "Team": "unskew.models.team",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'unskew' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "unskew.methods")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
