"""The page on which people label: thin over `unskew.campaigns`."""
