"""Rows that may be asked for."""
