"""Asynchronous programs on more threads than processors: one may be stopped anywhere while it computes a vertex."""

import numpy as np

import edgewise as ew


class SlowPaths(ew.Program):
    """Shortest paths that take long between the look at a distance and the change of it."""

    source = ew.parameter(ew.VERTEX)
    steps = ew.parameter("int64")
    distance = ew.vertex(ew.WEIGHT, init=ew.INFINITY)
    noise = ew.vertex("float64")
    weight = ew.edge(ew.WEIGHT)
    combine = ew.MIN
    asynchronous = True

    @staticmethod
    def initialize(v, state):
        if v == state.source:
            state.distance[v] = 0
            return ew.ACTIVE
        return ew.HALT

    @staticmethod
    def edge_compute(edge, state):
        return state.distance[edge.source] + edge.weight

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
