"""Pages that stand alone: the report of a campaign, the audit of a log."""
