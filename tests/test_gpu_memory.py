"""A run on a GPU takes no more of its memory than edgewise says that it needs, and arrays there are set as they are
asked for. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import contextlib
import gc

import numpy as np
import pytest
from resident import SHARE, SLACK, make_graph
from resident_programs import Given, Traffic

import edgewise as ew
from edgewise.errors import MemoryLimitError

pytestmark = pytest.mark.gpu

CALLS = {
    "bfs": ("plain", lambda graph, **options: ew.bfs(graph, 0, **options)),
    "bfs in both directions": ("plain undirected", lambda graph, **options: ew.bfs(graph, 0, **options)),
    "sssp": ("plain weights=float32", lambda graph, **options: ew.sssp(graph, 0, **options)),
    "sssp in int64": ("many weights=int64", lambda graph, **options: ew.sssp(graph, 0, **options)),
    "pagerank": ("plain", lambda graph, **options: ew.pagerank(graph, tol=1e-3, **options)),
    "pagerank of a star": ("star", lambda graph, **options: ew.pagerank(graph, tol=1e-3, **options)),
    "pagerank from ranks": (
        "many",
        lambda graph, **options: ew.pagerank(
            graph,
            tol=1e-3,
            start=np.ones(graph.num_vertices),
            personalization=np.ones(graph.num_vertices),
            **options,
        ),
    ),
    "weighted pagerank": (
        "plain weights=int64",
        lambda graph, **options: ew.pagerank(graph, tol=1e-3, weighted=True, **options),
    ),
    "components": ("many", ew.connected_components),
    "scc": ("plain", ew.scc),
    "mst": ("plain undirected weights=float64", ew.mst),
    "mst both ways": (
        "plain weights=float32",
        lambda graph, **options: ew.mst(graph, symmetrize=True, **options),
    ),
    "betweenness": ("many", lambda graph, **options: ew.betweenness(graph, k=4, **options)),
    "weighted betweenness": (
        "plain weights=float64",
        lambda graph, **options: ew.betweenness(graph, k=2, weighted=True, **options),
    ),
    "edge betweenness": ("plain", lambda graph, **options: ew.edge_betweenness(graph, k=2, **options)),
}


@contextlib.contextmanager
def peak_of_pool():
    """The most bytes that CuPy's pool gave out at one time, in a list, beyond those before."""
    import cupy

    pool = cupy.get_default_memory_pool()
    gc.collect()
    before, most = pool.used_bytes(), [0]

    class Watch(cupy.cuda.MemoryHook):
        name = "watch"

        def malloc_postprocess(self, **given):
            most[0] = max(most[0], pool.used_bytes() - before)

    with Watch():
        yield most


def on_gpu(graph):
    """The same graph, built on the GPU, where in-edges are made there, too."""
    import cupy

    weights = None if graph.weights is None else cupy.asarray(graph.weights)
    source, target = cupy.asarray(graph.sources), cupy.asarray(graph.targets)
    return ew.Graph.from_edges(source, target, weights, num_vertices=graph.num_vertices)


def needed(call, graph):
    try:
        call(graph, device="cuda", memory_limit=0)
    except MemoryLimitError as error:
        return int(str(error).split(" needs ")[1].split()[0].replace(",", ""))
    raise AssertionError("a limit of no bytes was not refused")


@pytest.mark.parametrize("built_there", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_memory_stays_within_what_was_said(name, built_there):
    kind, call = CALLS[name]
    call(make_graph(kind, 1e-4), device="cuda")
    graph = make_graph(kind)
    if built_there:
        if not graph.directed:
            pytest.skip("in-edges of undirected graphs are not made")
        graph = on_gpu(graph)
    for _ in range(2):  # the first brings the graph there, the second finds it
        limit = needed(call, graph)
        with peak_of_pool() as most:
            result = call(graph, device="cuda", memory_limit=limit)
        assert most[0] <= SHARE * limit + SLACK
        del result


SCHEDULES = {
    "push": ew.Schedule(delivery=ew.Push()),
    "pull": ew.Schedule(delivery=ew.Pull()),
    "laid out": ew.Schedule(delivery=ew.Pull(), layout=ew.Layout()),
    "buffered": ew.Schedule(delivery=ew.Buffered()),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("program", [Given, Traffic])
def test_memory_of_a_program_stays_within_what_was_said(program, schedule):
    """What is made once for the graph does not count; copies of what is given do, for each run has its own."""
    graph = make_graph("plain")
    values = {
        "value": np.ones(graph.num_vertices, np.float32),
        "factor": np.ones(graph.num_arcs),
    }
    given = values if program is Given else {"last": np.ones(graph.num_arcs, np.int64)}
    prepared = ew.prepare(program, graph, device="cuda", schedule=SCHEDULES[schedule])
    result = prepared(**given)
    del result
    for make in (prepared, ew.prepare(program, graph, device="cuda", schedule=SCHEDULES[schedule])):

        def call(graph, device, memory_limit, make=make):
            return make(memory_limit=memory_limit, **given)

        limit = needed(call, graph)
        with peak_of_pool() as most:
            result = call(graph, "cuda", limit)
        assert most[0] <= SHARE * limit + SLACK
        del result


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.bool_, [True]),
        (np.int8, [-1, 5]),
        (np.int16, [-2]),
        (np.uint32, [2**32 - 1, 7]),
        (np.float32, [np.inf, -0.5]),
        (np.int64, [0, -1, 2**62, 2**63 - 1]),
        (np.float64, [0.0, np.inf, np.nan]),
    ],
)
def test_arrays_are_filled_with_a_value(dtype, values):
    from edgewise.kernels.cuda.memory import fill, full

    for value in values:
        for length in (0, 1, 1000):
            found = full(length, value, dtype).get()
            assert found.tobytes() == np.full(length, value, dtype).tobytes(), (dtype, value)
    expected = np.full(10, values[0], dtype)
    found = full(10, values[0], dtype)
    fill(found[3:7], 0)
    expected[3:7] = 0
    assert found.get().tobytes() == expected.tobytes()
