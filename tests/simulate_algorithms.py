"""Run the algorithms on a GPU that tests/simulator.py pretends, and compare them with the CPU.

With the argument "programs" they run as programs, with "warps" the simulator has warps of several lanes: see
tests/simulated_warps.py.
"""

import itertools
import re
import sys
from unittest import mock

import numpy as np
import pytest
from replicated import balance_for, replicated
from simulated_warps import with_warps
from simulator import pretend
from test_engines import SSSP

import edgewise as ew
from edgewise.algorithms.pagerank.memory import apart_bytes
from edgewise.errors import MemoryLimitError, NegativeCycleError, ScheduleError
from edgewise.graph.gpu_rows import build
from edgewise.run import Prepared

GRAPHS = {
    "one vertex": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
    "star out": ew.Graph.from_edges([0] * 67, range(1, 68), [1] * 67),
    "many to one": ew.Graph.from_edges([*range(1, 18), 0], [0] * 17 + [3], range(18)),
    "path": ew.generate.path(12, weights=(0, 3)),
    "random": ew.generate.uniform(12, 40, seed=1, weights=(1, 9)),
    "apart": ew.generate.uniform(20, 14, seed=2, weights=(1, 9)),
    "both ways": ew.generate.uniform(15, 25, seed=3, directed=False, weights=(1, 9)),
    "loops": ew.Graph.from_edges([0, 0], [0, 0], [0, 1], num_vertices=2),
}
#: Each algorithm takes the next one for the next of these graphs.
BALANCED = ("star out", "random", "both ways")
BALANCES = (
    ew.ThreadMapped(),
    ew.WarpMapped(),
    ew.BlockMapped(),
    ew.NodeSplitting(2),
    ew.EdgeBased(),
    ew.WorkloadDecomposition(),
    ew.MergePath(),
    ew.HierarchicalProcessing(2),
    ew.Binned(),
    replicated,
)


def same(got, expected, *attributes):
    """Assert that two results are the same in these arrays."""
    for attribute in attributes:
        np.testing.assert_array_equal(
            getattr(got, attribute), getattr(expected, attribute), err_msg=attribute
        )


def compare_beyond(graph):
    """Compare algorithms that have the least memory with which they run."""

    def limited(algorithm, *arguments, **options):
        if graph.num_arcs == 0:
            return algorithm(graph, *arguments, device="cuda", **options)
        with pytest.raises(MemoryLimitError) as refused:
            algorithm(graph, *arguments, device="cuda", memory_limit=0, **options)
        (least,) = re.findall(r"needs ([\d,]+) bytes on the GPU", str(refused.value))
        least = int(least.replace(",", ""))
        got = algorithm(graph, *arguments, device="cuda", memory_limit=least, **options)
        assert "read from the host's memory" in got.explain()
        return got

    same(limited(ew.bfs, 0), ew.bfs(graph, 0, device="cpu"), "level", "parent_index")
    same(limited(ew.sssp, 0), ew.sssp(graph, 0, device="cpu"), "distance", "parent_index")
    if graph.weighted:

        def program(graph, device, **options):
            return Prepared(SSSP, graph, device)(source=0, **options)

        expected = program(graph, "cpu").fields["distance"]
        np.testing.assert_array_equal(limited(program).fields["distance"], expected)
    for options in ({}, {"weighted": True, "personalization": np.arange(graph.num_vertices) + 1.0}):
        if "weighted" in options and not graph.weighted:
            continue
        expected = ew.pagerank(graph, device="cpu", **options)
        limit = apart_bytes(graph, 8, "personalization" in options)
        apart = ew.pagerank(graph, device="cuda", memory_limit=limit, **options)
        assert graph.num_arcs == 0 or "laid in-edges out in the host's memory" in apart.explain()
        for got in (limited(ew.pagerank, **options), apart):
            np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
            assert got.verify(graph)


