"""Classifiers: linear, Bayesian logistic, committees of any scikit-learn classifier, and what they believe of rows."""
