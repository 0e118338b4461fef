"""Every CUDA kernel of the algorithms compiles for every architecture, which needs no GPU and says nothing of answers:
tests/simulate_algorithms.py runs kernels in numba's simulator, tests/test_gpu_algorithms.py on a GPU."""

import importlib

import numpy as np
import pytest
from test_gpu_compile import code_of

import edgewise as ew
from edgewise.algorithms.bfs.levels import BreadthFirst
from edgewise.algorithms.sssp.relaxation import paths_program

gpu = pytest.importorskip(
    "edgewise.kernels.cuda.compile", reason="numba-cuda is not installed", exc_type=ImportError
)

OLDEST, NEWEST_MEASURED = (7, 5), (9, 0)
#: Offsets, weights, distances and ranks: those of most graphs, and those of large or precise ones.
SMALL = tuple(map(np.dtype, (np.uint32, np.int32, np.int32, np.float32)))
BIG = tuple(map(np.dtype, (np.uint64, np.float64, np.float64, np.float64)))


def kernels(offsets, weight, distance, rank):
    """The kernels for these dtypes, each as a function and the types of its arguments."""
    from edgewise.algorithms.betweenness import cuda_batched, cuda_weighted
    from edgewise.algorithms.bfs import cuda as bfs_cuda
    from edgewise.algorithms.bfs import cuda_layers as bfs_layers
    from edgewise.algorithms.bfs import ranks_cuda as bfs_ranks
    from edgewise.algorithms.bfs import ranks_kernels as bfs_ranks_kernels
    from edgewise.algorithms.bfs import ranks_levels as bfs_levels
    from edgewise.algorithms.common import by_clusters, cluster_rows, offers_cuda
    from edgewise.algorithms.components import cuda as components_cuda
    from edgewise.algorithms.components import ranks_cuda as components_ranks
    from edgewise.algorithms.core_numbers import cuda as core_numbers_cuda
    from edgewise.algorithms.mst import cuda as mst_cuda
    from edgewise.algorithms.mst import forest_edges, program_contract
    from edgewise.algorithms.pagerank import cuda as pagerank_cuda
    from edgewise.algorithms.pagerank import gpu_ranks as pagerank_ranks
    from edgewise.algorithms.scc import cuda as scc_cuda
    from edgewise.algorithms.sssp import cuda as sssp_cuda
    from edgewise.algorithms.sssp import cuda_apart, cuda_bounded, near_far_ranks
    from edgewise.algorithms.sssp import cuda_layers as sssp_layers
    from edgewise.algorithms.sssp import ranks_cuda as sssp_ranks
    from edgewise.algorithms.triangles import cuda as triangles_cuda
    from edgewise.graph import keys_cuda
    from edgewise.layout import clusters_cuda, hub_cuda, layers_cuda, placed_arcs_cuda, slots_cuda

    special, wide = rank == np.float64, np.dtype(f"{weight.kind}8")
    near, where = np.dtype(np.float32) if special else distance, pagerank_cuda.Where
    told = np.dtype(np.int8 if special else np.int16)

    def sssp_kernel(takes, dtype, weighted, weight=weight, apart=False):
        made = sssp_cuda.MAKERS[takes](dtype, weighted, apart)
        return made, sssp_cuda.signature(takes, offsets, weight, dtype)

    return {
        "bfs": (bfs_cuda.make_kernel(special), bfs_cuda.signature(offsets)),
        "parents of levels": (bfs_cuda.parents_kernel, bfs_cuda.parents_signature(offsets)),
        "parents of levels on ranks": (
            bfs_ranks.offers_kernel,
            offers_cuda.signature(offsets, None, np.dtype(np.int32)),
        ),
        "bfs on ranks, pushed": (bfs_ranks_kernels.push_kernel, bfs_ranks_kernels.signature(offsets)),
        "bfs on ranks, pulled": (bfs_ranks_kernels.pull_kernel, bfs_ranks_kernels.signature(offsets)),
        "levels shortened": (bfs_levels.copy_kernel, bfs_levels.signature(np.dtype(np.int32), told)),
        "levels lengthened": (bfs_levels.copy_kernel, bfs_levels.signature(told, np.dtype(np.int32))),
        "levels of layers": (bfs_layers.read_kernel, bfs_layers.read_signature(offsets)),
        "levels by vertices": (bfs_layers.write_kernel, bfs_layers.write_signature()),
        "sweeps": (
            sssp_layers.make_kernel(distance, True, special),
            sssp_layers.signature(offsets, weight, distance),
        ),
        "clusters grown": (clusters_cuda.make_grow(special), clusters_cuda.grow_signature(offsets)),
        "cells joined": (clusters_cuda.make_link(special), clusters_cuda.link_signature(offsets)),
        "places in clusters": (
            cluster_rows.clusters_kernel,
            cluster_rows.divide_signature(offsets, weight),
        ),
        "arcs of clusters": (
            cluster_rows.make_divide(True, special),
            cluster_rows.divide_signature(offsets, weight),
        ),
        "arcs among clusters": (
            placed_arcs_cuda.placing_kernel,
            placed_arcs_cuda.placing_signature(offsets),
        ),
        "by clusters": (by_clusters.make_kernel(distance, True), by_clusters.signature(weight, distance)),
        "moved rows": (layers_cuda.make_move(True, False), layers_cuda.move_signature(offsets, weight)),
        "layers": (layers_cuda.make_move(True, True), layers_cuda.move_signature(offsets, weight)),
        "sssp": sssp_kernel(sssp_cuda.Paths, distance, True),
        "sssp apart": sssp_kernel(sssp_cuda.Paths, wide, True, np.dtype(np.uint8), True),
        "sssp over sorted rows": (cuda_apart.make_kernel(near), cuda_apart.signature(offsets, near)),
        "sssp within bounds": (
            cuda_bounded.make_kernel(distance, True, special),
            cuda_bounded.signature(offsets, weight, distance),
        ),
        "parents of distances": sssp_kernel(sssp_cuda.Parents, distance, special),
        "parents of distances on ranks": (
            sssp_ranks.make_offers_kernel(distance, True),
            offers_cuda.signature(offsets, weight, distance),
        ),
        "sssp on ranks": (
            near_far_ranks.make_kernel(distance, True),
            near_far_ranks.signature(offsets, weight, distance),
        ),
        "distances told": (sssp_ranks.finish_kernel, sssp_ranks.finish_signature(distance)),
        "components": (components_cuda.make_kernel(special), components_cuda.signature(offsets)),
        "trees of a rank": (components_ranks.trees_kernel, components_cuda.signature(offsets)),
        "trees told": (components_ranks.pack_kernel, components_ranks.FLATTENING),
        "trees joined": (components_ranks.join_kernel, components_ranks.JOINING),
        "all roots joined": (components_ranks.join_all_kernel, components_ranks.JOINING_ALL),
        "roots counted": (components_ranks.flatten_kernel, components_ranks.FLATTENING),
        "core numbers": (core_numbers_cuda.peel_kernel, core_numbers_cuda.signature(offsets)),
        "forest": (mst_cuda.make_kernel(weight, True), mst_cuda.signature(offsets, weight)),
        "contraction": (program_contract.make_kernel(wide), program_contract.signature(wide)),
        "edges counted": (forest_edges.count_kernel, forest_edges.COUNT_TYPES),
        "edges placed": (forest_edges.place_kernel, forest_edges.place_types(weight)),
        "strong components": (scc_cuda.scc_kernel, scc_cuda.signature(offsets)),
        "pagerank": (
            pagerank_cuda.make_kernel(rank, special, special, where.LAID_OUT if special else where.APART),
            pagerank_cuda.signature(rank),
        ),
        "pagerank on ranks": (
            pagerank_ranks.make_kernel(rank, special, special),
            pagerank_ranks.signature(rank),
        ),
        "pagerank in place": (
            pagerank_cuda.make_kernel(rank, False, special, where.IN_PLACE),
            pagerank_cuda.signature(rank),
        ),
        "betweenness": (cuda_batched.make_kernel(special), cuda_batched.signature(offsets)),
        "weighted betweenness": (
            cuda_weighted.make_kernel(wide, True, special),
            cuda_weighted.signature(offsets, weight, wide),
        ),
        "distances": sssp_kernel(sssp_cuda.Distances, wide, True),
        "edges of triangles": (triangles_cuda.list_kernel, triangles_cuda.list_signature(offsets)),
        "triangles": (triangles_cuda.count_kernel, triangles_cuda.COUNT_TYPES),
        "slots": (slots_cuda.slots_kernel, slots_cuda.slots_signature(offsets)),
        "units": (slots_cuda.measure_kernel, slots_cuda.measure_signature()),
        "sampled arcs counted": (hub_cuda.count_kernel, hub_cuda.SIGNATURE),
        "keys": (keys_cuda.keys_kernel, keys_cuda.signature(offsets)),
    }


