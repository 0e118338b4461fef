"""Hubs and authorities as a program.

Programs send along out-edges only, so each vertex is there twice, as a hub and as an authority, and each arc is an edge
between the hub that it leaves and the authority that it enters. Authorities send in odd supersteps, hubs in even ones.
The sum by which authorities are scaled is known one superstep after them, in which hubs are made; so iteration k ends
with superstep 2 k + 1.
"""

from typing import Any

import numpy as np

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.algorithms.common.power_state import Iterated, Power
from edgewise.algorithms.common.program_parts import Iterating
from edgewise.algorithms.common.programs import carried_out, columns
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.program.declare import ACTIVE, SUM, WEIGHT, aggregator, edge, parameter, vertex


class HITS(Iterating):
    """Hubs, the first `half` vertices, and authorities: `value`, and `raw` as long as it is not scaled."""

    half = parameter("int64")
    raw = vertex("float64")
    weight = edge(WEIGHT, default=1)

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if (edge.source >= state.half) == (state.superstep % 2 == 1):
            return state.raw[edge.source] * edge.weight
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        length = 1.0
        if state.superstep > 1 and state.total > 0.0:
            length = state.total
        if state.superstep % 2 == 1:
            if v < state.half:
                state.raw[v] = message / length
                state.value[v] = state.raw[v]
            else:
                state.before[v] = state.value[v]
                state.value[v] = state.raw[v] / length
        elif v >= state.half:
            state.raw[v] = message
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def total(v: Any, state: Any) -> Any:
        return state.raw[v] if v >= state.half else 0.0

    @aggregator(SUM)
    @staticmethod
    def change(v: Any, state: Any) -> Any:
        return abs(state.value[v] - state.before[v]) if v >= state.half else 0.0

    @staticmethod
    def proceed(state: Any) -> Any:
        return state.superstep < 3 or state.superstep % 2 == 0 or not state.change < state.enough


def iterate_on_ranks(power: Power, run: Execution) -> Iterated:
    """`iterate` on the GPUs of all ranks."""
    return iterate(power, run, on_ranks=True)


def iterate(power: Power, run: Execution, on_ranks: bool = False) -> Iterated:
    """Iterate on the GPU; arguments and answer are those of `common.power.iterate_on_cpu`."""
    n, told = power.graph.num_vertices, "made a hub and an authority of each vertex"
    both = laid_out(run, told, power.graph, _twice, power.weighted, not on_ranks)
    given = {"half": n, "enough": power.enough, "raw": np.concatenate([np.zeros(n), power.start])}
    outcome = carried_out(HITS, both, run, given, 2 * power.limit + 1, on_ranks)
    iterations, values = outcome.supersteps // 2, outcome.vertex_fields["value"]
    residual = float(outcome.aggregates["change"]) if iterations else 0.0
    return Iterated(values[n:], values[:n], iterations, residual)


def _twice(graph: Graph, weighted: bool, on_gpu: bool) -> Graph:
    """The graph of hubs and authorities, on the GPU; or in the host's memory, of which ranks take their parts."""
    n = graph.num_vertices
    source, target, weights = columns(graph, weighted, on_gpu)
    return Graph.from_edges(source, target + n, weights, directed=False, num_vertices=2 * n)