def compare_without_room_to_lay_out():
    """PageRank over in-edges as they are, or over weights as a program, if neither the GPU nor the host has room for
    its layout; programs run without a layout if there is no room for it either."""
    from edgewise.algorithms.pagerank import cuda_apart  # after `pretend`
    from edgewise.engine import delivery
    from edgewise.engine.cuda import layout

    jump = np.arange(12.0) % 5
    for weighted, free in ((False, 0), (True, 10**9), (True, 0)):
        for n, dtype, given in ((12, np.float64, None), (11, np.float32, jump[:11])):
            options = {"max_iterations": 3, "weighted": weighted, "personalization": given, "dtype": dtype}
            graph = ew.generate.uniform(n, 150, seed=1, weights=(1, 9))
            expected = ew.pagerank(graph, device="cpu", **options)
            with (
                mock.patch.object(cuda_apart, "check_free", side_effect=MemoryLimitError("no room")),
                mock.patch.object(layout, "free_memory", return_value=free),
                mock.patch.object(delivery, "FEW_ARCS", 0),
            ):
                got = ew.pagerank(graph, device="cuda", memory_limit=1500, **options)
            assert ("as they are" in got.explain()) == (not weighted)
            over = graph.in_sources.nbytes - graph.gpu.part(graph.in_sources.nbytes)
            assert (
                weighted or f"each iteration reads {over:,} bytes of in-edges over the link" in got.explain()
            )
            assert ("there was no room for a layout" in got.explain()) == (weighted and free == 0)
            np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12 if n == 12 else 1e-5)
            np.testing.assert_allclose(got.residual, expected.residual, rtol=1e-5)
            assert got.verify(graph)


