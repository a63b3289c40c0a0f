"""What a classifier is worth on the population: designs, estimators, intervals."""
