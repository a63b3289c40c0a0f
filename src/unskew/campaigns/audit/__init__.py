"""How skewed a log is, and where its blind spots are."""
