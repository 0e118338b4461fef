"""Asynchronous programs on more threads than processors: one may be stopped anywhere while it computes a vertex."""

import sys
from pathlib import Path

import numpy as np

import edgewise as ew

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

from sssp import SSSP


class SlowPaths(SSSP):
    """Shortest paths that take long between the look at a distance and the change of it."""

    steps = ew.parameter("int64")
    noise = ew.vertex("float64")

    @staticmethod
    def vertex_compute(v, message, state):
        if message < state.distance[v]:
            noise = state.noise[v]
            for _ in range(state.steps):
                noise = noise * 0.999 + message
            state.noise[v] = noise
            if noise >= 0:
                state.distance[v] = message
                return ew.ACTIVE
        return ew.HALT


def test_no_two_threads_compute_a_vertex_at_once():
    graph = ew.generate.uniform(500, 60_000, seed=1, weights=(1, 10_000))
    expected = ew.sssp(graph, 0, device="cpu").distance
    run = ew.prepare(SlowPaths, graph, device="cpu", schedule=ew.Schedule(num_threads=8))
    for _ in range(40):
        np.testing.assert_array_equal(run(source=0, steps=10_000).distance, expected)
