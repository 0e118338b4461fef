"""Shortest paths from several sources and within bounds, on a GPU or one that is simulated: as on the CPU."""

import re

import numpy as np
import pytest

import edgewise as ew
from edgewise.errors import MemoryLimitError, ScheduleError

#: Drawn graphs.
GRAPHS = 32
DTYPES = (np.int32, np.int64, np.float32, np.float64)
BALANCES = (ew.NodeSplitting(2), ew.EdgeBased())


def same(graph, source, device_options, **options):
    """Assert that distances and parents are those of the CPU, bit for bit; the GPU's result."""
    got = ew.sssp(graph, source, device="cuda", **device_options, **options)
    expected = ew.sssp(graph, source, device="cpu", **options)
    assert got.distance.tobytes() == expected.distance.tobytes()
    np.testing.assert_array_equal(got.parent_index, expected.parent_index)
    return got


def compare(seed):
    """One drawn graph: in the GPU's memory, beyond it, and by a program."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(2, 40)), int(random.integers(1, 150))
    weights = random.integers(0, 6, m).astype(DTYPES[seed % 4])
    ends = random.integers(0, n, (2, m))
    graph = ew.Graph.from_edges(*ends, weights, bool(random.random() < 0.7), num_vertices=n)
    sources = random.choice(n, random.integers(1, min(n, 5) + 1), replace=False).tolist()
    target, bound = int(random.integers(n)), int(random.integers(0, 8))
    for options in (
        {},
        {"target": target},
        {"max_distance": bound},
        {"target": target, "max_distance": bound},
    ):
        assert (
            "supersteps on the GPU"
            in same(graph, sources, {"delta": (0.5, 2.0)[seed % 2]}, **options).explain()
        )
    same(graph, sources, {"schedule": ew.Schedule(balance=BALANCES[seed % 2])}, **options)
    same(graph, sources, {}, weighted=False, **options)
    layered = ew.Schedule(layout=ew.Layered(roots=sources[:1]))
    same(graph, sources[0], {"schedule": layered}, **options)
    if len(sources) > 1:
        with pytest.raises(ScheduleError, match="several sources do not run over layers on a GPU"):
            ew.sssp(graph, sources, device="cuda", schedule=layered)
    with pytest.raises(MemoryLimitError) as refused:
        ew.sssp(graph, sources, device="cuda", memory_limit=0)
    (least,) = re.findall(r"needs ([\d,]+) bytes on the GPU", str(refused.value))
    got = same(graph, sources, {"memory_limit": int(least.replace(",", ""))}, **options)
    assert "read from the host's memory" in got.explain()


def compare_negative(seed):
    """Negative weights, which take a program."""
    ends = np.sort(np.random.default_rng(seed).integers(0, 20, (2, 40)), axis=0)
    weights = np.where(ends[0] == ends[1], 1, np.random.default_rng(seed).integers(-3, 6, 40))
    same(ew.Graph.from_edges(*ends, weights, num_vertices=20), [0, 4, 9], {})
