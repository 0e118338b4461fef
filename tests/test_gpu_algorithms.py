"""The algorithms on a GPU give what they give on the CPU. These tests need an NVIDIA GPU: `pytest -m gpu`."""

import concurrent.futures

import numpy as np
import pytest
from gpu_cases import FOREST, LARGE, as_program, chain_of_cycles, graphs, same

import edgewise as ew
from edgewise.errors import FileChangedError, GraphError, MemoryLimitError

pytestmark = pytest.mark.gpu


def large():
    for name, make in LARGE.items():
        yield name, make()


def both(algorithm, graph, *args, **options):
    """The result on the GPU, verified, and that on the CPU."""
    on_cpu, on_gpu = (algorithm(graph, *args, device=device, **options) for device in ("cpu", "cuda"))
    assert "GPU" in on_gpu.explain()
    assert on_gpu.verify(graph)
    return on_gpu, on_cpu


@pytest.mark.parametrize("make", [graphs, large])
def test_bfs(make):
    for name, graph in make():
        for delivery in ("auto", ew.Push(), ew.Pull()):
            got, expected = both(ew.bfs, graph, 0, schedule=ew.Schedule(delivery=delivery))
            same(name, got, expected, "level", "parent_index", "supersteps")


def test_bfs_from_several_sources_and_to_a_depth():
    graph = LARGE["lattice"]()
    for depth in (0, 1, 7, 200):
        got, expected = both(ew.bfs, graph, [5, 70_000, 5, 119_999], max_depth=depth)
        same(depth, got, expected, "level", "parent_index")


@pytest.mark.parametrize("make", [graphs, large])
def test_sssp(make):
    for name, graph in make():
        got, expected = both(ew.sssp, graph, 0)
        same(name, got, expected, "distance", "parent_index")
        assert got.distance.dtype == expected.distance.dtype


@pytest.mark.parametrize("delta", [1, 17, 1e9])
def test_sssp_with_any_delta(delta):
    for name in ("hubs", "lattice"):
        got, expected = both(ew.sssp, LARGE[name](), 3, delta=delta)
        same(name, got, expected, "distance", "parent_index")


def test_frontiers_of_vertices_with_two_pieces():
    """Every vertex of the second level has 65 arcs: a block's share of the pieces is not one of the vertices."""
    middle = np.arange(1, 1001)
    sources = np.concatenate([np.zeros(1000, int), np.repeat(middle, 65)])
    targets = np.concatenate([middle, 1001 + np.arange(65_000)])
    graph = ew.Graph.from_edges(sources, targets)
    got, expected = both(ew.bfs, graph, 0)
    same("two pieces", got, expected, "level", "parent_index")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("balance", ["auto", ew.WarpMapped()], ids=str)
def test_distances_that_overflow_are_refused(dtype, balance):
    large = np.finfo(dtype).max * dtype(0.7)
    graph = ew.Graph.from_edges(list("abcx"), list("bcdy"), np.array([large, large, 1, 1], dtype))
    schedule = ew.Schedule(balance=balance)
    with pytest.raises(GraphError, match=f"vertex 'c' .* more than {dtype.__name__} holds"):
        ew.sssp(graph, "a", device="cuda", schedule=schedule)
    apart = ew.sssp(graph, "b", device="cuda", schedule=schedule)
    assert apart.num_reached == 3
    assert apart.verify(graph)


@pytest.mark.parametrize("make", [graphs, large])
def test_components(make):
    for name, graph in make():
        for in_edges in (False, True):
            if in_edges:
                graph.make_in_edges()
            got, expected = both(ew.connected_components, graph)
            same(name, got, expected, "component", "num_components")


def test_components_of_deep_trees_are_the_same_each_time():
    """Shuffled paths make the deepest trees, over which threads meet while all labels are pointed to their roots."""
    random = np.random.default_rng(3)
    for n, gaps in ((300_000, 50), (300_000, 0), (20_000, 3)):
        order = random.permutation(n)
        kept = np.ones(n - 1, bool)
        kept[random.integers(0, n - 1, gaps)] = False
        graph = ew.Graph.from_edges(order[:-1][kept], order[1:][kept], directed=False, num_vertices=n)
        expected = ew.connected_components(graph, device="cpu")
        for _ in range(30):
            got = ew.connected_components(graph, device="cuda")
            same(f"{n} {gaps}", got, expected, "component", "num_components")