NAMES = (
    "bfs",
    "parents of levels",
    "parents of levels on ranks",
    "bfs on ranks, pushed",
    "bfs on ranks, pulled",
    "levels shortened",
    "levels lengthened",
    "levels of layers",
    "levels by vertices",
    "sweeps",
    "clusters grown",
    "cells joined",
    "places in clusters",
    "arcs of clusters",
    "arcs among clusters",
    "by clusters",
    "moved rows",
    "layers",
    "sssp",
    "sssp apart",
    "sssp over sorted rows",
    "sssp within bounds",
    "parents of distances",
    "parents of distances on ranks",
    "sssp on ranks",
    "distances told",
    "components",
    "trees of a rank",
    "trees told",
    "trees joined",
    "all roots joined",
    "roots counted",
    "core numbers",
    "forest",
    "contraction",
    "edges counted",
    "edges placed",
    "strong components",
    "pagerank",
    "pagerank on ranks",
    "pagerank in place",
    "betweenness",
    "weighted betweenness",
    "distances",
    "edges of triangles",
    "triangles",
    "slots",
    "units",
    "sampled arcs counted",
    "keys",
)
CASES = [(name, NEWEST_MEASURED, SMALL) for name in NAMES] + [(name, OLDEST, BIG) for name in NAMES]
#: The architectures between and beyond, each with another kernel.
CASES += [("slots", (8, 0), SMALL), ("components", (10, 0), SMALL), ("pagerank", (12, 0), SMALL)]
#: Kernels for graphs that do not fit on the GPU or run by clusters.
APART = ("sssp apart", "sssp over sorted rows", "pagerank in place", "by clusters")
#: Cases that resemble others.
SLOW = [
    ("by clusters", OLDEST, BIG),
    ("weighted betweenness", OLDEST, BIG),
    ("distances", NEWEST_MEASURED, SMALL),
    ("distances", OLDEST, BIG),
]
MARKS = dict.fromkeys(SLOW, pytest.mark.slow)
MARKS |= {(name, NEWEST_MEASURED, SMALL): pytest.mark.more for name in APART}
MARKS |= {each: pytest.mark.more for each in CASES if each[1] == OLDEST and each not in SLOW}
CASES = [pytest.param(*each, marks=MARKS.get(each, ())) for each in CASES]


