"""PageRank as a program."""

import functools
from typing import Any

import numpy as np

from edgewise.algorithms.common.programs import explain, prepared_for
from edgewise.algorithms.pagerank.walk import Ranked, Walk
from edgewise.execution import Execution
from edgewise.kernels.cuda.memory import host_copy
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


class PageRank(Program):
    """Ranks, as in `pagerank`. Each vertex starts with `begin` in addition to the rank given for it, and gets the share
    `even` of all jumps in addition to its `jump`. Sums are float64."""

    damping = parameter("float64")
    enough = parameter("float64")
    begin = parameter("float64")
    even = parameter("float64")
    rank = vertex("float64")
    before = vertex("float64")
    share = vertex("float64")
    scale = vertex("float64")
    jump = vertex("float64")
    combine = SUM
    message = "float64"

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        if state.out_degree[v] > 0:
            state.scale[v] = 1.0 / state.out_degree[v]
        state.rank[v] = state.rank[v] + state.begin
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.share[edge.source]

    @staticmethod
    def vertex_compute(v: Any, message: Any, state: Any) -> Any:
        spread = 1.0 - state.damping + state.damping * state.dangling
        state.before[v] = state.rank[v]
        state.rank[v] = spread * (state.even + state.jump[v]) + state.damping * message
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @aggregator(SUM)
    @staticmethod
    def dangling(v: Any, state: Any) -> Any:
        return state.rank[v] if state.scale[v] == 0.0 else 0.0

    @aggregator(SUM)
    @staticmethod
    def change(v: Any, state: Any) -> Any:
        return abs(state.rank[v] - state.before[v])

    @staticmethod
    def proceed(state: Any) -> Any:
        return state.enough == 0.0 or state.change > state.enough


class WeightedPageRank(PageRank):
    """Ranks of a walk that follows edges in proportion to their weights; `scale` is given."""

    weight = edge(WEIGHT)

    @staticmethod
    def initialize(v: Any, state: Any) -> Any:
        state.rank[v] = state.rank[v] + state.begin
        state.share[v] = state.rank[v] * state.scale[v]
        return ACTIVE

    @staticmethod
    def edge_compute(edge: Any, state: Any) -> Any:
        return state.share[edge.source] * edge.weight


@functools.cache
def ranks_program(dtype: np.dtype, weighted: bool) -> type[Program]:
    """The program for ranks of this dtype."""
    base = WeightedPageRank if weighted else PageRank
    fields = {name: vertex(dtype) for name in ("rank", "before", "share", "scale", "jump")}
    return type("PageRank", (base,), fields)


def rank(
    walk: Walk, start: np.ndarray | None, dtype: np.dtype, enough: float, limit: int, run: Execution
) -> Ranked:
    """Ranks on the GPU; the arguments are those of `cuda.rank`."""
    each = 1 / walk.graph.num_vertices
    arrays = {"rank": start, "jump": walk.jump, "scale": walk.scale if walk.weighted else None}
    given = {
        "damping": walk.damping,
        "enough": enough,
        "begin": each if start is None else 0.0,
        "even": each if walk.jump is None else 0.0,
        **{name: values for name, values in arrays.items() if values is not None},
    }
    ranks = prepared_for(ranks_program(dtype, walk.weighted), walk.graph, run)
    outcome = ranks.carry_out(run, given, limit)
    explain(run, outcome)
    iterations, before = outcome.supersteps, outcome.vertex_fields["before"]
    residual = outcome.aggregates["change"] if iterations else 0.0
    return Ranked(
        outcome.vertex_fields["rank"],
        iterations,
        residual=residual,
        shares=lambda: host_copy(before) * walk.scale.astype(dtype),
    )
