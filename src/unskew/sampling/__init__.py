"""How labels come about: logging policies, propensities, and what each label counts for."""
