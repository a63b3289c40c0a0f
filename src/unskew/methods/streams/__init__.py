"""Methods on a stream: each row is seen once."""
