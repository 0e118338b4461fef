"""Shortest paths from several sources and within bounds, on a GPU that tests/simulator.py pretends: as on the CPU."""

from bounded_cases import GRAPHS, compare, compare_negative
from simulator import pretend

if __name__ == "__main__":
    pretend()
    for seed in range(GRAPHS):
        compare(seed)
    for seed in range(3):
        compare_negative(seed)
    print("as on the CPU")
