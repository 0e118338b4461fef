"""PageRank on ranks with GPUs that tests/simulator.py pretends: threads of this process, as in simulate_ranks.py.

With the argument "warps", the simulator has warps of four lanes (tests/simulated_warps.py), and rows of a few in-edges
are those of a warp or a block.
"""

import sys
import warnings

import numpy as np
import pytest
from simulate_ranks import connect_threads, on_threads, pretend_ranks

import edgewise as ew
from edgewise.engine.distributed import group as groups
from edgewise.errors import DeviceWarning, MemoryLimitError

GRAPHS = {
    "star in": ew.Graph.from_edges([*range(1, 24), 0], [0] * 23 + [3]),
    "random": ew.generate.uniform(14, 50, seed=1, weights=(1, 9)),
    "both ways": ew.generate.uniform(15, 25, seed=3, directed=False, weights=(1, 9)),
    "one vertex": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
    "no vertices": ew.Graph.from_edges([], [], num_vertices=0),
}


def on_ranks(size, graph, device="cuda", **how):
    """What each of so many ranks gets: a result, or that it has no memory."""
    return by_threads(size, lambda: ew.pagerank(graph, distributed=True, device=device, **how))


def by_threads(size, call):
    """What a call gives on each of so many ranks."""
    return on_threads(size, lambda _: call(), MemoryLimitError)


def compare(where, sizes=(1, 2, 3), **how):
    """Ranks are those of one rank bit for bit, and those of a CPU within rounding; they are verified."""
    graph, alone = GRAPHS[where], None
    expected = ew.pagerank(graph, device="cpu", **how)
    tolerance = 1e-5 if how.get("dtype") is np.float32 else 1e-12
    for size in sizes:
        for found in on_ranks(size, graph, **how):
            alone = alone or found
            assert found.iterations == expected.iterations, (where, size, how)
            assert found.residual == alone.residual, (where, size, how)
            assert found.rank.dtype == expected.rank.dtype
            assert found.rank.tobytes() == alone.rank.tobytes(), (where, size, how)
            np.testing.assert_allclose(found.rank, expected.rank, rtol=tolerance, atol=tolerance)
            assert found.residual == pytest.approx(expected.residual, rel=1e-6, abs=tolerance)
            assert found.converged == expected.converged
            assert found.verify(graph)
            if graph.num_vertices:
                assert "ranks speak by gloo" in found.explain(), found.explain()


def compare_limits():
    """Ranks are refused together; with the memory that they ask for, they run."""
    refused = on_ranks(2, GRAPHS["random"], memory_limit=100)
    assert all(isinstance(each, MemoryLimitError) for each in refused), refused
    assert "on the GPU of each rank" in str(refused[0])
    limit = int(refused[0].needed)
    for found in on_ranks(2, GRAPHS["random"], memory_limit=limit, max_iterations=1):
        assert found.iterations == 1


def compare_on_cpus():
    """Where one rank has no room on its GPU, all go on on CPUs."""
    graph = GRAPHS["random"]
    needed = [int(on_ranks(2, graph, where, memory_limit=0)[0].needed) for where in ("cpu", "cuda")]
    assert needed[0] < needed[1], needed

    def run():
        first = groups.connect().rank == 0
        return ew.pagerank(graph, distributed=True, memory_limit=needed[0 if first else 1])

    expected = ew.pagerank(graph, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        for found in by_threads(2, run):
            assert found.rank.tobytes() == expected.rank.tobytes()
            assert "for the GPU has no room" in found.explain(), found.explain()


def compare_shares():
    """What ranks share arrives at all others; some have nothing."""
    from edgewise.engine.distributed.channel_cuda import channel_of  # after `pretend`

    def run():
        group = groups.connect()
        parts = [np.full(rank * 1500, 9 if rank == group.rank else 0, np.uint8) for rank in range(group.size)]
        channel_of(group).share(parts)()
        return all((part == 9).all() for part in parts)

    assert by_threads(3, run) == [True] * 3


def main():
    """Print what agreed."""
    warps = "warps" in sys.argv
    pretend_ranks(warps)
    connect_threads()
    if warps:
        from edgewise.layout import units

        units.HEAVY, units.HEAVIEST = 3, 8
        compare("star in", (1, 2), max_iterations=3)
        compare("random", (1, 2), weighted=True, dtype=np.float32, tol=0, max_iterations=2)
        print("warps")
        return
    for where in GRAPHS:
        compare(where, max_iterations=3)
    jumps, begin = np.arange(14) % 3, np.arange(14) + 1.0
    compare("random", (2, 3), personalization=jumps, start=begin, weighted=True, tol=0.01)
    compare("random", (2,), dtype=np.float32, tol=0, max_iterations=2, personalization=jumps)
    for limit in (0, 1):
        compare("random", (2,), max_iterations=limit)
    print("ranks")
    for name, check in (("limits", compare_limits), ("cpus", compare_on_cpus), ("shares", compare_shares)):
        check()
        print(name)


if __name__ == "__main__":
    main()
