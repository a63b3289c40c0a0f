"""Both benchmarks, one after the other."""

from benchmarks import mean_curve, update

update.main([])
mean_curve.main([])
