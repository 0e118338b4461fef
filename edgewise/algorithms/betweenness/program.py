"""Betweenness as a program, one source after the other (`cuda_batched` does many at a time).

Programs send along out-edges only, so edges are laid out both ways; each superstep goes over all of them.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgewise.algorithms.common.device_graph import laid_out
from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.execution import Execution
from edgewise.graph import Graph
from edgewise.kernels.cuda.memory import copy_of, cupy
from edgewise.program.declare import (
    ACTIVE,
    HALT,
    MAX,
    WEIGHT,
    Program,
    aggregator,
    combiner,
    edge,
    parameter,
    vertex,
)

#: The ways in which an edge can be taken.
THERE, BACK, BOTH_WAYS = 1, 2, 3
#: The logarithm of 0, as a finite number: adding 0 to a number leaves that number.
LOG_OF_NOTHING = -1e300


def _log_of_sum(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


class Dependencies(Program):
    """Dependencies of a source, if every edge goes both ways: levels and numbers of shortest paths on the way there,
    and after the deepest level d the way back, on which vertices of level k send in superstep 2 d + 2 - k.

    Numbers of paths may be greater than any float, so they are kept as logarithms, and so are messages.
    """

    source = parameter("int64")
    ways = edge("int32", init=BOTH_WAYS)
    level = vertex("int32", init=-1)
    log_paths = vertex("float64")
    dependency = vertex("float64")
    combine = combiner(_log_of_sum, identity=LOG_OF_NOTHING)
    message = "float64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if v == state.source:
            state.level[v] = 0
            return ACTIVE
        return HALT

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        if edge.ways != BACK and state.level[edge.target] == -1:
            return state.log_paths[edge.source]
        is_next = state.level[edge.source] == 2 * state.deepest + 2 - state.superstep
        if edge.ways != THERE and is_next and state.level[edge.target] == state.level[edge.source] - 1:
            share = math.log1p(state.dependency[edge.source]) - state.log_paths[edge.source]
            return state.log_paths[edge.target] + share
        return None

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        if state.level[v] == -1:
            state.level[v] = state.superstep
            state.log_paths[v] = message
            return ACTIVE
        if state.level[v] > 0 and message > LOG_OF_NOTHING / 2:
            state.dependency[v] = math.exp(message)
        waits = state.level[v] > 1 and state.level[v] < 2 * state.deepest + 2 - state.superstep
        return ACTIVE if waits else HALT

    @aggregator(MAX, "int64")
    @staticmethod
    def deepest(v: Any, state: Any) -> Any:
        return state.level[v]


class DirectedDependencies(Dependencies):
    """`Dependencies` in a directed graph to which reversed edges were added; weights tell which way an edge goes."""

    ways = edge(WEIGHT)


def accumulate(
    graph: Graph,
    sources: np.ndarray,
    done: int,
    endpoints: bool,
    total: Any,
    run: Execution,
) -> Iterator[int]:
    """Add the dependencies of sources to sums, one after the other; arguments and results are those of
    `cuda_batched.accumulate`.

    Messages go along edges and back, so the edges of a directed graph are laid out both ways; the graph keeps that.
    """
    program, both_ways = Dependencies, graph
    if graph.directed:
        program = DirectedDependencies
        both_ways = laid_out(run, "laid out the edges both ways", graph, _there_and_back)
    prepared = prepared_for(program, both_ways, run)
    for over, source in enumerate(sources[done:].tolist(), done + 1):
        with run.telling(None):  # its progress counts sources
            outcome = prepared.carry_out(run, {"source": source}, None, total.nbytes)
        total += outcome.vertex_fields["dependency"]
        if endpoints:
            after = outcome.vertex_fields["level"] > 0
            total += after
            total[source] += after.sum()
        yield over
    explain(run, outcome)


def _there_and_back(graph: Graph) -> Graph:
    """The graph with each arc and its reverse, which the weights tell apart."""
    xp, here, there = cupy(), copy_of(graph.sources), graph.gpu.targets
    ends = xp.concatenate([here, there]), xp.concatenate([there, here])
    ways = xp.full(2 * graph.num_arcs, THERE, np.int32)
    ways[graph.num_arcs :] = BACK
    return Graph.from_edges(*ends, ways, num_vertices=graph.num_vertices)
