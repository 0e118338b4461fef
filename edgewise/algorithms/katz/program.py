"""Katz centrality as a program."""

from typing import Any

from edgewise.algorithms.common.power import Iterated, Power
from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.execution import Execution
from edgewise.program.declare import (
    ACTIVE,
    SUM,
    WEIGHT,
    Program,
    aggregator,
    edge,
    parameter,
    vertex,
)


class Katz(Program):
    """Values as in `katz`; each vertex adds `even` and its own `added`."""

    alpha = parameter("float64")
    even = parameter("float64")
    enough = parameter("float64")
    value = vertex("float64")
    before = vertex("float64")
    added = vertex("float64")
    combine = SUM
    message = "float64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        state.before[v] = state.value[v]
        state.value[v] = state.alpha * message + state.even + state.added[v]
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def change(v: Any, state: Any) -> Any:
        return abs(state.value[v] - state.before[v])

    @staticmethod
    def proceed(state: Any) -> Any:
        return not state.change < state.enough


class WeightedKatz(Katz):
    """Values that are multiplied by the weights of edges."""

    weight = edge(WEIGHT)

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.value[edge.source] * edge.weight


def iterate(power: Power, run: Execution) -> Iterated:
    """Iterate on the GPU; arguments and answer are those of `common.power.iterate_on_cpu`."""
    program = WeightedKatz if power.weighted else Katz
    given: dict[str, Any] = {"alpha": power.factor, "enough": power.enough, "value": power.start, "even": 0.0}
    if len(power.added) == 1:
        given["even"] = float(power.added[0])
    else:
        given["added"] = power.added
    outcome = prepared_for(program, power.graph, run).carry_out(run, given, power.limit)
    explain(run, outcome)
    residual = outcome.aggregates["change"] if outcome.supersteps else 0.0
    return Iterated(outcome.vertex_fields["value"], None, outcome.supersteps, float(residual))
