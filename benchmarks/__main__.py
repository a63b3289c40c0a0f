"""Run the quick benchmarks one after the other. `coverage` and the full `rounds` and `peers` take longer."""

from benchmarks import mean_curve, peers, rounds, update

update.main([])
mean_curve.main([])
rounds.main(["--quick"])
peers.main(["--quick"])
