"""Programs whose arrays of arcs may be too many for a GPU's memory, beside those of tests/test_engines.py."""

import numpy as np

import edgewise as ew


class Reads(ew.Program):
    """Sums of floats over edge fields of every kind: given, the weights, written, and read by the index of an arc."""

    total = ew.vertex("float32")
    length = ew.edge("float64", init=ew.REQUIRED)
    open = ew.edge("bool", init=True)
    again = ew.edge(ew.WEIGHT)
    combine = ew.SUM
    message = "float32"
    max_supersteps = 3

    @staticmethod
    def initialize(v, state):
        return ew.ACTIVE

    @staticmethod
    def edge_compute(edge, state):
        sent = 0.1 * edge.length + 0.3 * edge.again + state.length[edge.index] if edge.open else 1.0
        state.open[edge.index] = edge.index % 3 != 0
        return sent

    @staticmethod
    def vertex_compute(v, message, state):
        state.total[v] = 0.5 * state.total[v] + message
        return ew.ACTIVE


def lengths(graph):
    """What is given to `Reads`."""
    return {"length": np.random.default_rng(1).random(graph.num_arcs)}