def compare(graph):
    """Compare all algorithms on a graph with the CPU."""
    for delivery in ("auto", ew.Push(), ew.Pull()):
        schedule = ew.Schedule(delivery=delivery)
        got, expected = (ew.bfs(graph, 0, device=device, schedule=schedule) for device in ("cuda", "cpu"))
        same(got, expected, "level", "parent_index", "supersteps")
    for delta in ("auto", 2.0):
        got, expected = (ew.sssp(graph, 0, device=device, delta=delta) for device in ("cuda", "cpu"))
        same(got, expected, "distance", "parent_index")
    compare_beyond(graph)
    compare_components(graph)
    compare_core_numbers(graph)
    compare_triangles(graph)
    if graph.directed:
        compare_generations(graph)
    for weighted in (False, True):
        options = {"max_iterations": 3, "weighted": weighted}
        got, expected = (ew.pagerank(graph, device=device, **options) for device in ("cuda", "cpu"))
        np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
        assert got.verify(graph)
    got, expected = (ew.pagerank(graph, device=device, tol=0, max_iterations=4) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(got.residual, expected.residual, rtol=1e-9, atol=1e-15)


def compare_components(graph):
    """Compare components, strong ones and forests with the CPU."""
    for algorithm in (ew.connected_components, ew.scc):
        got, expected = (algorithm(graph, device=device) for device in ("cuda", "cpu"))
        same(got, expected, "component", "num_components")
    compare_forest(graph)


def compare_core_numbers(graph):
    """Compare core numbers with the CPU."""
    got, expected = (ew.core_numbers(graph, device=device) for device in ("cuda", "cpu"))
    same(got, expected, "core", "supersteps", "max_core")


def compare_triangles(graph):
    """Compare triangles with the CPU, directions ignored."""
    graph = graph.to_undirected("keep")
    got, expected = (ew.triangles(graph, device=device) for device in ("cuda", "cpu"))
    same(got, expected, "triangles", "degree", "total", "clustering", "transitivity")


def compare_generations(graph):
    """Compare a topological order with that of the CPU, of the graph and of one without cycles."""
    upward = graph.sources < graph.targets
    ends = graph.sources[upward], graph.targets[upward]
    for each in (graph, ew.Graph.from_edges(*ends, num_vertices=graph.num_vertices)):
        got, expected = (ew.topological_order(each, device=device) for device in ("cuda", "cpu"))
        same(got, expected, "generation", "is_acyclic")


def compare_forest(graph, symmetrize=True):
    """Compare a forest with that of the CPU; both of them."""
    got, expected = (ew.mst(graph, symmetrize=symmetrize, device=device) for device in ("cuda", "cpu"))
    same(got, expected, "source_index", "target_index", "weight", "num_components")
    return got, expected


def both(algorithm, graph, *args, balance, delivery="auto", **options):
    """The result of an algorithm as a program on the GPU, verified, and that on the CPU."""
    balance = balance_for(graph, balance)
    schedule = ew.Schedule(delivery, balance=balance)
    got = algorithm(graph, *args, device="cuda", schedule=schedule, **options)
    assert balance == "auto" or f"balance {balance}" in got.explain()
    assert got.verify(graph)
    return got, algorithm(graph, *args, device="cpu", **options)


def compare_balanced(graph, balances):
    """Compare all algorithms as programs, each with the next strategy, with the CPU."""
    same(*both(ew.bfs, graph, 0, balance=next(balances)), "level", "parent_index", "supersteps")
    same(*both(ew.sssp, graph, 0, balance=next(balances)), "distance", "parent_index")
    same(*both(ew.connected_components, graph, balance=next(balances)), "component", "num_components")
    options = {"symmetrize": graph.directed, "balance": next(balances)}
    same(*both(ew.mst, graph, **options), "source_index", "target_index", "weight", "num_components")
    balance = next(balance for balance in balances if not isinstance(balance, ew.EdgeBased))
    got, expected = both(ew.pagerank, graph, balance=balance, max_iterations=2)
    np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
    same(*both(ew.scc, graph, balance=next(balances)), "component", "num_components")
    options = {"delivery": ew.Buffered()} if graph.directed else {"endpoints": True}
    got, expected = both(ew.betweenness, graph, balance=balance, sources=[0, 7], **options)
    np.testing.assert_allclose(got.dependency, expected.dependency, rtol=1e-11, atol=1e-12)


def compare_options():
    """The options of algorithms that run as programs, and what is refused."""
    graph, balance = GRAPHS["random"], ew.WarpMapped(8)
    several = {"max_depth": 2, "delivery": ew.Pull()}
    same(*both(ew.bfs, graph, [3, 7, 3], balance=balance, **several), "level", "parent_index", "supersteps")
    lengths = (np.arange(graph.num_arcs) % 3).astype(np.float32)
    other = ew.Graph.from_edges(graph.sources, graph.targets, lengths, num_vertices=graph.num_vertices)
    same(*both(ew.sssp, other, 2, balance=balance, delivery=ew.Pull()), "distance", "parent_index")
    jump, start = np.arange(12.0) % 5, np.arange(12) % 3
    got, expected = both(
        ew.pagerank, other, balance=balance, weighted=True, personalization=jump, start=start, tol=0.2
    )
    assert (got.iterations, got.converged) == (expected.iterations, expected.converged)
    np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-12)
    np.testing.assert_allclose(got.residual, expected.residual, rtol=1e-9)
    got, expected = both(ew.pagerank, graph, balance=balance, dtype=np.float32, max_iterations=2)
    assert got.rank.dtype == np.float32
    np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-6)
    got, expected = both(ew.pagerank, graph, balance=balance, max_iterations=0)
    same(got, expected, "rank", "iterations", "converged", "residual")
    for schedule in (ew.Schedule(balance=ew.EdgeBased()), ew.Schedule(ew.Push(), balance=balance)):
        try:
            ew.pagerank(graph, device="cuda", schedule=schedule)
        except ScheduleError:
            continue
        raise AssertionError(f"{schedule} is not refused")


def compare_coalesced():
    """Graphs with replicas by their slots, where few vertices send and where all do; not those of another graph."""
    for graph in (GRAPHS["random"], GRAPHS["both ways"], GRAPHS["star out"]):
        made = ew.approx.coalesce(graph, chunk=4, threshold=0.25, extra=2, budget=1.0)
        assert made.copies.num_replicas > 0
        same(*both(ew.bfs, made.graph, 0, balance=made.balance), "level", "parent_index", "supersteps")
        same(*both(ew.sssp, made.graph, 0, balance=made.balance), "distance", "parent_index")
        got = ew.sssp(made.graph, 0, device="cuda", schedule=made.schedule)
        same(got, ew.sssp(made.graph, 0, device="cpu"), "distance")
        assert f"of {len(made.copies.vertex):,} have edges" in got.explain()
        with pytest.raises(ScheduleError, match="made for another graph than"):
            ew.bfs(made.original, 0, device="cuda", schedule=made.schedule)


