"""Betweenness on ranks with GPUs that tests/simulator.py pretends: threads of this process, as in simulate_ranks.py."""

import contextlib
import warnings
from unittest import mock

import numpy as np
from simulate_ranks import connect_threads, on_threads, pretend_ranks

import edgewise as ew
from edgewise.engine.distributed import group as groups
from edgewise.errors import DeviceWarning, EdgewiseError, GraphError, MemoryLimitError
from edgewise.memory import RefusedBySystem

GRAPHS = {
    "directed": ew.generate.uniform(9, 30, seed=1, weights=(1, 3)),
    "undirected": ew.generate.uniform(8, 12, seed=3, directed=False, weights=(1, 3)),
    "one vertex": ew.Graph.from_edges([], [], np.empty(0, np.int32), num_vertices=1),
}


def on_ranks(size, call):
    """What a call gives on each of so many ranks: a result, or an error of edgewise."""
    return on_threads(size, lambda group: call(group.rank), EdgewiseError)


def compare(where, find, size, sources, **how):
    """Sums are those of one GPU over the sources of each rank, in the order of ranks, and verified."""
    graph = GRAPHS[where]
    total, plain = 0.0, find(graph, sources=sources, device="cpu", **how)
    for rank in range(size):
        own = sources[len(sources) * rank // size : len(sources) * (rank + 1) // size]
        total = total + (find(graph, sources=own, device="cuda", **how).dependency if len(own) else 0.0)
    for found in on_ranks(
        size, lambda _: find(graph, sources=sources, distributed=True, device="cuda", **how)
    ):
        assert "ranks speak by gloo" in found.explain(), found.explain()
        np.testing.assert_array_equal(found.dependency, total)
        np.testing.assert_allclose(found.centrality, plain.centrality, rtol=1e-12, atol=1e-12)
        assert found.verify(graph)


@contextlib.contextmanager
def refusing(name, error):
    """A function of the form for ranks with GPUs fails on the second rank for a while."""
    from edgewise.algorithms.betweenness import gpu_ranks  # after `pretend`

    usual = getattr(gpu_ranks, name)

    def function(*arguments):
        if groups.connect().rank == 1:
            raise error("none is left")
        return usual(*arguments)

    with mock.patch.object(gpu_ranks, name, function):
        yield


def check_errors():
    """An error of one rank ends the call on all, whatever it is; the next call goes on."""
    lost = ew.Graph.from_edges([0, 1, 1], [1, 2, 3], [1e30, 1.0, 1e30])
    how = {"weighted": True, "distributed": True, "device": "cuda"}

    def fail(rank):
        try:
            ew.betweenness(lost, sources=[2, 0, 1], **how)
        except GraphError as error:
            return error, ew.betweenness(lost, sources=[2, 3], **how)

    for rank, (error, after) in enumerate(on_ranks(2, fail)):
        assert ("rank 1: " in str(error)) == (rank == 0), error
        assert "in float64" in str(error)
        np.testing.assert_array_equal(after.dependency, 0)


def check_limits():
    """A rank without room ends the call on all, or sends all to the CPUs. With what it asks for, it runs."""
    graph, sources = GRAPHS["directed"], [0, 4, 5]

    def call(device, limits):
        def run(rank):
            limit = limits[min(rank, len(limits) - 1)]
            return ew.betweenness(graph, sources=sources, distributed=True, device=device, memory_limit=limit)

        return on_ranks(2, run)

    refused = call("cuda", [10**6, 100])
    assert all(isinstance(each, MemoryLimitError) for each in refused), refused
    assert "rank 1: " in str(refused[0]) and "on the GPU" in str(refused[1]), refused
    needed = [int(each.needed) for each in call("cuda", [100])]
    assert all("ranks speak by" in each.explain() for each in call("cuda", needed))
    with refusing("room", MemoryLimitError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        assert all(isinstance(each, MemoryLimitError) for each in call("cuda", [None]))
        for found in call("auto", [None]):
            assert "for the GPU has no room" in found.explain(), found.explain()
            assert "ranks speak by" not in found.explain(), found.explain()
    with refusing("sum_over", RefusedBySystem):
        assert all(isinstance(each, MemoryLimitError) for each in call("auto", [None]))
    assert all("ranks speak by gloo" in each.explain() for each in call("auto", [None]))


def main():
    """Print what agreed."""
    pretend_ranks(warps=False)
    connect_threads()
    for size, count in ((2, 5), (3, 2)):
        compare("directed", ew.betweenness, size, list(range(count)), endpoints=True)
        compare("undirected", ew.edge_betweenness, size, list(range(count)), normalized=False)
    compare("undirected", ew.betweenness, 2, [3, 1, 2], weighted=True)
    compare("directed", ew.edge_betweenness, 2, [3, 1, 2], weighted=True)
    compare("one vertex", ew.betweenness, 2, [0])
    compare("directed", ew.betweenness, 1, [3, 1])
    print("sums")
    check_errors()
    print("errors")
    check_limits()
    print("limits")


if __name__ == "__main__":
    main()