def check_forest(name, graph):
    got, expected = both(ew.mst, graph, symmetrize=graph.directed)
    same(name, got, expected, *FOREST)
    assert got.weight.dtype == expected.weight.dtype, name


@pytest.mark.parametrize("make", [graphs, large])
def test_forests(make):
    for name, graph in make():
        check_forest(name, graph)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64, None])
def test_forests_by_weights_of_any_sign_of_which_many_are_equal(dtype):
    """Zeros of both signs are equal; 64-bit weights differ in their upper or their lower halves only."""
    random = np.random.default_rng(9)
    for name in ("hubs", "uniform", "lattice"):
        graph = LARGE[name]()
        for most in (1, 4, 10**9):
            weights = None
            if dtype is not None:
                weights = random.integers(-most, most, graph.num_arcs, endpoint=True)
                if np.dtype(dtype).kind == "f":
                    weights = weights * random.choice([-0.25, 0.25], graph.num_arcs)
                elif dtype == np.int64 and most == 4:
                    weights = weights << 40
                weights = weights.astype(dtype)
            for directed in (True, False):
                ends = graph.sources, graph.targets
                made = ew.Graph.from_edges(*ends, weights, directed, num_vertices=graph.num_vertices)
                check_forest(f"{name} up to {most}", made)


def test_forests_of_paths_whose_weights_rise():
    """All but one vertex join in one round, in a chain as long as the path."""
    n = 3_000_000
    for weights in (np.arange(n - 1), -np.arange(n - 1), np.zeros(n - 1, np.int32)):
        graph = ew.Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights, directed=False)
        got, expected = both(ew.mst, graph)
        same("path", got, expected, *FOREST)
        assert got.supersteps < 3


def test_forests_without_one_large_component():
    """Many cliques that no edge joins, and a few large components of equal size."""
    random = np.random.default_rng(11)
    for groups, size, edges in ((3000, 40, 30), (3, 100_000, 8), (40_000, 3, 2)):
        ends = random.integers(0, size, (2, groups, size * edges)) + size * np.arange(groups)[:, np.newaxis]
        weights = random.integers(0, 100, groups * size * edges)
        graph = ew.Graph.from_edges(*ends.reshape(2, -1), weights, False, num_vertices=groups * size)
        check_forest(f"{groups} of {size}", graph)


def test_the_forest_of_a_star_of_many_vertices():
    n = 4_000_000
    weights = np.random.default_rng(12).random(n - 1)
    graph = ew.Graph.from_edges(np.full(n - 1, n - 1), np.arange(n - 1), weights, False, num_vertices=n)
    check_forest("star", graph)


def test_the_same_forest_each_time():
    graph = LARGE["hubs"]()
    expected = ew.mst(graph, symmetrize=True, device="cpu")
    for _ in range(100):
        same("hubs", ew.mst(graph, symmetrize=True, device="cuda"), expected, *FOREST)


def renumbered(graph, seed):
    """The same graph with vertices in a random order."""
    order = np.random.default_rng(seed).permutation(graph.num_vertices)
    return ew.Graph.from_edges(order[graph.sources], order[graph.targets], num_vertices=graph.num_vertices)


#: Long ones, which need threads that follow chains, and those with many components of middle size.
STRONG = {
    "two-way streets": lambda: ew.generate.lattice(1000, 1000, seed=1),
    "some one-way streets": lambda: ew.generate.lattice(1000, 1000, one_way=0.3, seed=2),
    "one-way streets only": lambda: ew.generate.lattice(300, 300, one_way=1.0, seed=3),
    "long path": lambda: renumbered(ew.generate.path(200_000), 4),
    "long cycle": lambda: renumbered(ew.generate.cycle(200_000), 5),
    "rising cycles": lambda: chain_of_cycles(2, 50_000, np.arange(100_000)),
    "falling cycles": lambda: chain_of_cycles(3, 30_000, np.arange(90_000)[::-1]),
    "shuffled cycles": lambda: chain_of_cycles(7, 10_000, np.random.default_rng(6).permutation(70_000)),
    "loops": lambda: ew.Graph.from_edges(np.arange(5000), np.arange(5000)),
    "parallel arcs": lambda: ew.Graph.from_edges(np.arange(9000) % 3000, (np.arange(9000) + 1) % 3000),
    "no arcs": lambda: ew.Graph.from_edges([], [], num_vertices=100_000),
    "large hubs": lambda: ew.generate.rmat(20, 16, seed=7),
    "large uniform": lambda: ew.generate.uniform(500_000, 8_000_000, seed=8),
    **{
        f"mean degree {degree}": lambda degree=degree: ew.generate.uniform(
            400_000, int(400_000 * degree), seed=9
        )
        for degree in (0.9, 1.0, 1.1, 1.3, 1.6, 2.0, 3.0)
    },
}