def compare_negative_weights():
    """Distances, parents and supersteps with negative weights, and a negative cycle."""
    random = np.random.default_rng(6)
    ends, height = random.integers(0, 9, (2, 30)), random.integers(0, 12, 9)
    weight = random.integers(0, 5, 30) + height[ends[0]] - height[ends[1]]
    for dtype in (np.int32, np.float32):
        graph = ew.Graph.from_edges(*ends, weight.astype(dtype), num_vertices=9)
        for balance in (ew.WorkloadDecomposition(), "auto"):
            got, expected = both(ew.sssp, graph, 0, balance=balance)
            same(got, expected, "distance", "parent_index", "supersteps")
    cycle = ew.Graph.from_edges([0, 1, 2], [1, 2, 1], [4, 1, -2])
    try:
        ew.sssp(cycle, 0, device="cuda", schedule=ew.Schedule(balance=ew.ThreadMapped()))
    except NegativeCycleError as error:
        assert "vertex 1 is on a cycle" in str(error)
    else:
        raise AssertionError("a negative cycle is not refused")


def compare_huge_weights():
    """Distances near the largest integer, and a width beyond it."""
    graph = ew.Graph.from_edges(range(9), range(1, 10), np.full(9, 9 * 10**17))
    for delta in (2e18, 1e19):
        got, expected = (ew.sssp(graph, 0, device=device, delta=delta) for device in ("cuda", "cpu"))
        same(got, expected, "distance", "parent_index")


def compare_forests():
    """Forests by weights of every dtype and none, where many are equal, of rows that are longer than a piece."""
    random = np.random.default_rng(7)
    ends = np.concatenate([random.integers(0, 40, (2, 90)), [[5] * 150, random.integers(0, 40, 150)]], axis=1)
    drawn = random.integers(-2, 3, 240)
    signs = np.where(np.arange(240) % 2, -0.5, 0.5)  # zeros of both signs, too
    for weights in (
        drawn.astype(np.int32),
        drawn * 2**60,
        (drawn * signs).astype(np.float32),
        drawn * signs,
        None,
    ):
        for directed in (True, False):
            graph = ew.Graph.from_edges(*ends, weights, directed, num_vertices=42)
            got, expected = compare_forest(graph, directed)
            assert got.weight.dtype == expected.weight.dtype
            assert got.verify(graph)
        got, _ = both(ew.mst, graph, balance=ew.WarpMapped(8))
        same(got, expected, "source_index", "target_index", "weight", "num_components")
        assert got.weight.dtype == expected.weight.dtype


def compare_sparse_forests():
    """Forests of rows that a lane takes by itself, with loops, parallel edges and equal weights."""
    random = np.random.default_rng(8)
    for _ in range(8):
        ends = random.integers(0, 9, (2, 16))
        ends[:, :4] = ends[0, :4]
        compare_forest(ew.Graph.from_edges(*ends, random.integers(0, 3, 16), num_vertices=9))


def compare_strong_components():
    """Rounds of colours, searches from many vertices and those that pull, threads that follow no chains."""
    from edgewise.algorithms.scc import cuda as scc_cuda
    from edgewise.algorithms.scc import cuda_supersteps

    v = np.arange(24)
    turns = np.where(v % 3 == 2, v - 2, v + 1)
    rising = ew.Graph.from_edges([*v, *v[2:-1:3]], [*turns, *v[3::3]], num_vertices=24)
    falling = ew.Graph.from_edges(23 - rising.sources, 23 - rising.targets, num_vertices=24)
    graphs = {
        "rising chain of cycles": (rising, "7 components were found by colours"),
        "falling chain of cycles": (falling, "7 components were found by colours"),
        "streets": (ew.generate.lattice(6, 5, one_way=0.3, seed=1), "arcs both ways join"),
        "one-way streets": (ew.generate.lattice(6, 5, one_way=1.0, seed=1), "two searches from vertex"),
        "loops": (ew.Graph.from_edges([0, 0, 1, 1, 2, 3], [0, 1, 1, 1, 3, 2]), "2 vertices are alone"),
        "hubs": (ew.generate.skewed(90, heavy=2, light_degree=1, seed=3), "two searches"),
        "path": (ew.generate.path(70), "70 vertices are alone"),
        "cycle": (ew.generate.cycle(70), "70 of 70 vertices are in the component"),
    }
    usual = scc_cuda.FEW_ARCS, cuda_supersteps.SHORT
    for few_arcs, short in (usual, (0, 0)):
        scc_cuda.FEW_ARCS, cuda_supersteps.SHORT = few_arcs, short
        for name, (graph, told) in graphs.items():
            got, expected = (ew.scc(graph, device=device) for device in ("cuda", "cpu"))
            same(got, expected, "component", "num_components")
            assert told in got.explain(), (name, got.explain())
            assert got.verify(graph)
    scc_cuda.FEW_ARCS, cuda_supersteps.SHORT = usual
    for delivery in ("auto", ew.Pull()):
        got, expected = both(ew.scc, falling, balance=ew.WarpMapped(8), delivery=delivery)
        same(got, expected, "component", "num_components")


