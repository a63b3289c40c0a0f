"""Classifiers: linear, Bayesian logistic, committees of any scikit-learn classifier, and their beliefs about rows."""
