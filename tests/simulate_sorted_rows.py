"""Shortest paths over rows sorted by weight, on a GPU that tests/simulator.py pretends: the answers of the CPU."""

import re

import numpy as np
import pytest
from simulator import pretend

import edgewise as ew
from edgewise.errors import MemoryLimitError
from edgewise.graph import resident

#: Drawn graphs.
GRAPHS = 60


def beyond(graph, source, **how):
    """The result with the least memory."""
    with pytest.raises(MemoryLimitError) as refused:
        ew.sssp(graph, source, device="cuda", memory_limit=0)
    (least,) = re.findall(r"needs ([\d,]+) bytes on the GPU", str(refused.value))
    return ew.sssp(graph, source, device="cuda", memory_limit=int(least.replace(",", "")), **how)


def same(got, expected):
    """Assert that distances and parents are the same, bit for bit."""
    assert got.distance.tobytes() == expected.distance.tobytes()
    np.testing.assert_array_equal(got.parent_index, expected.parent_index)


def weights_of(kind, count, random):
    """Weights of each dtype, with zeros, many of them equal."""
    return (
        random.integers(1, 101, count, np.int32),
        random.integers(0, 4, count),
        random.random(count, np.float32),
        random.choice(np.array([0, -0.0, 1, 2.5], np.float32), count),
    )[kind]


def compare(seed):
    """One drawn graph, in which some vertices may have most of the arcs; the words of `explain`."""
    from edgewise.algorithms.sssp import cuda_apart, cuda_reading

    random = np.random.default_rng(seed)
    cuda_apart.MANY, cuda_apart.SCAN = random.choice([1, 8, 64, 1000]), random.choice([1, 3, 4096])
    cuda_reading.DIRECT, cuda_reading._LINE = random.choice([2, 8, 512]), random.choice([2, 4, 16])
    n, m = random.integers(2, 40), random.integers(1, 300)
    sources, targets = random.integers(0, n, (2, m))
    if seed % 2:
        sources = sources * sources // n
    weights = weights_of(seed % 4, m, random)
    graph = ew.Graph.from_edges(sources, targets, weights, bool(random.random() < 0.7), num_vertices=n)
    source, delta = int(random.integers(n)), ("auto", 0.3, 1.0, 8.0, 50.0)[random.integers(5)]
    got = beyond(graph, source, delta=delta)
    same(got, ew.sssp(graph, source, device="cpu"))
    assert "ranges of distances" in got.explain()
    return got.explain()


def compare_far():
    """Distances of more than 31 bits are found over rows as they are, and so are all where the host has no room."""
    from edgewise.algorithms.sssp import cuda_rows

    for n in (20, 33, 40):
        path = ew.Graph.from_edges(range(n - 1), range(1, n), np.full(n - 1, 2**26))
        for delta in ("auto", 5.0, 1e12):
            got = beyond(path, 0, delta=delta)
            assert ("more than 31 bits" in got.explain()) == (n >= 33)
            same(got, ew.sssp(path, 0, device="cpu"))
    kept, cuda_rows.check_free = cuda_rows.check_free, refuse
    path = ew.Graph.from_edges([0, 1], [1, 2], [3, 4])
    got = beyond(path, 0)
    assert "over rows as they are: no room" in got.explain()
    same(got, ew.sssp(path, 0, device="cpu"))
    cuda_rows.check_free = kept


def refuse(name, needed):
    """Stands for `check_free` where nothing is free."""
    raise MemoryLimitError("no room")


def main():
    """Print a name for each group of comparisons that agreed."""
    pretend()
    from edgewise.algorithms.sssp import cuda_rows

    resident.LARGE_PAGE, resident.RESERVE, cuda_rows._LONG = 8, 0, 0
    explained = "".join(compare(seed) for seed in range(GRAPHS))
    assert re.search(r"[1-9]\d* times from it", explained)
    assert re.search(r"[1-9]\d* times by looking back", explained)
    print("drawn")
    compare_far()
    print("far")


if __name__ == "__main__":
    main()
