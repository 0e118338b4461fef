"""Run the reproduction of Graffix on a GPU that tests/simulator.py pretends: its second baseline, and its rows."""

import check_views
import numpy as np
from simulator import pretend

import edgewise as ew
from benchmarks.papers import graffix, graffix_setup, graffix_tigr

GRAPH = ew.generate.uniform(14, 60, seed=1, simple=True, weights=(1, 9))
#: Values of the knob with which edges are added, and vertices replicated where chunks have room.
VALUES = {graffix_setup.SLOTS: 0.1, graffix_setup.DIVERGENCE: 0.5, graffix_setup.COALESCING: 0.1}


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


def compare_baselines():
    """Every baseline gives the answers of the CPU, on a graph and on what a technique makes of it."""
    case = graffix_setup.Case("uniform", "random26", GRAPH, num_sources=2)
    how = graffix.How("cuda", 1)
    for baseline, technique in (
        (graffix_setup.NODE, graffix_setup.SLOTS),
        (graffix_setup.TIGR, graffix_setup.DIVERGENCE),
        (graffix_setup.FASTEST, graffix_setup.COALESCING),
    ):
        exact, made = graffix_setup.baselines("cuda")[baseline], case.made(technique, VALUES[technique])
        assert made.num_added > 0 or technique == graffix_setup.COALESCING
        assert made.copies is None or made.copies.num_replicas > 0 or technique == graffix_setup.COALESCING
        for algorithm in case.calls:
            row = graffix.evaluated(case, algorithm, made, baseline, exact, how)
            assert set(row) <= set(graffix.FIELDS)
            assert row["right"] and row["ms"] > 0, (baseline, technique, row)
    (row,) = graffix.graph_rows(case, how)
    assert row["edges"] == GRAPH.num_arcs and row["transfer_ms"] > 0


def compare_confluence():
    """Replicas with one state give exact answers on a GPU, too; their means do not."""
    case = graffix_setup.Case("rmat", "rmat26", ew.generate.rmat(6, 8, simple=True, weights=(1, 9)))
    for row in graffix.confluence_rows(case, graffix.How("cuda", 1)):
        if row["confluence"] == graffix.ONE_STATE and (row["algorithm"] == "SSSP" or row["added"] == 0):
            assert row["inaccuracy"] < 1e-5, row


def main():
    """Print the name of what agreed; the exit code is 1 where something does not."""
    pretend()
    graffix.synchronize = lambda: None
    graffix_tigr.register()
    for name, compare in (
        ("splitting", compare_splitting),
        ("baselines", compare_baselines),
        ("confluence", compare_confluence),
    ):
        compare()
        print(name, flush=True)


if __name__ == "__main__":
    main()