@pytest.mark.parametrize(("name", "capability", "dtypes"), CASES)
def test_every_kernel_compiles(name, capability, dtypes):
    """Numba takes a mix of signed and unsigned integers for a float without a word: integer kernels have none."""
    function, signature = kernels(*dtypes)[name]
    ptx = gpu.to_ptx(function, signature, capability)
    if "float" not in str(signature):
        assert ".f64" not in ptx and ".f32" not in ptx
    code = gpu.to_machine_code(ptx, capability)
    assert code.startswith(b"\x7fELF")
    assert b".text.kernel" in code


def test_no_kernel_is_left_out():
    assert set(NAMES) == set(kernels(*SMALL))


@pytest.mark.parametrize(("weight", "weighted"), [("int32", False), ("int64", True), ("float32", True)])
def test_forests_compile_for_every_dtype_of_weights(weight, weighted):
    """Those that `kernels` does not have."""
    from edgewise.algorithms.mst import cuda as mst_cuda

    kernel = mst_cuda.make_kernel(np.dtype(weight), weighted)
    kinds = mst_cuda.signature(np.dtype(np.uint32), np.dtype(weight))
    assert b".text.kernel" in gpu.compile_kernel(kernel, kinds, NEWEST_MEASURED, None)


@pytest.mark.slow
@pytest.mark.parametrize("with_powers", [False, True])
def test_edge_betweenness_compiles(with_powers):
    """By numbers of arcs; `kernels` has kernels with weights."""
    from edgewise.algorithms.betweenness import cuda_weighted
    from edgewise.algorithms.sssp import cuda as sssp_cuda

    whole, offsets = np.dtype(np.int32), np.dtype(np.uint32)
    kernel = cuda_weighted.make_kernel(whole, False, with_powers)
    kinds = cuda_weighted.signature(offsets, whole, whole)
    assert b".text.kernel" in gpu.compile_kernel(kernel, kinds, NEWEST_MEASURED, None)
    search = sssp_cuda.make_distances_kernel(whole, False, False)
    kinds = sssp_cuda.signature(sssp_cuda.Distances, offsets, whole, whole)
    assert b".text.kernel" in gpu.compile_kernel(search, kinds, NEWEST_MEASURED, None)


