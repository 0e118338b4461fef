"""The rivals in the reproductions of papers, CuSha's shards and comparison sorts, give right answers."""

import numpy as np
import pytest
from simulated import simulated

import edgewise as ew

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

from benchmarks.papers import cusha, cusha_kernel, edge_vertex_remap, merge_sort, quick_sort  # noqa: E402

pytestmark = pytest.mark.slow
H100 = (9, 0)


def test_rivals_give_the_right_answers_in_the_simulator():
    graphs = ["windows", "one window", "one each", "no edges", "chosen"]
    assert simulated("simulate_baselines.py") == [*graphs, "sorts", "remapping"]


@pytest.mark.parametrize("kind", cusha_kernel.DTYPES)
def test_programs_on_shards_compile(kind):
    kernel = cusha_kernel.make_kernel(kind, max(cusha_kernel.TEAMS))
    assert b".text.kernel" in gpu.compile_kernel(kernel, cusha_kernel.signature(kind), H100, None)


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        (merge_sort.merge_sort_kernel, merge_sort.signature()),
        (quick_sort.quick_sort_kernel, quick_sort.signature()),
    ],
    ids=["merge sort", "quick sort"],
)
def test_sorts_compile(kernel, signature):
    assert b".text.kernel" in gpu.compile_kernel(kernel, signature, H100, None)


def test_remapping_compiles():
    assert b".text.kernel" in gpu.compile_kernel(
        edge_vertex_remap.remap_kernel, edge_vertex_remap.signature(), H100, None
    )


@pytest.mark.parametrize(
    ("vertices", "edges", "window", "teams"),
    [
        (1_000_000, 16_000_000, 1415, 4),  # windows of a shard have 32 entries
        (100_000, 640, 12_000, 1),  # shared memory is full
        (600, 0, 600, 4),  # all vertices
    ],
)
def test_windows_are_what_cusha_chooses(vertices, edges, window, teams):
    assert cusha.window_for(vertices, edges) == window
    assert cusha.teams_for(window) == teams


@pytest.mark.gpu
@pytest.mark.parametrize("window", [None, 100, 5000, 12_000], ids=str)
def test_shards_agree_with_the_algorithms_on_a_gpu(window):
    graph = ew.generate.rmat(17, 24, seed=5, weights=(1, 100))
    n, edges = graph.num_vertices, (graph.sources, graph.targets)
    source = int(graph.out_degree.argmax())
    shards = cusha.make_shards(n, *edges, graph.weights.astype(np.int32), window)
    expected = ew.pagerank(graph, tol=0, max_iterations=50, dtype=np.float32, device="cuda").rank
    np.testing.assert_allclose(cusha.pagerank(shards).get(), expected, rtol=1e-4)
    expected = ew.sssp(graph, source, device="cuda").distance.astype(np.int64)
    np.testing.assert_array_equal(
        cusha.sssp(shards, source).get(), np.minimum(expected, cusha_kernel.UNREACHED)
    )
    both_ways = np.concatenate(edges), np.concatenate(edges[::-1])
    expected = ew.connected_components(graph, device="cuda").component
    found = cusha.components(cusha.make_shards(n, *both_ways, window=window)).get()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("bound", [2**32, 1000, 1], ids=["different keys", "like keys", "one key"])
@pytest.mark.parametrize("size", [3_000_000, 4096, 5])
def test_sorts_agree_with_numpy_on_a_gpu(size, bound):
    import cupy

    keys = np.random.default_rng(size).integers(0, bound, size, dtype=np.uint32)
    found, index = (column.get() for column in merge_sort.merge_sort(cupy.asarray(keys)))
    np.testing.assert_array_equal(found, np.sort(keys))
    np.testing.assert_array_equal(index, np.argsort(keys, kind="stable"))
    found, index = (column.get() for column in quick_sort.quick_sort(cupy.asarray(keys)))
    np.testing.assert_array_equal(found, np.sort(keys))
    np.testing.assert_array_equal(keys[index], found)
    assert len(np.unique(index)) == size


@pytest.mark.gpu
def test_slots_are_remapped_in_both_ways_on_a_gpu():
    import cupy

    graph = ew.generate.rmat(16, 16, seed=5)
    rows = list(edge_vertex_remap.rows(cupy.asarray(graph.targets), graph.num_vertices, 1))
    assert [row["system"] for row in rows] == ["to a second buffer", "in place"]
    assert all(row["right"] for row in rows)
    assert rows[0]["run_bytes"] == 2 * rows[1]["run_bytes"]
