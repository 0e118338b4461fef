"""Betweenness by weights, of edges and with a checkpoint on a GPU gives what it gives on the CPU. These tests need an
NVIDIA GPU: `pytest -m gpu`."""

import numpy as np
import pytest
from simulate_betweenness import squares
from test_gpu_betweenness import LARGE, SMALL, both

import edgewise as ew
from edgewise.algorithms.betweenness import checkpoint as betweenness_checkpoint
from edgewise.errors import GraphError, MemoryLimitError, ParameterError, ScheduleError

pytestmark = pytest.mark.gpu

#: The dtype of weights, and a number that those of few values are multiples of, which makes for many shortest paths.
KINDS = {"int32": 1, "int64": 1 << 33, "float32": 0.1, "float64": 0.1}
#: What is asked for.
FORMS = {
    "by weights": (ew.betweenness, {"weighted": True}),
    "by weights with ends": (ew.betweenness, {"weighted": True, "endpoints": True}),
    "edges": (ew.edge_betweenness, {}),
    "edges by weights": (ew.edge_betweenness, {"weighted": True}),
}


def weighted(graph, kind, values=3, seed=0):
    """The graph with drawn weights, one for both arcs of an undirected edge."""
    source, target = graph.sources, graph.targets
    if not graph.directed:
        once = source <= target
        source, target = source[once], target[once]
    drawn = np.random.default_rng(seed).integers(1, values + 1, len(source))
    weights = (drawn * KINDS[kind]).astype(kind)
    return ew.Graph.from_edges(
        source, target, weights, directed=graph.directed, num_vertices=graph.num_vertices
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SMALL)
def test_small_graphs(name, form):
    algorithm, options = FORMS[form]
    graph = SMALL[name]
    undirected = ew.Graph.from_edges(
        graph.sources, graph.targets, directed=False, num_vertices=graph.num_vertices
    )
    for given in (graph, undirected):
        n = given.num_vertices
        sources = None if n < 70 else np.arange(0, n, 1 + n // 20)
        for kind in KINDS:
            full = weighted(given, kind)
            assert both(full, sources, algorithm=algorithm, **options).verify(full)


@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize("algorithm", [ew.betweenness, ew.edge_betweenness])
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_paths_to_some_vertices(name, algorithm, weighs):
    graph = weighted(SMALL[name] if name in SMALL else LARGE[name](), "int64")
    random, n = np.random.default_rng(3), graph.num_vertices
    sources, targets = (random.choice(n, min(n, count), replace=False) for count in (5, 40))
    result = both(graph, sources, algorithm=algorithm, weighted=weighs, targets=targets)
    assert result.verify(graph)


@pytest.mark.parametrize("form", FORMS)
def test_drawn_graphs(form):
    algorithm, options = FORMS[form]
    for seed in range(40):
        random = np.random.default_rng(seed)
        n = int(random.integers(1, 400))
        ends = random.integers(0, n, (2, int(random.integers(0, 5 * n))))
        graph = ew.Graph.from_edges(*ends, directed=bool(seed % 2), num_vertices=n)
        given = weighted(graph, [*KINDS][seed % 4], [1, 2, 5, 1000][seed // 4 % 4], seed)
        sources = random.choice(n, min(n, 12), replace=False)
        both(given, sources, algorithm=algorithm, normalized=bool(seed % 5), **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LARGE)
def test_large_graphs(name, form):
    algorithm, options = FORMS[form]
    for kind, values in (("int32", 2), ("float64", 3), ("float32", 1000)):
        graph = weighted(LARGE[name](), kind, values, seed=values)
        sources = np.random.default_rng(values).choice(graph.num_vertices, 5, replace=False)
        result = both(graph, sources, algorithm=algorithm, **options)
    assert result.verify(graph)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_call_gives_the_same_bits(form):
    algorithm, options = FORMS[form]
    for name in ("R-MAT", "directed R-MAT", "lattice"):
        graph = weighted(LARGE[name](), "float64")
        first = algorithm(graph, k=10, device="cuda", **options).dependency.tobytes()
        again = (algorithm(graph, k=10, device="cuda", **options) for _ in range(3))
        assert all(result.dependency.tobytes() == first for result in again)


@pytest.mark.parametrize("form", FORMS)
def test_counts_of_paths_beyond_the_range_of_floats(form):
    algorithm, options = FORMS[form]
    graph = squares(1200, 4, 0.25)
    result = both(graph, [0, 3, 3500], algorithm=algorithm, **options)
    assert "2 sources had powers" in result.explain()
    assert result.verify(graph)
    assert "powers" not in both(squares(1900, 1, 0.25), [0, 5], algorithm=algorithm, **options).explain()


def test_weights_that_are_refused():
    for weights, problem in (([1, 0], "is not positive"), ([1e30, 1.0], "in float64"), (None, "no weights")):
        graph = ew.Graph.from_edges([0, 1], [1, 2], weights)
        for algorithm in (ew.betweenness, ew.edge_betweenness):
            with pytest.raises(GraphError, match=problem):
                algorithm(graph, weighted=True, device="cuda")


def test_schedules_and_limits_that_are_refused():
    graph = weighted(LARGE["R-MAT"](), "int32")
    for schedule in (
        ew.Schedule(balance=ew.MergePath()),
        ew.Schedule(ew.Buffered()),
        ew.Schedule(layout=ew.Layout()),
    ):
        for algorithm, options in FORMS.values():
            with pytest.raises(ScheduleError, match="does not run as a program"):
                algorithm(graph, k=2, device="cuda", schedule=schedule, **options)
    for algorithm, options in FORMS.values():
        with pytest.raises(MemoryLimitError, match="betweenness needs"):
            algorithm(graph, k=2, device="cuda", memory_limit=1_000_000, **options)


class Interruption(Exception):
    """What a progress function raises."""


def stop_after(enough):
    def progress(done):
        if done >= enough:
            raise Interruption

    return progress


@pytest.mark.parametrize("form", [*FORMS, "by arcs", "as a program"])
def test_an_interrupted_run_goes_on_to_the_same_bits(form, tmp_path):
    schedule = ew.Schedule(balance=ew.MergePath()) if form == "as a program" else None
    algorithm, options = FORMS.get(form, (ew.betweenness, {"schedule": schedule}))
    graph, path = weighted(LARGE["R-MAT"](), "float64"), tmp_path / "sums"
    given = {"k": 75, "device": "cuda", **options}
    whole = algorithm(graph, **given)
    for enough in (33, 65):
        with pytest.raises(Interruption):
            algorithm(graph, checkpoint=path, progress=stop_after(enough), **given)
        done = int(np.load(path)["done"])
        assert done % 32 == 0 or done == 75
    result = algorithm(graph, checkpoint=path, **given)
    assert f"{done} of 75 sources" in result.explain()
    assert result.dependency.tobytes() == whole.dependency.tobytes()
    assert not path.exists()


def test_checkpoints_of_other_runs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(betweenness_checkpoint, "SECONDS", 0)
    graph, path = LARGE["R-MAT"](), tmp_path / "sums"
    with pytest.raises(Interruption):
        ew.betweenness(graph, k=75, device="cuda", checkpoint=path, progress=stop_after(32))
    for other in (
        {"device": "cpu"},
        {"device": "cuda", "memory_limit": 6_000_000},
        {"device": "cuda", "endpoints": True},
        {"device": "cuda", "schedule": ew.Schedule(ew.Buffered())},
    ):
        with pytest.raises(ParameterError, match="is that of other arguments"):
            ew.betweenness(graph, k=75, checkpoint=path, **other)
    assert path.exists()
    both(graph, list(range(0, 4000, 100)), checkpoint=tmp_path / "others")


@pytest.mark.parametrize("form", FORMS)
def test_progress_and_interruptions(form):
    algorithm, options = FORMS[form]
    graph, seen = weighted(ew.generate.lattice(200, 200, directed=False), "int32"), []
    algorithm(graph, k=20, device="cuda", progress=seen.append, **options)
    assert seen == sorted(seen) and {*range(1, 21)} <= {*seen} <= {*range(21)}
    with pytest.raises(Interruption):
        algorithm(graph, k=20, device="cuda", progress=stop_after(3), **options)
    both(graph, [0, 7], algorithm=algorithm, **options)
