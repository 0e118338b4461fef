"""Run the rivals of benchmarks/papers on a GPU that tests/simulator.py pretends, and compare them with the CPU."""

import numpy as np
from simulator import pretend

import edgewise as ew

#: Vertices, edges, and the vertices of a window: one that is cut off; one for all; one vertex each; as CuSha chooses.
GRAPHS = {
    "windows": (33, 60, 7),
    "one window": (9, 20, 9),
    "one each": (7, 30, 1),
    "no edges": (5, 0, 2),
    "chosen": (40, 30, None),
}


def compare_shards(num_vertices, num_edges, window):
    """Compare the programs on shards with the CPU."""
    from benchmarks.papers.cusha import components, make_shards, pagerank, sssp
    from benchmarks.papers.cusha_kernel import UNREACHED

    random = np.random.default_rng(num_vertices)
    source, target = random.integers(0, num_vertices, (2, num_edges)).astype(np.int32)
    weight = random.integers(1, 20, num_edges).astype(np.int32)
    graph = ew.Graph.from_edges(source, target, weight, num_vertices=num_vertices)
    shards = make_shards(num_vertices, source, target, weight, window)
    assert shards.preprocessing_seconds > 0
    for iterations in (0, 3):
        expected = ew.pagerank(graph, tol=0, max_iterations=iterations, dtype=np.float32, device="cpu").rank
        np.testing.assert_allclose(pagerank(shards, iterations), expected, rtol=1e-5)
    expected = ew.sssp(graph, 0, device="cpu").distance.astype(np.int64)
    np.testing.assert_array_equal(sssp(shards, 0), np.minimum(expected, UNREACHED))
    both_ways = np.concatenate([source, target]), np.concatenate([target, source])
    expected = ew.connected_components(graph, device="cpu").component
    np.testing.assert_array_equal(components(make_shards(num_vertices, *both_ways, window=window)), expected)


def compare_sorts():
    """Compare the sorts with NumPy's: of few keys, of whole and cut tiles, of like ones and of ones in order."""
    from benchmarks.papers.merge_sort import TILE, merge_sort
    from benchmarks.papers.quick_sort import quick_sort

    random = np.random.default_rng(1)
    cases = [random.integers(0, 2**32, n, dtype=np.uint32) for n in (1, TILE, TILE + 1, 6 * TILE - 3)]
    cases += [
        random.integers(0, 3, 70, dtype=np.uint32),
        np.full(40, 2**32 - 1, np.uint32),
        np.arange(40, dtype=np.uint32)[::-1].copy(),
    ]
    for keys in cases:
        found, index = merge_sort(keys)
        np.testing.assert_array_equal(found, np.sort(keys))
        np.testing.assert_array_equal(index, np.argsort(keys, kind="stable"))
        found, index = quick_sort(keys)
        np.testing.assert_array_equal(found, np.sort(keys))
        np.testing.assert_array_equal(keys[index], found)
        np.testing.assert_array_equal(np.sort(index), np.arange(len(keys)))


def compare_remapping():
    """Compare slots remapped in both ways with those taken by indices."""
    from benchmarks.papers import edge_vertex_remap as remap
    from edgewise.layout.slots import arrange

    targets = np.random.default_rng(1).integers(0, 80, 500).astype(np.int32)
    targets[:60] = 7  # a row by itself
    units, *_ = arrange(targets, 80, np.uint32, slots=False, arcs=False)
    assert units.heavy == 1
    slots = np.arange(units.size, dtype=np.int32)
    want = remap.expected(units, slots)
    assert not np.array_equal(want, slots)
    for in_place in (False, True):
        np.testing.assert_array_equal(remap.remapped(units, slots.copy(), in_place), want)


def main():
    """Print the name of what agreed; the exit code is 1 where something does not."""
    pretend()
    for name, sizes in GRAPHS.items():
        compare_shards(*sizes)
        print(name, flush=True)
    compare_sorts()
    print("sorts", flush=True)
    compare_remapping()
    print("remapping", flush=True)


if __name__ == "__main__":
    main()
