"""Pools: rows that wait until they are asked for."""

from unskew.pools.memory import MemoryPool

__all__ = ["MemoryPool"]
