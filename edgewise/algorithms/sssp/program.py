"""Shortest paths as programs on a GPU: see `relaxation`. Parents are made as for the GPU's own kernel."""

from typing import Any, Literal

from edgewise.algorithms.common.device_graph import graph_on_gpu
from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.algorithms.sssp.asked import Asked
from edgewise.algorithms.sssp.cuda import finished, nearest_parents
from edgewise.algorithms.sssp.relaxation import given_for, program_for, signed_paths
from edgewise.algorithms.sssp.weights import is_signed
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import host_copy


def shortest_paths(
    graph: Graph, asked: Asked, delta: float | Literal["auto"], run: Execution
) -> tuple[Any, Any, int]:
    """Distances, parents and supersteps, for weights of any sign; as of `cuda.shortest_paths`. `delta` is not used.

    Raises:
        GraphError: a distance is beyond the floats of this dtype.
        NegativeCycleError: a negative cycle can be reached.
    """
    signed = is_signed(graph)
    if not signed:
        graph_on_gpu(graph, run)
    search = prepared_for(program_for(asked, signed), graph, run)
    if signed:
        outcome, supersteps = signed_paths(graph, asked, search, run, host_copy)
    else:
        outcome = search.carry_out(run, given_for(graph, asked, signed), None)
        supersteps = outcome.supersteps
    explain(run, outcome)
    distance, parent = (outcome.vertex_fields[name] for name in ("distance", "parent"))
    orphans = 0 if signed else nearest_parents(graph, asked, distance, parent, run)
    return *finished(graph, asked, distance, parent, orphans, run), supersteps
