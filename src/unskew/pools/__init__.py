"""Pools: rows that wait until they are asked for."""

from unskew.pools.interface import Pool
from unskew.pools.memory import MemoryPool

__all__ = ["MemoryPool", "Pool"]
