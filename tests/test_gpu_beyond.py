"""Runs on a GPU with less memory than the graph takes: the same answers, within the limit. These tests need an NVIDIA
GPU: `pytest -m gpu`."""

import gc
import re
import weakref

import numpy as np
import pytest
from test_engines import PROGRAMS

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph.resident import RESERVE
from edgewise.kernels.cuda import placed
from edgewise.run import Prepared

pytestmark = pytest.mark.gpu


def graph_of(directed=True, weights=(1, 100)):
    """A graph whose arrays of arcs take several pages each."""
    return ew.generate.rmat(18, 10, seed=5, weights=weights, directed=directed)


ALGORITHMS = {
    "bfs": (True, lambda graph, **how: ew.bfs(graph, 1, **how), ("level", "parent")),
    "bfs undirected": (False, lambda graph, **how: ew.bfs(graph, 1, **how), ("level", "parent")),
    "bfs by pushing": (
        True,
        lambda graph, **how: ew.bfs(graph, 1, schedule=ew.Schedule(ew.Push()), **how),
        ("level", "parent"),
    ),
    "sssp": (True, lambda graph, **how: ew.sssp(graph, 1, **how), ("distance", "parent")),
    "components": (True, ew.connected_components, ("component",)),
    "components undirected": (False, ew.connected_components, ("component",)),
    "scc": (True, ew.scc, ("component",)),
    "mst": (False, ew.mst, ("source", "target", "weight")),
    "mst symmetrized": (
        True,
        lambda graph, **how: ew.mst(graph, symmetrize=True, **how),
        ("source", "target", "weight"),
    ),
    "betweenness": (True, lambda graph, **how: ew.betweenness(graph, k=16, **how), ("centrality",)),
    "weighted betweenness": (
        True,
        lambda graph, **how: ew.betweenness(graph, k=2, weighted=True, **how),
        ("centrality",),
    ),
}


def least(call, graph):
    """The fewest bytes with which a call runs."""
    with pytest.raises(MemoryLimitError) as refused:
        call(graph, device="cuda", memory_limit=0)
    (number,) = re.findall(r"needs ([\d,]+) bytes on the GPU for what vertices have", str(refused.value))
    return int(number.replace(",", ""))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_algorithms_give_the_same_answers_within_the_limit(name):
    directed, call, fields = ALGORITHMS[name]
    graph = graph_of(directed)
    expected = call(graph_of(directed), device="cuda")
    lowest = least(call, graph)
    arcs = graph.targets.nbytes
    for limit in (lowest, lowest + arcs // 3, lowest + arcs * 3 // 4, lowest):
        result = call(graph, device="cuda", memory_limit=limit)
        assert "read from the host's memory" in result.explain()
        for field in fields:
            if field == "centrality":
                np.testing.assert_allclose(getattr(result, field), getattr(expected, field), rtol=1e-9)
            else:
                np.testing.assert_array_equal(getattr(result, field), getattr(expected, field))
        assert result.verify(graph)
    again = call(graph, device="cuda")
    assert "read from the host's memory" not in again.explain()
    np.testing.assert_allclose(getattr(again, fields[0]), getattr(expected, fields[0]), rtol=1e-9)


@pytest.mark.parametrize("weights", [(0, 255), (1, 256), (1, 65536), (0.5, 2.0)])
def test_distances_over_weights_of_any_width(weights):
    graph = graph_of(weights=weights)
    expected = ew.sssp(graph_of(weights=weights), 1, device="cuda")
    result = ew.sssp(graph, 1, device="cuda", memory_limit=least(ALGORITHMS["sssp"][1], graph))
    assert "read from the host's memory" in result.explain()
    np.testing.assert_array_equal(result.distance, expected.distance)
    np.testing.assert_array_equal(result.parent, expected.parent)


@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_without_room_for_its_layout(weighted):
    graph = graph_of()
    expected = ew.pagerank(graph_of(), device="cuda", weighted=weighted)

    def call(graph, **how):
        return ew.pagerank(graph, weighted=weighted, **how)

    for limit in (least(call, graph), least(call, graph) + graph.targets.nbytes // 4):
        result = call(graph, device="cuda", memory_limit=limit)
        assert "read from the host's memory" in result.explain()
        np.testing.assert_allclose(result.rank, expected.rank, rtol=1e-9)
        assert result.verify(graph)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("delivery", [ew.Push(), ew.Pull(), "auto"])
def test_programs_give_the_same_answers_within_the_limit(name, delivery):
    program, values = PROGRAMS[name]
    graph = ew.generate.rmat(17, 40, seed=5, weights=(1, 9))
    prepared = Prepared(program, graph, "cuda", ew.Schedule(delivery), in_edges=True)
    most = min(program.max_supersteps or 30, 30)

    def call(graph, **how):
        return prepared(**values, max_supersteps=most, **how)

    try:
        expected = Prepared(program, graph, "cuda", ew.Schedule(delivery), in_edges=True)(
            **values, max_supersteps=most
        )
    except ew.errors.ScheduleError as refused:
        pytest.skip(str(refused))
    lowest = least(lambda graph, device, **how: call(graph, **how), graph)
    for limit in (lowest, lowest + graph.targets.nbytes * 3 // 4):
        result = call(graph, memory_limit=limit)
        assert "read from the host's memory" in result.explain()
        for field, right in expected.fields.items():
            np.testing.assert_allclose(result.fields[field], right, rtol=1e-5, err_msg=field)
        for field, right in expected.edge_fields.items():
            np.testing.assert_array_equal(result.edge_fields[field], right, err_msg=field)
        assert program.asynchronous or result.supersteps == expected.supersteps


@pytest.mark.parametrize("name", ["bfs", "components", "scc", "mst symmetrized"])
def test_no_more_is_taken_from_the_driver_than_the_limit(name, monkeypatch):
    """What CuPy's pool holds, and the parts of arrays that lie on the GPU. The driver counts all processes together."""
    import cupy

    on_gpu = []

    make = placed._Divided

    def counted(size, there):
        made = make(size, there)
        on_gpu.append(weakref.ref(made))
        return made

    monkeypatch.setattr(placed, "_Divided", counted)
    pool = cupy.get_default_memory_pool()
    _, call, _ = ALGORITHMS[name]
    call(ew.generate.rmat(8, 8, seed=1, weights=(1, 9)), device="cuda")
    graph = ew.generate.rmat(20, 16, seed=5, weights=(1, 100))
    lowest = least(call, graph)
    for limit in (lowest + RESERVE, lowest + graph.targets.nbytes):
        gc.collect()
        pool.free_all_blocks()
        before = pool.total_bytes()
        result = call(graph, device="cuda", memory_limit=limit)
        divided = sum(each()._on_gpu for each in on_gpu if each() is not None)
        assert pool.total_bytes() - before + divided <= limit, result.explain()
        del result


def test_graphs_share_what_is_locked():
    graph = ew.generate.rmat(20, 20, seed=5)
    other = ew.Graph.from_csr(graph.offsets, graph.targets)
    assert graph.targets.nbytes >= 2**26
    for each in (graph, other):
        lowest = least(lambda graph, **how: ew.bfs(graph, 1, **how), each)
        result = ew.bfs(each, 1, device="cuda", memory_limit=lowest)
        assert result.verify(each)


def test_a_graph_built_on_the_gpu_counts():
    import cupy

    graph = graph_of()
    there = ew.Graph.from_edges(cupy.asarray(graph.sources), cupy.asarray(graph.targets))
    with pytest.raises(MemoryLimitError, match="with the graph, which was built there"):
        ew.bfs(there, 1, device="cuda", memory_limit=2**20)
