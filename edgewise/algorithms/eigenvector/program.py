"""Eigenvector centrality as a program.

The sum of squares by which values are scaled is known one superstep after the values; so superstep k scales those of
iteration k - 1 and compares them with those before. There is one superstep more than iterations.
"""

import math
from typing import Any

from edgewise.algorithms.common.power_state import Iterated, Power
from edgewise.algorithms.common.program_parts import Iterating
from edgewise.algorithms.common.programs import carried_out
from edgewise.execution import Execution
from edgewise.program.declare import ACTIVE, SUM, WEIGHT, aggregator, edge, vertex


class Eigenvector(Iterating):
    """Values as in `eigenvector`: `value` before, and `raw` after an iteration, not scaled yet."""

    raw = vertex("float64")

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.raw[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        length = 1.0
        if state.superstep > 1 and state.squares > 0.0:
            length = math.sqrt(state.squares)
        state.before[v] = state.value[v]
        state.value[v] = state.raw[v] / length
        state.raw[v] = state.value[v] + message / length
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def squares(v: Any, state: Any) -> Any:
        return state.raw[v] * state.raw[v]

    @staticmethod
    def proceed(state: Any) -> Any:
        return state.superstep < 2 or not state.change < state.enough


class WeightedEigenvector(Eigenvector):
    """Values that are multiplied by the weights of edges."""

    weight = edge(WEIGHT)

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.raw[edge.source] * edge.weight


def iterate_on_ranks(power: Power, run: Execution) -> Iterated:
    """`iterate` on the GPUs of all ranks."""
    return iterate(power, run, on_ranks=True)


def iterate(power: Power, run: Execution, on_ranks: bool = False) -> Iterated:
    """Iterate on the GPU; arguments and answer are those of `common.power.iterate_on_cpu`."""
    program = WeightedEigenvector if power.weighted else Eigenvector
    given = {"enough": power.enough, "raw": power.start}
    outcome = carried_out(program, power.graph, run, given, power.limit + 1, on_ranks)
    iterations = outcome.supersteps - 1
    residual = float(outcome.aggregates["change"]) if iterations else 0.0
    return Iterated(outcome.vertex_fields["value"], None, iterations, residual)
