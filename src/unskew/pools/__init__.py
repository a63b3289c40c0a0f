"""Pools: rows that wait until they are asked for."""

from unskew.pools.interface import Block, Pool, Some
from unskew.pools.memory import MemoryPool

__all__ = ["Block", "MemoryPool", "Pool", "Some"]