def compare_building():
    """Rows and columns from edge arrays, in the order of the input."""
    source, target = np.random.default_rng(4).integers(0, 30, (2, 200))
    for weights in (None, np.arange(200)):
        expected = ew.Graph.from_edges(source, target, weights, num_vertices=31)
        for ids in (np.int32, np.uint64):
            rows, _, loops = build(
                source.astype(ids), target.astype(ids), weights, 31, both_directions=False, drop_loops=False
            )
            assert loops == np.count_nonzero(source == target)
            columns = rows.transposed()
            for made, names in (
                (rows, ("offsets", "targets", "weights")),
                (columns, ("in_offsets", "in_sources", "in_weights")),
            ):
                for got, name in zip(vars(made.on_gpu).values(), names, strict=True):
                    np.testing.assert_array_equal(got, getattr(expected, name), err_msg=name)


def compare_centralities():
    """Sums of distances, all at once and one after the other, and power iterations, with and without weights."""
    for name in BALANCED:
        graph = GRAPHS[name]
        for algorithm in (ew.closeness, ew.eccentricity):
            for options in ({}, {"vertices": [3, 5]}, {"vertices": [3, 5], "weighted": True}):
                got, expected = (algorithm(graph, device=device, **options) for device in ("cuda", "cpu"))
                same(got, expected, "reached", "distance_sum", "farthest")
                np.testing.assert_allclose(got.reciprocal_sum, expected.reciprocal_sum, rtol=1e-14)
        few, each = {"max_iterations": 3, "start": {3: 1.0, 4: 2.0}}, 1.0 + np.arange(graph.num_vertices)
        for algorithm, more in ((ew.eigenvector, {}), (ew.katz, {"beta": each}), (ew.hits, {})):
            for options in ({}, {"weighted": True, **few, **more}, {"max_iterations": 0}):
                got, expected = (algorithm(graph, device=device, **options) for device in ("cuda", "cpu"))
                assert (got.iterations, got.converged) == (expected.iterations, expected.converged)
                for column, values in got.columns().items():
                    np.testing.assert_allclose(values, getattr(expected, column), rtol=1e-11)
                assert got.verify(graph)
    with_balance = both(ew.katz, GRAPHS["random"], balance=ew.WarpMapped(8), alpha=0.02)
    np.testing.assert_allclose(*(each.centrality for each in with_balance), rtol=1e-11)


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    if sys.argv[1:] == ["warps"]:
        with_warps()
        pretend()
        for name, graph in GRAPHS.items():
            compare_components(graph)
            compare_core_numbers(graph)
            compare_triangles(graph)
            print(name, flush=True)
        for name in ("random", "star out", "many to one"):
            compare_beyond(GRAPHS[name])
        compare_sparse_forests()
        return
    pretend()
    if sys.argv[1:] == ["programs"]:
        balances = itertools.cycle(BALANCES)
        for name in BALANCED:
            compare_balanced(GRAPHS[name], balances)
            print(name, flush=True)
        compare_options()
        compare_coalesced()
        compare_centralities()
        return
    for name, graph in GRAPHS.items():
        compare(graph)
        print(name, flush=True)
    compare_without_room_to_lay_out()
    compare_negative_weights()
    compare_huge_weights()
    compare_forests()
    compare_sparse_forests()
    compare_strong_components()
    compare_building()


if __name__ == "__main__":
    main()