INT32, INT64, FLOAT32, FLOAT64 = map(np.dtype, ("int32", "int64", "float32", "float64"))


def programs_of(algorithm):
    """The programs of an algorithm, which need numba-cuda."""
    return importlib.import_module(f"edgewise.algorithms.{algorithm}.program")


WALK = {"damping": 0.85, "enough": 0.0, "begin": 0.5, "even": 0.5}


@pytest.mark.more
@pytest.mark.parametrize(
    ("make", "values", "capability", "balance"),
    [
        (lambda: BreadthFirst, {"source": 0}, NEWEST_MEASURED, ew.MergePath()),
        pytest.param(
            lambda: programs_of("components").Components, {}, OLDEST, ew.WarpMapped(8), marks=pytest.mark.slow
        ),
        (lambda: paths_program(FLOAT32, False), {"source": 0}, OLDEST, ew.EdgeBased()),
        pytest.param(
            lambda: paths_program(FLOAT64, True),
            {"source": 0},
            NEWEST_MEASURED,
            ew.Binned(),
            marks=pytest.mark.slow,
        ),
        (lambda: programs_of("mst").edges_program(FLOAT32), {}, NEWEST_MEASURED, ew.WorkloadDecomposition()),
        (
            lambda: programs_of("pagerank").ranks_program(FLOAT32, False),
            WALK,
            OLDEST,
            ew.HierarchicalProcessing(),
        ),
        pytest.param(
            lambda: programs_of("pagerank").ranks_program(FLOAT64, True),
            WALK,
            NEWEST_MEASURED,
            ew.NodeSplitting(),
            marks=pytest.mark.slow,
        ),
        (
            lambda: programs_of("betweenness").DirectedDependencies,
            {"source": 0},
            NEWEST_MEASURED,
            ew.MergePath(),
        ),
        pytest.param(
            lambda: programs_of("betweenness").Dependencies,
            {"source": 0},
            OLDEST,
            ew.WarpMapped(8),
            marks=pytest.mark.slow,
        ),
    ],
    ids=[
        "bfs",
        "components",
        "sssp",
        "negative weights",
        "forest",
        "pagerank",
        "weighted pagerank",
        "directed betweenness",
        "betweenness",
    ],
)
def test_algorithms_as_programs_compile(make, values, capability, balance):
    assert b".text.kernel" in code_of(make(), values, capability, schedule=ew.Schedule(balance=balance))


@pytest.mark.more
@pytest.mark.parametrize("name", ["Trim", "Reach", "Colours"])
def test_strong_components_as_programs_compile(name):
    from edgewise.algorithms.scc import program as scc_program

    program = getattr(scc_program, name)
    assert b".text.kernel" in code_of(program, {}, OLDEST, schedule=ew.Schedule(balance=ew.WarpMapped(8)))
