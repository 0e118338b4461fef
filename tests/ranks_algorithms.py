"""Every algorithm on several ranks, compared with the call on one; a script that torchrun starts:

python -m torch.distributed.run --standalone --nproc-per-node 2 tests/ranks_algorithms.py
"""

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import golden
import numpy as np
from battery import graphs

import edgewise as ew
from edgewise.errors import (
    DeviceError,
    DistributedError,
    EdgewiseError,
    GraphError,
    MemoryLimitError,
    NegativeCycleError,
    ParameterError,
    ScheduleError,
)
from edgewise.graph import Graph

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FEW = "few" in sys.argv
PUSHING = ew.Schedule(delivery=ew.Push())
DTYPES = (None, np.int32) if FEW else (None, np.int32, np.int64, np.float32, np.float64)
#: Arrays and numbers of results that ranks find as one does, bit for bit.
SAME = {
    "bfs": ("level", "parent_index", "supersteps"),
    "sssp": ("distance", "parent_index"),
    "pagerank": ("rank", "iterations", "residual", "converged"),
    "components": ("component", "num_components"),
    "scc": ("component", "num_components"),
    "topological_order": ("generation", "is_acyclic"),
    "mst": ("source_index", "target_index", "weight", "num_edges", "num_components", "total_weight"),
    "core_numbers": ("core", "supersteps", "max_core"),
    "triangles": ("triangles", "degree", "total"),
    "closeness": ("reached", "distance_sum", "reciprocal_sum", "farthest", "closeness"),
    "harmonic": ("harmonic",),
    "eccentricity": ("eccentricity",),
    "eigenvector": ("centrality", "iterations", "residual", "converged"),
    "katz": ("centrality", "iterations", "residual", "converged"),
    "hits": ("authority", "hub", "iterations", "residual", "converged"),
    "betweenness": (),
    "edge_betweenness": (),
}
#: Those that round otherwise on GPUs.
ROUNDING = (ew.pagerank, ew.eigenvector, ew.katz, ew.hits, ew.closeness, ew.harmonic, ew.eccentricity)


