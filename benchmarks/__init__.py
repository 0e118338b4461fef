"""Time and verify edgewise beside what a user would pick instead: `python -m benchmarks`."""
