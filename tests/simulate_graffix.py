"""Run the reproduction of Graffix on a GPU that tests/simulator.py pretends: its second baseline, and all its rows."""

import check_views
import numpy as np
from simulator import pretend

import edgewise as ew
from benchmarks.papers import graffix_tigr

GRAPH = ew.generate.uniform(12, 60, seed=1, weights=(1, 9))


def compare_splitting():
    """Every arc once, and the answers of the CPU, by children that take the edges of a vertex in turns."""
    for bound in (1, 3, graffix_tigr.BOUND):
        choice = graffix_tigr.Interleaved(bound)
        check_views.check_strategy(choice, (0, 1, 2, 17, 65, 3))
        how = {"device": "cuda", "schedule": ew.Schedule(balance=choice)}
        found, expected = ew.sssp(GRAPH, 3, **how), ew.sssp(GRAPH, 3, device="cpu")
        np.testing.assert_array_equal(found.distance, expected.distance)
        found, expected = ew.pagerank(GRAPH, **how), ew.pagerank(GRAPH, device="cpu")
        np.testing.assert_allclose(found.rank, expected.rank, rtol=1e-9)
        assert "they became" in found.explain()


def main():
    """Print the name of what agreed; the exit code is 1 where something does not."""
    pretend()
    graffix_tigr.register()
    compare_splitting()
    print("splitting", flush=True)


if __name__ == "__main__":
    main()
