"""Katz centrality as a program."""

from typing import Any

from edgewise.algorithms.common.power_state import Iterated, Power
from edgewise.algorithms.common.program_parts import Iterating
from edgewise.algorithms.common.programs import carried_out
from edgewise.execution import Execution
from edgewise.program.declare import ACTIVE, WEIGHT, edge, parameter, vertex


class Katz(Iterating):
    """Values as in `katz`; each vertex adds `even` and its own `added`."""

    alpha = parameter("float64")
    even = parameter("float64")
    added = vertex("float64")

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        state.before[v] = state.value[v]
        state.value[v] = state.alpha * message + state.even + state.added[v]
        return ACTIVE

    @staticmethod
    def proceed(state: Any) -> Any:
        return not state.change < state.enough


class WeightedKatz(Katz):
    """Values that are multiplied by the weights of edges."""

    weight = edge(WEIGHT)

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source] * edge.weight


def iterate_on_ranks(power: Power, run: Execution) -> Iterated:
    """`iterate` on the GPUs of all ranks."""
    return iterate(power, run, on_ranks=True)


def iterate(power: Power, run: Execution, on_ranks: bool = False) -> Iterated:
    """Iterate on the GPU; arguments and answer are those of `common.power.iterate_on_cpu`."""
    program = WeightedKatz if power.weighted else Katz
    given: dict[str, Any] = {"alpha": power.factor, "enough": power.enough, "value": power.start, "even": 0.0}
    if len(power.added) == 1:
        given["even"] = float(power.added[0])
    else:
        given["added"] = power.added
    outcome = carried_out(program, power.graph, run, given, power.limit, on_ranks)
    residual = outcome.aggregates["change"] if outcome.supersteps else 0.0
    return Iterated(outcome.vertex_fields["value"], None, outcome.supersteps, float(residual))
