"""How good a classifier is on the population: sampling designs, estimators, intervals."""
