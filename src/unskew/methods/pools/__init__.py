"""Methods on a pool: rows wait until they are asked for."""
