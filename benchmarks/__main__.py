"""The benchmarks that are quick, one after the other. `coverage`, and all of `rounds` and `peers`, take longer."""

from benchmarks import mean_curve, peers, rounds, update

update.main([])
mean_curve.main([])
rounds.main(["--quick"])
peers.main(["--quick"])