@pytest.mark.parametrize("make", [graphs, large])
def test_strong_components(make):
    for name, graph in make():
        got, expected = both(ew.scc, graph)
        same(name, got, expected, "component", "num_components")


@pytest.mark.parametrize("name", STRONG)
def test_strong_components_are_the_same_each_time(name):
    graph = STRONG[name]()
    got, expected = both(ew.scc, graph)
    same(name, got, expected, "component", "num_components")
    for _ in range(20):
        same(name, ew.scc(graph, device="cuda"), expected, "component", "num_components")


@pytest.mark.parametrize("make", [graphs, large])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pagerank(make, dtype):
    for name, graph in make():
        got, expected = both(ew.pagerank, graph, tol=0, max_iterations=20, dtype=dtype)
        tolerance = 1e-12 if dtype == np.float64 else 3e-6
        assert np.abs(got.rank.astype(float) - expected.rank).sum() <= tolerance, name
        assert got.rank.dtype == dtype
        assert got.residual == pytest.approx(expected.residual, rel=1e-3, abs=2 * tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pagerank_reaches_its_own_tolerance(dtype):
    for name, graph in large():
        result = ew.pagerank(graph, dtype=dtype, device="cuda")
        assert result.converged, name
        assert result.verify(graph)


def test_pagerank_with_all_its_options():
    for name in ("hubs", "sparse"):
        graph = LARGE[name]()
        n = graph.num_vertices
        jump, start = np.arange(n) % 5, np.arange(n) % 3
        for options in (
            {"personalization": jump},
            {"start": start, "damping": 0.5},
            {"weighted": True},
            {"weighted": True, "personalization": jump, "start": start, "tol": 1e-9},
        ):
            got, expected = both(ew.pagerank, graph, **options)
            assert (got.iterations, got.converged) == (expected.iterations, expected.converged)
            np.testing.assert_allclose(got.rank, expected.rank, rtol=1e-9, atol=1e-15, err_msg=name)
            assert got.residual == pytest.approx(expected.residual, rel=1e-6, abs=1e-12)


def test_the_same_call_gives_the_same_ranks():
    graph = LARGE["hubs"]()
    first = ew.pagerank(graph, dtype=np.float32, device="cuda").rank.tobytes()
    assert all(ew.pagerank(graph, dtype=np.float32, device="cuda").rank.tobytes() == first for _ in range(5))


def test_results_stay_on_the_gpu():
    import cupy

    result = ew.bfs(LARGE["lattice"](), 0, device="cuda")
    assert isinstance(result.on_device("level"), cupy.ndarray)
    np.testing.assert_array_equal(result.on_device("level").get(), result.level)
    assert isinstance(result.on_device("level"), cupy.ndarray)


def test_auto_is_where_the_run_ends_sooner_unless_cpu_threads_are_asked_for(monkeypatch):
    import cupy

    monkeypatch.setenv("EDGEWISE_NUM_THREADS", "4")  # 32 cores would be sooner
    small, large = ew.generate.lattice(10, 10), ew.generate.rmat(18, 16, seed=1)
    assert "too little to ask for a GPU" in ew.bfs(small, 0).explain()
    ew.pagerank(large, device="cuda")
    result = ew.pagerank(large)
    assert result.explain().startswith("on the GPU: about")
    assert isinstance(result.on_device("rank"), cupy.ndarray)
    assert "GPU" not in ew.pagerank(large, schedule=ew.Schedule(num_threads=2)).explain()


def test_too_little_memory_is_refused_before_the_run():
    graph = LARGE["lattice"]()
    with pytest.raises(MemoryLimitError, match="bfs needs"):
        ew.bfs(graph, 0, device="cuda", memory_limit=1000)
    with pytest.raises(MemoryLimitError, match="the limit is 1,000"):
        ew.bfs(graph, 0, device="cuda", memory_limit=1000, schedule=ew.Schedule(balance=ew.MergePath()))


def test_an_interruption_ends_the_run():
    graph = ew.generate.path(3_000_000)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ew.bfs(graph, 0, device="cuda", progress=stop)
    with pytest.raises(KeyboardInterrupt):
        as_program(ew.bfs, graph, 0, balance=ew.ThreadMapped(), progress=stop)
    assert ew.bfs(graph, 2_999_000, device="cuda").level.max() == 999


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("dtype", [np.int32, np.uint64])
@pytest.mark.parametrize("num_edges", [400_000, 0])
def test_graphs_are_built_on_the_gpu(directed, weighted, dtype, num_edges):
    import cupy

    random = np.random.default_rng(1)
    ids = random.integers(0, 50_000, (2, num_edges)).astype(dtype)
    columns = [*ids, random.integers(1, 100, num_edges) if weighted else None]
    expected = ew.Graph.from_edges(*columns, directed, 50_000)
    on_gpu = [None if column is None else cupy.asarray(column) for column in columns]
    graph = ew.Graph.from_edges(*on_gpu, directed, 50_000)
    for name in ("offsets", "targets", "weights", "in_offsets", "in_sources", "in_weights"):
        if getattr(expected, name) is None:
            assert getattr(graph.gpu, name) is None
            continue
        assert isinstance(getattr(graph.gpu, name), cupy.ndarray)
        np.testing.assert_array_equal(getattr(graph, name), getattr(expected, name), err_msg=name)
    same(directed, ew.sssp(graph, 0), ew.sssp(expected, 0, device="cpu"), "distance", "parent_index")


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_are_saved_from_the_gpu_and_run_there_from_a_file(directed, tmp_path):
    import cupy

    source, target = cupy.random.RandomState(1).randint(0, 100_000, (2, 1_000_000))
    weight = (source % 7 + 1).astype(np.float32)
    graph = ew.Graph.from_edges(source, target, weight, directed, 100_000)
    graph.save(tmp_path / "g", in_edges=True)
    loaded = ew.load(tmp_path / "g")
    assert not loaded.built_on_gpu
    for run in (lambda g: ew.bfs(g, 3, device="cuda"), lambda g: ew.sssp(g, 3, device="cuda")):
        found = run(loaded)
        same("file", found, run(graph), "parent_index")
        assert found.verify(loaded)
    np.testing.assert_array_equal(loaded.in_weights, graph.in_weights)
    (tmp_path / "g").write_bytes(b"")
    with pytest.raises(FileChangedError, match="cut short"):
        ew.bfs(loaded, 3, device="cuda")


def test_graphs_are_built_from_dlpack():
    import cupy

    class Tensor:
        """A column that knows DLPack only."""

        def __init__(self, values):
            self._values = cupy.asarray(values)

        def __dlpack__(self, **options):
            return self._values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self._values.__dlpack_device__()

    graph = ew.Graph.from_edges(Tensor([0, 1, 1]), Tensor([1, 2, 0]), num_vertices=3)
    assert graph.targets.tolist() == [1, 2, 0]


def test_runs_are_on_the_callers_stream():
    """What a run reads is written on the same stream just before, and not there yet when the run is asked for."""
    import cupy

    n = 5_000_000
    expected = ew.bfs(ew.generate.path(n), 0, max_depth=3, device="cpu")
    ew.bfs(ew.generate.path(n), 0, max_depth=3, device="cuda")  # compiled before
    with cupy.cuda.Stream(non_blocking=True):
        source, target, noise = (
            cupy.zeros(n - 1, np.int32),
            cupy.zeros(n - 1, np.int32),
            cupy.ones((4000, 4000)),
        )
        for _ in range(20):
            noise = noise @ noise / 4000
        source[:] = cupy.arange(n - 1)
        target[:] = cupy.arange(1, n)
        result = ew.bfs(ew.Graph.from_edges(source, target, num_vertices=n), 0, max_depth=3, device="cuda")
    same("stream", result, expected, "level", "parent_index")


def test_a_new_thread_runs_on_the_gpu():
    """Also where the first thing that it does is to start a kernel, in memory that was there before."""
    import cupy

    columns = [cupy.arange(1000, dtype=np.int32), cupy.arange(1000, dtype=np.int32)[::-1]]
    for _ in range(2):
        graph = ew.Graph.from_edges(*columns, num_vertices=1000)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            sources = pool.submit(lambda graph=graph: graph.gpu.in_sources).result()
        assert cupy.asnumpy(sources).tolist() == list(range(999, -1, -1))
        ew.bfs(graph, 0, device="cuda")
