"""Run the reproduction of WolfPath on a GPU that tests/simulator.py pretends: all of its rows, on small graphs."""

import tempfile
from pathlib import Path

import numpy as np
from simulator import pretend
from wolfpath_sweeps import GRAPHS as SWEPT_WRONG

import edgewise as ew


def columns(graph):
    """What a case is made of, with two vertices that no edge has."""
    return graph.num_vertices + 2, (graph.sources, graph.targets, graph.weights.astype(np.int32))


#: Deep; shallow, with self-loops and parallel edges.
GRAPHS = {
    "lattice": lambda: ew.generate.lattice(6, 5, removed=0.2, weights=(1, 20)),
    "skewed": lambda: ew.generate.rmat(5, 3, weights=(1, 20)),
}


def compare(name, folder):
    """Every way gives the right answer, but for one pass with lengths, which may leave distances too long."""
    from benchmarks.papers import wolfpath

    case = wolfpath.Case(name, columns(GRAPHS[name]()))
    for program in wolfpath.PROGRAMS:
        wanted = case.wanted(program)
        for system, flag, make, by_place in wolfpath.contenders(case, program):
            sweep = make()
            row = wolfpath.swept(sweep, flag, 1)
            assert row["iterations"] > 0 and row["ms"] > 0
            found = wolfpath.compared(sweep, by_place, case, wanted)
            values = sweep.values[case.layers.order.place] if by_place else sweep.values
            assert (values >= wanted).all()
            assert found["right"] or system == wolfpath.ONE_PASS, (name, program, system, flag)
            assert found["right"] == (found["wrong_percent"] == 0)
            if flag == wolfpath.KNOWN and program == "BFS":
                assert row["iterations"] == case.layers.order.num_layers
        for min_edges in (1, 7, 10_000):
            sweep = wolfpath.list_sweep(case, program, min_edges)
            sweep.reset()
            sweep.whole()
            assert wolfpath.compared(sweep, True, case, wanted)["right"]
    for part in wolfpath.preprocessing_rows(case, folder):
        assert part.get("right", True), part
    sizes = {row["system"]: row["bytes"] for row in wolfpath.memory_rows(case)}
    n, m = case.graph.num_vertices, case.graph.num_arcs
    assert sizes["CSR"] == 4 * (n + 1 + m)
    assert sizes["layered edge list"] == 8 * m + 8 * (case.layers.order.num_layers + 2)
    assert sizes["concatenated windows"] == 16 * m + 4 * (case.shards.count + 1) * case.shards.count


def compare_one_pass():
    """One pass leaves the distance of vertex 4 too long, whose shortest path leads back by a layer: 0, 1, 3, 2, 4."""
    from benchmarks.papers import wolfpath

    columns = zip(*SWEPT_WRONG["back"], strict=True)
    case = wolfpath.Case("back", (5, tuple(np.array(column, np.int32) for column in columns)))
    for passes, distance in ((1, 11), (0, 4)):
        sweep = wolfpath.list_sweep(case, "SSSP", 1, passes)
        sweep.reset()
        sweep.whole()
        found = wolfpath.compared(sweep, True, case, case.wanted("SSSP"))
        assert sweep.values[case.layers.order.place].tolist() == [0, 1, 3, 2, distance]
        assert found == {"right": passes == 0, "wrong_percent": 20.0 * passes}


def compare_layered(edges):
    """Edgewise's own sweeps give the right distances where a single sweep does not, whatever the lists."""
    from wolfpath_sweeps import shortest

    source, target, weight = (np.array(column, np.int32) for column in zip(*edges, strict=True))
    graph = ew.Graph.from_edges(source, target, weight)
    for min_edges in (1, 2, None):
        schedule = ew.Schedule(layout=ew.Layered(0, min_edges=min_edges))
        found = ew.sssp(graph, 0, device="cuda", schedule=schedule)
        assert "swept" in found.explain()
        assert found.distance.tolist() == shortest(edges, 0, graph.num_vertices)


def compare_rows(folder):
    """The rows of all parts are right, and only one pass with lengths may be wrong."""
    from benchmarks.papers import wolfpath

    case = wolfpath.Case("lattice", columns(GRAPHS["lattice"]()))
    found = [*wolfpath.flag_rows(case, 1), *wolfpath.list_rows(case, 1)]
    found += wolfpath.beyond_rows(6, "200MB", folder)
    assert {row["part"] for row in found} == {"flags", "lists", "beyond"}
    for row in found:
        assert set(row) <= {*wolfpath.FIELDS, "repeat"}
        assert row["right"] is True or row["system"] == wolfpath.ONE_PASS, row
        assert wolfpath.line(row)


def main():
    """Print the name of what agreed; the exit code is 1 where something does not."""
    pretend()
    from benchmarks import gpu

    gpu.synchronize = lambda: None
    with tempfile.TemporaryDirectory() as folder:
        for name in GRAPHS:
            compare(name, Path(folder))
            print(name, flush=True)
        for name, edges in SWEPT_WRONG.items():
            compare_layered(edges)
            print(name, flush=True)
        compare_one_pass()
        print("one pass", flush=True)
        compare_rows(Path(folder))
        print("rows", flush=True)


if __name__ == "__main__":
    main()
