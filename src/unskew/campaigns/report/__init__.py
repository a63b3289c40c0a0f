"""Self-contained pages: the report of a campaign, the audit of a log."""
