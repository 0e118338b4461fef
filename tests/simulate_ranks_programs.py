"""Algorithms on ranks with GPUs that tests/simulator.py pretends, by the calls of rank_algorithms.py: see
simulate_ranks_pagerank.py."""

import sys
from functools import partial

from rank_algorithms import calls_on, compare_algorithm
from simulate_ranks import connect_threads, pretend_ranks
from simulate_ranks_pagerank import by_threads

import edgewise as ew

CALLS = calls_on(
    ew.generate.uniform(12, 40, seed=1, weights=(1, 9)),
    ew.Graph.from_edges([0, 1, 0, 2, 3, 1], [1, 2, 2, 3, 4, 4], num_vertices=7),
    ew.Graph.from_edges([0, 0, 1, 2, 3, 3, 5], [1, 2, 2, 3, 4, 3, 5], directed=False),
)


def main():
    """Print what agreed on one, two and three ranks."""
    pretend_ranks(warps=False)
    connect_threads()
    for name in sys.argv[1:]:
        for graph, how in CALLS[name]:
            for size in (1, 2, 3):
                by_threads(size, partial(compare_algorithm, name, graph, how))
        print(name)


if __name__ == "__main__":
    main()
