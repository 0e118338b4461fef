"""Run other systems' ways on small graphs, on a GPU that tests/simulator.py pretends, and all of benchmarks/beyond.py.

With the argument "warps" the simulator has warps of several lanes (tests/simulated_warps.py), and only the ways run.
"""

import contextlib
import sys

import numpy as np
from simulated_warps import with_warps
from simulator import pretend

import edgewise as ew
from edgewise.graph.resident import Resident

#: A row of 40 arcs among short ones, and vertices without arcs at both ends.
HUB = [*[3] * 40, *range(4, 30)], [*range(2, 42), *range(5, 31)]
GRAPHS = {
    "hub": ew.Graph.from_edges(*HUB, [*range(1, 67)], num_vertices=45),
    "hub of in-edges": ew.Graph.from_edges(*reversed(HUB), [*range(1, 67)], num_vertices=45),
    "random": ew.generate.uniform(30, 90, seed=1, weights=(1, 9)),
    "no arcs": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=3),
}
#: Arcs of a slot: a few rows each, so that there are many parts.
ARCS = 40


class Link:
    """Copies are made at once. To fill a slot that a kernel reads, or to read one that is not filled, is an error."""

    def __init__(self):
        self.filled, self.read = [False, False], [True, True]

    @contextlib.contextmanager
    def filling(self, slot):
        assert self.read[slot], "filled while a kernel may read it"
        self.filled[slot], self.read[slot] = True, False
        yield

    def was_read(self, slot):
        assert self.filled[slot], "read before it was filled"
        self.read[slot] = True

    def wait(self, slot):
        pass


def ways_to(ways, rows):
    """The three ways to rows."""
    slots = [ways.Slots(ARCS, rows.weights is not None) for _ in range(2)]
    return ways.InPlace(rows), ways.Copied(rows, slots[0]), ways.Compacted(rows, slots[1])


def relaxed(ways, ways_taken, n, source, length):
    """Values when no more is lowered, from one vertex, and the supersteps."""
    value, flags = np.full(n, 2**31 - 1, np.int32), np.zeros(n, np.uint8)
    value[source], flags[source] = 0, 1
    return value, ways.relax(ways_taken, value, flags, length)


def compare(ways, kernels, graph):
    """Each way against the CPU; the bytes that it moves are counted."""
    out, inward, n = graph.stored, graph.stored_in_edges, graph.num_vertices
    bare, bare_inward = (type(out)(rows.offsets, rows.targets, None) for rows in (out, inward))
    source = 3 % n
    expected = ew.sssp(graph, source, device="cpu").distance.astype(np.int64)
    for way in ways_to(ways, out):
        value, _ = relaxed(ways, [way], n, source, kernels.WEIGHTED)
        np.testing.assert_array_equal(value, np.minimum(expected, 2**31 - 1))
    level = ew.bfs(graph, source, device="cpu").level
    in_place, copied, compacted = ways_to(ways, bare)
    for way in (in_place, copied, compacted):
        value, supersteps = relaxed(ways, [way], n, source, 1)
        np.testing.assert_array_equal(np.where(value == 2**31 - 1, -1, value), level)
    rows_read = graph.out_degree[level >= 0]
    assert in_place.moved == 4 * rows_read.sum()
    assert compacted.moved == in_place.moved + 8 * np.count_nonzero(rows_read) + 4 * supersteps
    assert in_place.moved <= copied.moved <= 4 * graph.num_arcs * supersteps
    for way, other in zip(ways_to(ways, bare), ways_to(ways, bare_inward), strict=True):
        value = np.arange(n, dtype=np.int32)
        ways.relax([way, other], value, np.ones(n, np.uint8), 0)
        np.testing.assert_array_equal(value, ew.connected_components(graph, device="cpu").component)
    expected = ew.pagerank(graph, tol=0, max_iterations=3, device="cpu").rank
    for way in ways_to(ways, bare_inward):
        np.testing.assert_allclose(ways.rank(way, graph.out_degree, 3, 0.85), expected, rtol=1e-5)


def compare_rows(beyond):
    """All rows of the benchmark, on a small graph, with little memory."""
    graph, limit, usual = ew.generate.rmat(4, 4, weights=(1, 100)), 600, Resident.place
    found = list(beyond.rows(graph, limit, list(beyond.WAYS), list(beyond.ALGORITHMS), 1, verify=True))
    for row in found:
        assert row["right"], beyond.line(row)
        beyond_memory = row["what"] in ("limit", "arcs on the host")
        assert ("read from the host's memory" in row["explain"]) == beyond_memory, beyond.line(row)
        print(row["what"], row["algorithm"], sep=", ", flush=True)
    assert Resident.place is usual
    assert len(beyond.beyond_table(found).split("\n")) == 2 + len(beyond.WAYS)


def main():
    """Print the name of each graph on which all agreed, and each row of the benchmark."""
    warps = "warps" in sys.argv
    if warps:
        with_warps()
    pretend()
    from benchmarks import beyond, beyond_kernels, beyond_ways

    beyond_kernels.HEAVY, beyond_ways.Link, beyond.synchronize = 8, Link, lambda: None
    for name, graph in GRAPHS.items():
        compare(beyond_ways, beyond_kernels, graph)
        print(name, flush=True)
    if not warps:
        compare_rows(beyond)


if __name__ == "__main__":
    main()
