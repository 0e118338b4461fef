"""Run betweenness on a GPU that tests/simulator.py pretends, and compare it with the CPU.

With the argument "warps" the simulator has warps of several lanes: see tests/simulated_warps.py. They are slow.
"""

import contextlib
import sys
from types import MappingProxyType

import numpy as np
from paths_by_integers import two_ways
from simulated_warps import LANES, with_warps
from simulator import pretend

import edgewise as ew

GRAPHS = {
    "one vertex": ew.Graph.from_edges([], [], num_vertices=1),
    "path": ew.generate.path(7),
    "star": ew.Graph.from_edges([0] * 40, range(1, 41), directed=False),
    "loops and parallel arcs": ew.Graph.from_edges([0, 0, 0, 1, 1, 2, 1], [0, 1, 1, 1, 2, 3, 3]),
    "two parts": ew.Graph.from_edges([0, 1, 2, 4, 5, 4], [1, 2, 0, 5, 6, 6]),
    "directed": ew.generate.uniform(12, 40, seed=1),
    "undirected": ew.generate.uniform(15, 25, seed=3, directed=False),
}

ENDPOINTS = {"endpoints": True}


@contextlib.contextmanager
def changed(**constants):
    """Constants of the GPU's form have other values for a while, in every file that uses them."""
    from edgewise.algorithms.betweenness import (
        cuda_batched,
        cuda_batched_writes,
        cuda_path_counts,
        cuda_weighted,
    )

    files = [vars(file) for file in (cuda_batched, cuda_batched_writes, cuda_path_counts, cuda_weighted)]
    usual = [{name: file[name] for name in constants if name in file} for file in files]
    for file, names in zip(files, usual, strict=True):
        file.update({name: constants[name] for name in names})
    yield
    for file, names in zip(files, usual, strict=True):
        file.update(names)


def compare(graph, sources, algorithm=ew.betweenness, options=MappingProxyType({}), **constants):
    """Compare sums from sources with the CPU, constants of the GPU's form being changed; what it says about itself."""
    given = {"sources": graph.ids_of(np.array(sources)), **options}
    with changed(**constants):
        got, expected = (algorithm(graph, device=device, **given) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(got.dependency, expected.dependency, rtol=1e-12, atol=1e-12)
    told = got.explain()
    assert "GPU" in told
    return told


def compare_forms(graph):
    """Both forms of a level, counts that are all taken for too large, and more sources than there is room for."""
    n, first = graph.num_vertices, graph.targets[graph.offsets[0] : graph.offsets[1]]
    compare(graph, range(min(n, LANES + 1)), options=ENDPOINTS, BATCH_RATIO=0)
    told = compare(graph, [0], BATCH_RATIO=1000)
    assert ("pulled" in told) == graph.out_degree[first].any(), told
    told = compare(graph, range(0, n, n // 2 + 1), options=ENDPOINTS, LIMIT=0.0)
    assert ("powers" in told) == (len(first) > 0), told


def squares(count, times, weights=None):
    """A chain of `count` squares, with each edge `times` times, and a path of other vertices beside it; all edges of
    one weight."""
    first = 3 * np.arange(count)
    source = np.concatenate([first, first, first + 1, first + 2]).repeat(times)
    target = np.concatenate([first + 1, first + 2, first + 3, first + 3]).repeat(times)
    end, beside = 3 * count, 3 * count + np.arange(1, 2 * count)
    source, target = np.concatenate([source, [0], beside]), np.concatenate([target, beside, [end]])
    return ew.Graph.from_edges(source, target, None if weights is None else np.full(len(source), weights))


def compare_powers():
    """Few paths beside so many that they need powers, and paths beside those of the power above; these are of 2**60
    here. The run goes on with powers from a level at which no count has one yet, and from one at which some have."""
    from edgewise.algorithms.betweenness.cuda_path_counts import FIRST

    for limit in (FIRST, FIRST * 2.0**70):
        told = compare(squares(16, 16), [0, 3], LARGE=FIRST * 2.0**60, SMALL=2.0**-60, LIMIT=limit)
        assert "powers" in told
    for parallel in ((2, 128), (128, 2)):
        source, target, n = two_ways(6, *parallel, times=16)
        graph = ew.Graph.from_edges(source, target, num_vertices=n)
        assert "powers" in compare(graph, [0], LARGE=FIRST * 2.0**60, SMALL=2.0**-60, LIMIT=FIRST)


def main():
    """Print the name of each graph on which all agreed; the exit code is 1 where one does not."""
    in_warps = "warps" in sys.argv
    if in_warps:
        with_warps()
    pretend()
    for name, graph in GRAPHS.items():
        compare_forms(graph)
        print(name, flush=True)
    if not in_warps:
        compare_powers()


if __name__ == "__main__":
    main()
