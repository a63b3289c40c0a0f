"""How labels come about: logging policies, propensities (probabilities of a label), and importance weights."""
