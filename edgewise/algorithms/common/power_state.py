"""What a call by power iteration is asked for, the arrays that iterations change, and what they end with."""

from typing import Any, NamedTuple

import numpy as np

from edgewise.algorithms.common.gather import BLOCK
from edgewise.algorithms.common.lengths import WeightedArcs, arcs_of, in_arcs_of
from edgewise.algorithms.common.power_iterations import CHANGES, DONE, Values
from edgewise.execution import Execution
from edgewise.graph import Graph


class Power(NamedTuple):
    """What a call iterates: new values are `kept` times the old ones, plus `factor` times the sum of the old ones over
    in-edges, plus `added`, and scaled.

    Attributes:
        graph: the graph.
        weighted: whether values along arcs are multiplied by weights.
        start: the values to begin with, float64, shape (n,).
        added: float64, shape (n,), or (1,): one number for all vertices.
        kept, factor: numbers.
        back: whether values are summed over out-edges first; these sums are what goes along in-edges then.
        scaled: `AS_THEY_ARE`, `UNIT_LENGTH` or `UNIT_SUM`.
        enough: iterations end when values change by less than this, in sum.
        limit: the most iterations.
    """

    graph: Graph
    weighted: bool
    start: np.ndarray
    added: np.ndarray
    kept: float
    factor: float
    back: bool
    scaled: int
    enough: float
    limit: int


class Iterated(NamedTuple):
    """What iterations end with: values, float64, shape (n,), on the host or on the GPU, what comes `back` along
    out-edges from them if that is asked for, the number of iterations, and the change of the last one."""

    values: Any
    back: Any
    iterations: int
    residual: float


def power_work(num_vertices: int, num_arcs: int, back: bool) -> float:
    """About the nanoseconds that one thread takes for an iteration."""
    return (1 + back) * (2.5 * num_vertices + 0.5 * num_arcs)


def values_for(power: Power, run: Execution) -> tuple[WeightedArcs, WeightedArcs, Values]:
    """The in-edges and the out-edges, with weights if they count, and the values to begin with."""
    graph, n = power.graph, power.graph.num_vertices
    run.make_in_edges(graph)
    arcs, out = in_arcs_of(graph), arcs_of(graph)
    if not power.weighted:
        none = np.empty(0, np.int32)
        arcs, out = arcs._replace(weights=none), out._replace(weights=none)
    values, beside = np.zeros((2, n + 1)), np.zeros(n + 1 if power.back else 1)
    values[0, :n] = power.start
    of_blocks, counters = np.zeros((2, -(-n // BLOCK))), np.zeros(2, np.int64)
    return arcs, out, Values(values, beside, power.added, of_blocks, np.zeros(2), counters)


def iterated_to(state: Values) -> Iterated:
    """What iterations ended with."""
    iterations = int(state.counters[DONE])
    residual = float(state.sums[CHANGES]) if iterations else 0.0
    return Iterated(state.values[iterations & 1, :-1], state.beside[:-1], iterations, residual)