def drawn(
    n: int, m: int, seed: int, directed: bool, dtype: Any = None, zeros: bool = False, spread: int = 1
) -> Graph:
    """A random graph with parallel edges, loops and isolated vertices; some weights are equal."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, max(1, n // spread), (2, m))
    weight = None
    if dtype is not None:
        weight = rng.integers(0 if zeros else 1, 9, m).astype(dtype)
        weight = weight / dtype(7) if np.dtype(dtype).kind == "f" else weight
    return Graph.from_edges(source, target, weight, directed, num_vertices=n)


def cases() -> Iterator[tuple[str, Graph]]:
    """Graphs by name."""
    for name in (
        "one vertex with a loop",
        "self-loops",
        "star in",
        "long path",
        "disconnected",
        "undirected",
    ):
        yield name, graphs()[name]
    yield "no vertices", Graph.from_edges([], [], num_vertices=0)
    yield "two vertices", Graph.from_edges([1], [0], [2.5])
    for i, dtype in enumerate(DTYPES):
        for directed in (True, False) if dtype in (None, np.float64) else (i % 2 == 0,):
            name = f"{'directed' if directed else 'undirected'} {dtype and dtype.__name__}"
            yield name, drawn(60, 150, i, directed, dtype, zeros=i in (1, 3), spread=1 + i % 2)
    yield "dolphins by hash", golden.load("dolphins").graph.reorder("hash")


def is_same(got: Any, expected: Any) -> bool:
    if isinstance(expected, np.ndarray):
        return (
            got.dtype == expected.dtype
            and got.shape == expected.shape
            and got.tobytes() == expected.tobytes()
        )
    return bool(got == expected)


def compare(what: str, call: Callable[..., Any], graph: Graph, *args: Any, **options: Any) -> Any:
    """Compare a call on all ranks with the ordinary one, and verify it."""
    expected = call(graph, *args, device="cpu", **options)
    where = {"device": "cpu"} if call in ROUNDING else {}
    got = call(graph, *args, distributed=True, **where, **options)
    assert type(got) is type(expected) and got.graph is graph
    for name in SAME[expected.algorithm]:
        given, right = getattr(got, name), getattr(expected, name)
        assert is_same(given, right), f"{what}: {expected.algorithm}: {name} is {given}, not {right}"
    if expected.algorithm == "scc" and graph.directed:
        assert got.supersteps == expected.supersteps, what
    if "betweenness" in expected.algorithm:
        np.testing.assert_allclose(got.dependency, expected.dependency, rtol=1e-12, atol=0, err_msg=what)
        np.testing.assert_allclose(got.centrality, expected.centrality, rtol=1e-12, atol=0, err_msg=what)
    assert got.verify(graph), what
    told = got.explain()
    assert f"on {SIZE} ranks, of which this is rank {RANK}" in told, told
    assert re.search(r"this rank sent [\d,]+ bytes to other ranks", told), told
    return got


def fails(call: Callable[..., Any], *args: Any, **options: Any) -> EdgewiseError | None:
    """What a call fails with, if it does."""
    try:
        call(*args, **options)
    except EdgewiseError as error:
        return error
    return None


def check_graph(name: str, graph: Graph) -> None:
    """All algorithms on a graph."""
    n = graph.num_vertices
    if n:
        some = graph.vertices[[0, n // 2, n - 1]].tolist()
        few = list(dict.fromkeys(some))
        compare(name, ew.bfs, graph, some[0])
        compare(name, ew.bfs, graph, few, max_depth=3)
        pushed = compare(name, ew.bfs, graph, some[0], schedule=PUSHING).explain()
        assert "pull" not in pushed and ("(as the schedule says)" in pushed or "level 1" not in pushed), (
            pushed
        )
        compare(name, ew.sssp, graph, some[1])
        if graph.weight_dtype in (None, np.int32, np.float64):  # each dtype is compiled
            compare(name, ew.sssp, graph, few, max_distance=2.5)
            compare(name, ew.sssp, graph, some[0], target=some[2])
        compare(name, ew.sssp, graph, some[0], weighted=False, max_distance=4)
        compare(name, ew.betweenness, graph, sources=few, endpoints=True)
    compare(name, ew.pagerank, graph)
    compare(name, ew.connected_components, graph)
    compare(name, ew.scc, graph)
    if graph.directed:
        compare(name, ew.topological_order, graph)
        compare(name, ew.topological_order, upward(graph))
    compare(name, ew.mst, graph, symmetrize=True)
    compare(name, ew.core_numbers, graph)
    compare(name, ew.triangles, graph.to_undirected())
    compare(name, ew.closeness, graph)
    compare(name, ew.harmonic, graph)
    compare(name, ew.eccentricity, graph)
    compare(name, ew.eigenvector, graph, max_iterations=60)
    compare(name, ew.katz, graph, alpha=0.01, beta=np.arange(n) % 3 + 0.5)
    compare(name, ew.hits, graph, max_iterations=60)
    compare(name, ew.betweenness, graph)
    compare(name, ew.edge_betweenness, graph)
    if graph.weighted:
        compare(name, ew.closeness, graph, weighted=True)
        compare(name, ew.hits, graph, weighted=True, max_iterations=20)
        compare(name, ew.pagerank, graph, weighted=True, dtype=np.float32, max_iterations=9)
        compare(name, ew.mst, graph, symmetrize=True, weighted=False)
        if graph.num_arcs == 0 or graph.weights.min() > 0:
            compare(name, ew.betweenness, graph, weighted=True, k=max(1, n // 3))


def upward(graph: Graph) -> Graph:
    """A graph without cycles: the arcs that lead to a higher number."""
    up = graph.sources < graph.targets
    return Graph.from_edges(graph.sources[up], graph.targets[up], num_vertices=graph.num_vertices)


def check_larger() -> None:
    """Several blocks of ranks, and more than fits into one message."""
    for dtype in (None, np.int32 if FEW else np.float64):
        graph = drawn(5000, 30000, 8, True, dtype)
        check_jumps = np.random.default_rng(1).random(5000)
        compare("larger", ew.pagerank, graph, weighted=dtype is not None)
        compare(
            "larger", ew.pagerank, graph, personalization=check_jumps, start={3: 1.0, 4: 2.0}, damping=0.5
        )
        compare("larger", ew.pagerank, graph, dtype=np.float32, tol=0, max_iterations=5)
        compare("larger", ew.bfs, graph, 0)
        compare("larger", ew.sssp, graph, 0)
        compare("larger", ew.connected_components, graph)
        compare("larger", ew.scc, graph)
        compare("larger", ew.topological_order, upward(graph))
        compare("larger", ew.mst, graph, symmetrize=True)
        compare("larger", ew.betweenness, graph, k=9)
        compare("larger", ew.core_numbers, graph)
        compare("larger", ew.triangles, graph.to_undirected("keep"))
        compare("larger", ew.closeness, graph, vertices=list(range(0, 5000, 900)))
        compare("larger", ew.harmonic, graph)
        compare("larger", ew.katz, graph, alpha=0.01, weighted=dtype is not None, tol=1e-9)
        compare("larger", ew.eigenvector, graph, weighted=dtype is not None, max_iterations=7)
        compare("larger", ew.hits, graph, max_iterations=7)
    inward = drawn(5000, 90000, 4, True, np.int32)
    inward.make_in_edges()
    for graph in (drawn(5000, 60000, 9, False), inward):  # large frontiers are pulled from
        found = compare("dense", ew.bfs, graph, 0)
        assert "pull (" in found.explain(), found.explain()
        compare("dense", ew.bfs, graph, list(range(0, 5000, 7)), max_depth=2)
        compare("dense", ew.sssp, graph, [4999, 0])
    lattice = ew.generate.lattice(40, 50, weights=(1, 9))
    compare("lattice", ew.scc, lattice)
    compare("lattice", ew.sssp, lattice, 0)
    compare("lattice", ew.connected_components, lattice, schedule=ew.Schedule(num_threads=2))


def check_negative() -> None:
    """Negative weights, and cycles of them."""
    for dtype in DTYPES[1:]:
        rng = np.random.default_rng(7)
        source, target = rng.integers(0, 300, (2, 1500))
        source, target = np.minimum(source, target), np.maximum(source, target)
        keep = source < target
        weight = rng.integers(-5, 9, 1500).astype(dtype) / dtype(1 if np.dtype(dtype).kind == "i" else 7)
        graph = Graph.from_edges(source[keep], target[keep], weight[keep].astype(dtype), num_vertices=300)
        compare("negative", ew.sssp, graph, 0)
        if dtype in (np.int64, np.float32):
            compare("negative", ew.sssp, graph, [3, 0, 8])
    cycle = Graph.from_edges([0, 1, 2, 3], [1, 2, 1, 4], [1, -3, 2, 1])
    told = [fails(ew.sssp, cycle, 0, **how) for how in ({"distributed": True}, {"device": "cpu"})]
    assert all(isinstance(each, NegativeCycleError) for each in told), told
    assert str(told[0]) == str(told[1])
    tiny = Graph.from_edges([0, 1, 2], [1, 2, 3], [1e20, 1.0, 1e20], directed=False)
    assert isinstance(fails(ew.betweenness, tiny, weighted=True, distributed=True), GraphError)
    far = Graph.from_edges([0, 1], [1, 2], np.array([3e38, 3e38], np.float32))
    assert isinstance(fails(ew.sssp, far, 0, distributed=True), GraphError)


def check_refused() -> None:
    """What does not run on several ranks."""
    graph = drawn(50, 200, 3, True)
    symmetric = graph.to_undirected()
    calls: dict[str, Callable[..., Any]] = {
        "bfs": lambda **how: ew.bfs(graph, 0, **how),
        "sssp": lambda **how: ew.sssp(graph, 0, **how),
        "mst": lambda **how: ew.mst(graph, symmetrize=True, **how),
        "triangles": lambda **how: ew.triangles(symmetric, **how),
        **{
            name: partial(getattr(ew, name), graph)
            for name in (
                *(
                    "pagerank",
                    "connected_components",
                    "scc",
                    "topological_order",
                    "core_numbers",
                    "closeness",
                ),
                *(
                    "harmonic",
                    "eccentricity",
                    "eigenvector",
                    "katz",
                    "hits",
                    "betweenness",
                    "edge_betweenness",
                ),
            )
        },
    }
    for call in calls.values():
        gpu = fails(call, distributed=True, device="cuda")
        no_gpu = isinstance(gpu, DeviceError) and "has no GPU that can be used" in str(gpu)
        assert gpu is None or no_gpu, gpu
        for part in ({"delivery": ew.Pull()}, {"balance": ew.WarpMapped(8)}, {"layout": ew.Layered([0])}):
            other = fails(call, distributed=True, schedule=ew.Schedule(**part))
            assert isinstance(other, ScheduleError) and "expected num_threads alone" in str(other), other
        for wrong in (1, None, "yes"):
            assert isinstance(fails(call, distributed=wrong), ParameterError)
        differ = fails(call, distributed=True, memory_limit=0)
        assert isinstance(differ, MemoryLimitError), differ
        needed = int(str(differ).split(" needs ")[1].split()[0].replace(",", ""))
        enough = fails(call, distributed=True, memory_limit=needed)
        assert enough is None, enough
    differ = fails(ew.bfs, graph, 0, distributed=True, schedule=PUSHING if RANK else None)
    assert isinstance(differ, DistributedError) and "has other arguments than rank" in str(differ), differ
    told = ew.explain(ew.sssp, graph, 0, distributed=True)
    assert f"of which this is rank {RANK}" in told and "bytes beyond the graph" in told, told
    for name in ("betweenness", "edge_betweenness"):
        kept = fails(calls[name], distributed=True, checkpoint="sums")
        assert isinstance(kept, DistributedError) and "leave it out" in str(kept), kept
    overflow = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62 - 1]))
    assert isinstance(fails(ew.closeness, overflow, weighted=True, distributed=True), GraphError)
    if SIZE == 1:
        return
    for call in (
        partial(ew.katz, graph, alpha=0.01 * (1 + RANK)),
        partial(ew.closeness, graph, vertices=[RANK]),
    ):
        other = fails(call, distributed=True)
        assert isinstance(other, DistributedError) and "other arguments" in str(other), other
    other = fails(ew.bfs, graph, RANK, distributed=True)
    assert isinstance(other, DistributedError) and "other arguments" in str(other), other
    other = fails(ew.bfs, drawn(50, 200 + RANK, 3, True), 0, distributed=True)
    assert isinstance(other, DistributedError) and "expected the same on all ranks" in str(other), other


def main() -> None:
    for name, graph in cases():
        check_graph(name, graph)
    check_larger()
    check_negative()
    check_refused()
    print(f"rank {RANK} of {SIZE} agrees")


if __name__ == "__main__":
    main()
