"""The page on which people label: a thin layer over `unskew.campaigns`."""
