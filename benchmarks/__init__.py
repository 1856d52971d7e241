"""Measurements of a spawned gateway: what it costs and what it finds. Run by `python -m benchmarks`."""
