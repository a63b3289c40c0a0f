"""Models for more than two classes: the same members as for two, each with a score for every class.

Labels are the numbers 1.0, 2.0, ..., K (`unskew.labels.codes`). Where a model for two classes has one column of
log-odds, these have a column for each class.
"""
