"""Methods on a pool: rows that wait until they are asked for."""
