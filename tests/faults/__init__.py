"""A harness that tries to break campaigns: kills, damaged files, odd inputs, many annotators. `make test-faults`."""
