"""The paper's analysis on finite domains: every quantity, constant and bound as a number."""

from unskew.theory.analysis import Analysis, Requirements, requirements
from unskew.theory.bounds import C_0, C_1, GAMMA_0, GAMMA_1, GAMMA_2, Delta, delta_k, sigma
from unskew.theory.domain import Domain, S, query_region

__all__ = [
    "C_0",
    "C_1",
    "GAMMA_0",
    "GAMMA_1",
    "GAMMA_2",
    "Analysis",
    "Delta",
    "Domain",
    "Requirements",
    "S",
    "delta_k",
    "query_region",
    "requirements",
    "sigma",
]
